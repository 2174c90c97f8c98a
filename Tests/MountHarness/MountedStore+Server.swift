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
        // A domain has its state in the user's data folder.
        let state = "data/hydrant/domains/test"
        try Seeding(sandbox.path).folder(state)
        try Seeding(sandbox.path).link("state", to: state)
        try Seeding(sandbox.path).file("password", TestServer.password + "\n")
        try Seeding(sandbox.path).file(
            "home/.config/hydrant/config.toml",
            """
            [domains.test]
            url = "\(server.url)"
            user = "\(TestServer.user)"
            password-command = ["cat", "\(sandbox.path)/password"]
            certificate-authority = "\(server.authority)"

            """)
    }

    func endServer() { serving.withLock { $0.take() }?.end() }
}
