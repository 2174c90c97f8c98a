import Foundation
import Synchronization

extension MountedStore {
    /// The server of the store, started and configured on first use.
    package func server() throws -> TestServer {
        if let guest = guest.withLock({ $0 }) { return guest }
        return try serving.withLock { serving in
            if let serving { return serving }
            let server = try TestServer(.apache, .usual, root: store)
            do {
                try configure(server)
                try server.start()
            } catch {
                server.end()
                throw error
            }
            serving = server
            return server
        }
    }

    /// Uses the server of another machine for this one too.
    package func use(_ server: TestServer) throws {
        try configure(server)
        guest.withLock { $0 = server }
    }

    private func configure(_ server: TestServer) throws {
        try Seeding(sandbox.path).file("password", TestServer.password + "\n")
        try setDomain(
            """
            url = "\(server.url)"
            user = "\(TestServer.user)"
            password-command = ["cat", "\(sandbox.path)/password"]
            certificate-authority = "\(server.authority)"
            """)
    }

    /// Describes the domain that ``mount()`` mounts, where it is no directory.
    ///
    /// - Parameter settings: a section of config.toml without its head.
    package func setDomain(_ settings: String) throws {
        // A domain has its state in the user's data folder.
        let state = "data/hydrant/domains/test"
        if !FileManager.default.fileExists(atPath: sandbox.state) {
            try Seeding(sandbox.path).folder(state)
            try Seeding(sandbox.path).link("state", to: state)
        }
        try Seeding(sandbox.path).file("home/.config/hydrant/config.toml", "[domains.test]\n\(settings)\n")
    }

    func endServer() { serving.withLock { $0.take() }?.end() }
}
