import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import HTTPTransport
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
            if let warning = account.settings.plainTextWarning { warn(warning) }
            let (trial, place) =
                try await
                (SignInKind(account.settings) == .none
                ? signInFirst(account) : signIn(account.settings, account.places))
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
        let old = OldAppPassword(places)
        let offersFlow = !passwordStdin && StoreURL.isWebDAV(settings.url) && !settings.usesToken
        switch try await offersFlow ? LoginFlow.begin(settings) : .noFlow {
        case .flow(let flow):
            let grant = try await BrowserSignIn.run(flow, settings, as: name)
            do {
                guard flow.isForDomain(grant) else {
                    throw AccountError(
                        "\(name): you signed in as “\(grant.user)”, but the domain is for “\(settings.user ?? "")”; sign out in "
                            + "the browser and try again, or add another domain")
                }
                var tried = settings
                tried.user = grant.user
                let trial = try await AccountTrial.signIn(tried, grant.password, as: name)
                let place = try places.keep(grant.password, appPasswordOf: grant.user)
                await old?.revoke(settings, unless: grant.password)
                return (trial, place)
            } catch {
                await BrowserSignIn.revoke(grant, settings)
                throw error
            }
        case .unreachable(let problem): warn(problem)
        case .noFlow: break
        }
        let secret = try passwordStdin ? PasswordInput.read() : PasswordInput.ask(for: settings, at: name)
        let trial = try await AccountTrial.signIn(settings, secret, as: name)
        let place = try places.keep(secret)
        await old?.revoke(settings, unless: secret)
        return (trial, place)
    }

    /// Signs in to a domain that has no user yet: its server did not answer when it was added.
    private func signInFirst(_ account: MountAccount) async throws -> (AccountTrial.Report, String) {
        var settings = account.settings
        guard StoreURL.isWebDAV(settings.url), !settings.isAnonymous else {
            throw AccountError("\(name): Hydrant keeps no password for \(settings.url); mount it without one")
        }
        let noUser = AccountError("\(name) has no user; add user = \"…\" to its section in config.toml")
        guard !passwordStdin, let domain = account.domain else { throw noUser }
        // (What is here belongs to the URL without a user.)
        if let mountPoint = await Mounts.byDomain()[domain] {
            throw AccountError("\(name): is mounted at \(mountPoint) without a user; unmount it first")
        }
        guard try DomainRemoval(domain: domain).pending == 0 else {
            throw AccountError(
                "\(name): has changes that are not in the store yet; sign out first: hydrant logout \(name)")
        }
        switch try await LoginFlow.begin(settings) {
        case .unreachable(let problem): throw AccountError(problem)
        case .noFlow: throw noUser
        case .flow(let flow):
            if let warning = settings.signInWarning { warn(warning) }
            let grant = try await BrowserSignIn.run(flow, settings, as: name)
            (settings.user, settings.url) = (grant.user, grant.url)
            do {
                let trial = try await AccountTrial.signIn(settings, grant.password, as: name)
                try DomainRemoval(domain: domain).run()
                try ConfigurationFile().complete(domain, url: grant.url, user: grant.user)
                return (trial, try CredentialPlaces(domain, settings).keep(grant.password, appPasswordOf: grant.user))
            } catch {
                await BrowserSignIn.revoke(grant, settings)
                throw error
            }
        }
    }

    /// Tells the daemons that may wait for the password.
    private func notifyDaemon(_ domain: String) async {
        guard let mountPoint = await Mounts.byDomain()[domain] else { return }
        _ = try? await ask(mountPoint, .credentialsChanged, timeout: 10)
    }
}

/// The password that the server gave to Hydrant before: of no use after another sign-in.
private struct OldAppPassword {
    let user: String
    /// Nil: it cannot be read.
    let secret: Secret?

    /// Nil: there is none.
    init?(_ places: CredentialPlaces) {
        guard places.isAppPassword, let user = places.user else { return nil }
        self.user = user
        secret = try? places.find()?.secret
    }

    func revoke(_ settings: AccountSettings, unless new: Secret) async {
        if secret == new { return }
        do {
            guard let secret else { throw AccountError("it is not known any more") }
            try await AppPassword.revoke(settings, user: user, secret)
        } catch { warn(BrowserSignIn.leftBehind(settings, "\(error)")) }
    }
}
