import Foundation
import Synchronization

/// Servers from Debian and PyPI, each on a free port of this machine, started and ended by the test.
package enum ServerKind: String, CaseIterable, Sendable {
    /// Apache httpd with mod_dav_fs.
    case apache
    /// `rclone serve webdav`.
    case rclone
    case wsgidav
    /// Radicale, with an address book: it reports changes (RFC 6578). Accepts any password, and only vCards.
    case radicale
    /// Our own imitation of a Nextcloud 34, which neither Debian nor PyPI has.
    case nextcloud
}

package struct ServerOptions: Sendable {
    /// HTTPS, with a certificate of the test's authority.
    package var isSecure = false
    /// Basic, with ``TestServer/user`` and ``TestServer/password``.
    package var wantsPassword = false
    /// For the imitation of Nextcloud, in bytes.
    package var quota: Int64?
    /// For the imitation of Nextcloud: what in the topmost folder comes from elsewhere, as JSON, by name: `type`,
    /// `permissions` (bits), `quota` in bytes.
    package var mounts: String?
    /// For Apache, in the configuration of the folder.
    package var directives: [String] = []
    package init() {}

    /// The usual options of a real server.
    package static var usual: ServerOptions {
        var options = ServerOptions()
        options.isSecure = true
        options.wantsPassword = true
        return options
    }
}

/// A WebDAV server with a folder of its own.
package final class TestServer: Sendable {
    package static let user = "alice"
    package static let password = "correct horse"

    package let kind: ServerKind
    package let options: ServerOptions
    /// The test's directory, with the server's folder and configuration.
    package let directory: String
    /// The folder that it serves.
    package let root: String
    package let port: UInt16
    private let process = Mutex<ChildProcess?>(nil)

    package var url: String { "\(options.isSecure ? "https" : "http")://localhost:\(port)\(path)" }
    package var path: String {
        switch kind {
        case .apache: "/dav/"
        case .nextcloud: "/remote.php/dav/files/\(Self.user)/"
        case .rclone, .wsgidav: "/"
        case .radicale: "/\(Self.user)/docs/"
        }
    }
    /// A PEM file.
    package var authority: String { directory + "/ca.pem" }

    /// - Parameter root: an existing folder to serve; nil: a new one.
    package init(_ kind: ServerKind, _ options: ServerOptions, root: String? = nil) throws {
        self.kind = kind
        self.options = options
        port = try FreePort.find()
        directory = try Self.makeDirectory()
        self.root = root ?? directory + (kind == .radicale ? Self.addressBook : "/root")
        if root == nil { try Self.makeFolder(self.root) }
        if kind == .radicale {
            try #"{"tag": "VADDRESSBOOK"}"#.write(
                toFile: self.root + "/.Radicale.props", atomically: true, encoding: .utf8)
        }
        if options.isSecure { try Certificate.put(into: directory) }
    }

    private static func makeDirectory() throws -> String {
        var template = Array("/tmp/hyt-dav-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil, chmod(template, 0o755) == 0 else { throw HarnessError("no folder in /tmp") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static let addressBook = "/storage/collection-root/\(user)/docs"

    private static func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // A server may run as another user.
        guard chmod(path, 0o777) == 0 else { throw HarnessError("cannot make \(path)") }
    }

    // MARK: Running

    package func start() throws {
        let command = try ServerCommand(self).arguments()
        let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": directory, "LC_ALL": "C.UTF-8"]
        let child = try ChildProcess(command, environment: environment, output: directory + "/server")
        process.withLock { $0 = child }
        try waitUntil(20, "\(kind) answers: \(log)") {
            guard child.isRunning else { throw HarnessError("\(kind) has ended: \(log)") }
            return FreePort.isOpen(port)
        }
    }

    /// Apache reads the file anew for each request.
    package func setPassword(_ password: String) throws {
        let child = try ChildProcess(
            ["openssl", "passwd", "-apr1", password], environment: ["PATH": "/usr/bin:/bin"],
            output: directory + "/passwd")
        let result = child.wait(limit: 10)
        guard result.succeeded, let hash = result.lines.first else { throw HarnessError("openssl passwd: \(result)") }
        try "\(Self.user):\(hash)\n".write(toFile: directory + "/users", atomically: true, encoding: .utf8)
    }

    /// Ends it like a crash.
    package func kill() {
        let child = process.withLock { $0.take() }
        child?.destroy()
        if let child { _ = child.wait(limit: 10) }
    }

    /// The requests that Apache has answered since its start, by method.
    package var requests: [String: Int] {
        let log = (try? String(contentsOfFile: directory + "/requests", encoding: .utf8)) ?? ""
        return log.split(separator: "\n").reduce(into: [:]) { $0[String($1), default: 0] += 1 }
    }

    private var log: String {
        [".err", ".out"].map {
            String(
                decoding: (FileManager.default.contents(atPath: directory + "/server" + $0) ?? Data()).suffix(1_000),
                as: UTF8.self)
        }.joined(separator: "\n")
    }

    package func end() {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// Runs a test with a server, which is ended afterwards.
package func withServer<T>(
    _ kind: ServerKind, _ options: ServerOptions = ServerOptions(), _ body: (TestServer) async throws -> T
) async throws -> T {
    let server = try TestServer(kind, options)
    defer { server.end() }
    try server.start()
    return try await body(server)
}
