import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Stores

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in to a domain: enter the password, or the key of a bucket, which is tried and kept.",
        discussion: """
            Hydrant keeps the password in the Secret Service (the desktop's keyring) where one runs, else in a file \
            that only you can read; hydrant domain list shows where. To a Nextcloud you sign in with a browser: Hydrant \
            prints the address of the page (and opens it, on a desktop), waits for up to 20 minutes, and keeps the app \
            password that the server then gives it; with --password-stdin it takes an app password that you made there \
            (Settings, Security, Devices & sessions). For a bucket Hydrant asks for the access key and its secret key; on standard \
            input both are one line, ACCESSKEY:SECRETKEY, or the secret key alone if the domain has a user.

            A mount that waits for the password continues.

            Example:
              pass show cloud | hydrant login work --password-stdin
            """)

    @Argument(help: "The name of a domain, webdavs://USER@HOST/PATH or s3://BUCKET/PREFIX.")
    var name: String

    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false

    @Flag(
        help:
            "Print an object: domain, credential (where the password is kept), untried (why it could not be tried), notes (what the store keeps)."
    )
    var json = false

    private struct SignedIn: Encodable {
        var domain: String
        var credential: String
        var untried: String?
        var notes: [String]
    }

    func run() async throws {
        do {
            guard let account = try MountAccount(name) else {
                throw AccountError(
                    "“\(name)” is no domain, no WebDAV folder and no bucket; hydrant domain list shows the domains")
            }
            if let command = account.settings.passwordCommand {
                throw AccountError(
                    "the password of \(name) comes from \(command[0]), set in config.toml; change it there")
            }
            if SignInKind(account.settings) == .none {
                guard StoreURL.isWebDAV(account.settings.url), !account.settings.isAnonymous else {
                    throw AccountError(
                        "\(name): Hydrant keeps no password for \(account.settings.url); mount it without one")
                }
                throw AccountError("\(name) has no user; add user = \"…\" to its section in config.toml")
            }
            if let warning = account.settings.plainTextWarning { warn(warning) }
            let places = try account.places
            let (trial, place) = try await signIn(account.settings, places)
            if json {
                print(
                    Output.json(SignedIn(domain: name, credential: place, untried: trial.untried, notes: trial.notes)))
            } else {
                if let untried = trial.untried { print("\(untried); the password is kept untried") }
                for note in trial.notes { print("\(name): \(note)") }
                print("\(name): the password is kept in: \(place)")
            }
            await notifyDaemon(account.name)
        } catch let code as ExitCode { throw code } catch { throw fail("\(error)") }
    }

    /// - Returns: the outcome of a trial, and where the password is kept.
    private func signIn(
        _ settings: AccountSettings, _ places: CredentialPlaces
    ) async throws -> (AccountTrial.Report, String) {
        let offersFlow = !passwordStdin && StoreURL.isWebDAV(settings.url) && !settings.usesToken
        guard offersFlow, let flow = try await LoginFlow.begin(settings) else {
            let secret = try passwordStdin ? PasswordInput.read() : PasswordInput.ask(for: settings, at: name)
            return (try await AccountTrial.signIn(settings, secret, as: name), try places.keep(secret))
        }
        let grant = try await BrowserSignIn.run(flow, settings, as: name)
        let old = try? places.isAppPassword ? places.find()?.secret : nil
        do {
            guard let user = settings.user, grant.user == user else {
                throw AccountError(
                    "\(name): you signed in as “\(grant.user)”, but the domain is for “\(settings.user ?? "")”; sign out in "
                        + "the browser and try again, or add another domain")
            }
            let trial = try await AccountTrial.signIn(settings, grant.password, as: name)
            let place = try places.keep(grant.password, isAppPassword: true)
            // Hydrant's password from before is of no use any more.
            if let old { try? await AppPassword.revoke(settings, user: user, old) }
            return (trial, place)
        } catch {
            await BrowserSignIn.revoke(grant, settings)
            throw error
        }
    }

    /// Tells the daemons that may wait for the password.
    private func notifyDaemon(_ domain: String) async {
        guard let mountPoint = await Mounts.byDomain()[domain] else { return }
        _ = try? await ask(mountPoint, .credentialsChanged, timeout: 10)
    }
}
