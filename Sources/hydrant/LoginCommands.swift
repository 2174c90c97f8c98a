import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Stores

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in to a domain: enter the password, which is tried and kept.",
        discussion: """
            Hydrant keeps the password in the Secret Service (the desktop's keyring) where one runs, else in a file \
            that only you can read; hydrant domain list shows where. On a Nextcloud use an app password: Settings, \
            Security, Devices & sessions.

            A mount that waits for the password continues.

            Example:
              pass show cloud | hydrant login work --password-stdin
            """)

    @Argument(help: "The name of a domain, or webdavs://USER@HOST/PATH.")
    var name: String

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    @Flag(
        help: "Print an object: domain, credential (where the password is kept), untried (why it could not be tried).")
    var json = false

    private struct SignedIn: Encodable {
        var domain: String
        var credential: String
        var untried: String?
    }

    func run() async throws {
        do {
            guard let account = try MountAccount(name) else {
                throw AccountError(
                    "“\(name)” is no domain and no WebDAV folder; hydrant domain list shows the domains")
            }
            if let command = account.settings.passwordCommand {
                throw AccountError(
                    "the password of \(name) comes from \(command[0]), set in config.toml; change it there")
            }
            guard account.settings.user != nil || account.settings.usesToken else {
                throw AccountError("\(name) has no user; add user = \"…\" to its section in config.toml")
            }
            if let warning = account.settings.plainTextWarning { warn(warning) }
            let secret =
                try passwordStdin ? PasswordInput.read() : PasswordInput.ask(for: account.settings, at: name)
            let places = try account.places
            let untried = try await AccountTrial.signIn(account.settings, places.credential(secret))
            let place = try places.keep(secret)
            if json {
                print(Output.json(SignedIn(domain: name, credential: place, untried: untried)))
            } else {
                if let untried { print("\(untried); the password is kept untried") }
                print("\(name): the password is kept in: \(place)")
            }
            await notifyDaemon(account.name)
        } catch let code as ExitCode { throw code } catch { throw fail("\(error)") }
    }

    /// Tells the daemons that may wait for the password.
    private func notifyDaemon(_ domain: String) async {
        guard let mountPoint = await Mounts.byDomain()[domain] else { return }
        _ = try? await ask(mountPoint, .credentialsChanged, timeout: 10)
    }
}
