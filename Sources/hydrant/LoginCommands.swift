import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Stores

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in to a domain: asks for the password, tries it, and keeps it.",
        discussion: """
            It is kept in the Secret Service (the desktop's keyring) where one runs, else in a file that only you can read; \
            hydrant domain list says where. On a Nextcloud take an app password: Settings, Security, Devices & sessions.

            A mount that waits for the password goes on.

            Example:
              pass show cloud | hydrant login work --password-stdin
            """)

    @Argument(help: "The name of a domain, or webdavs://USER@HOST/PATH.")
    var name: String

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    @Flag(help: "Print an object: domain, credential (where it is kept), untried (why it could not be tried).")
    var json = false

    private struct SignedIn: Encodable {
        var domain: String
        var credential: String
        var untried: String?
    }

    func run() async throws {
        do {
            guard let account = try MountAccount(name) else {
                throw AccountError("“\(name)” is no domain and no WebDAV folder; hydrant domain list shows the domains")
            }
            if let command = account.settings.passwordCommand {
                throw AccountError(
                    "the password of \(name) comes from \(command[0]), as config.toml says; change it there")
            }
            guard account.settings.user != nil || account.settings.usesToken else {
                throw AccountError("no user is named for \(name); add user = \"…\" to it in config.toml")
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
                if let untried { print("\(untried); the password is kept without having been tried") }
                print("\(name): the password is kept in: \(place)")
            }
            await tell(account.name)
        } catch let code as ExitCode { throw code } catch { throw fail("\(error)") }
    }

    /// The daemons that may wait for it.
    private func tell(_ domain: String) async {
        guard let mountPoint = await Mounts.byDomain()[domain] else { return }
        _ = try? await ask(mountPoint, .credentialsChanged, timeout: 10)
    }
}
