import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Stores
import Surroundings

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Sign out of a domain: remove its password, and its placeholders and documents on this machine.",
        discussion: """
            The store keeps its documents. An app password that a Nextcloud gave Hydrant at the sign-in is revoked there. The \
            domain stays in config.toml, and its bookmarks and rights are void \
            until the next mount; hydrant domain remove removes these too.

            A mounted domain is unmounted: programs find and open nothing in it, and Hydrant removes at once the \
            documents that no program has open. Programs with open documents can read on; Hydrant removes the rest \
            when the last document is closed.

            Examples:
              hydrant logout work
              hydrant logout work --force --put-aside ~/work-not-sent
            """)

    @Argument(help: "The name of a domain, webdavs://USER@HOST/PATH, s3://BUCKET/PREFIX, or a mount point.")
    var name: String

    @OptionGroup var pending: PendingChoice

    @Flag(
        help:
            "Print an object: domain, putAside (the folder with the pending documents, or null), appPassword (revoked, or left, or null: there was none), users (programs with open documents)."
    )
    var json = false

    func run() async throws {
        do {
            let mounted = try await SignOut.mount(of: name)
            guard let account = try Self.account(name, mounted) else {
                guard let mounted else {
                    throw AccountError(
                        "“\(name)” is neither a domain nor a WebDAV folder nor a bucket nor a mount point; hydrant domain list shows the domains"
                    )
                }
                guard mounted.signsIn == true else {
                    throw AccountError(
                        "\(mounted.mountPoint): \(mounted.provider) has no account; hydrant unmount \(mounted.mountPoint) unmounts it"
                    )
                }
                return try await SignOut(name: mounted.domain, settings: nil, choice: pending, json: json).run(mounted)
            }
            try await SignOut(name: account.name, settings: account.settings, choice: pending, json: json).run(mounted)
        } catch let code as ExitCode { throw code } catch { throw fail("\(error)") }
    }

    /// Nil: the provider keeps its own credentials.
    private static func account(_ name: String, _ mounted: DomainStatus?) throws -> MountAccount? {
        guard let mounted else { return try MountAccount(name) }
        let names = try ConfigurationFile().load().domains
        let scheme = String(mounted.provider.prefix { $0 != ":" })
        guard builtInStores[scheme]?.hasAccounts == true || names[mounted.domain] != nil else { return nil }
        return try MountAccount(names[mounted.domain] == nil ? mounted.provider : mounted.domain)
    }
}

/// Options for changes that the store does not have.
struct PendingChoice: ParsableArguments {
    @Flag(help: "Go on although changes are pending: put the changed documents aside first, and print where.")
    var force = false

    @Option(
        help: ArgumentHelp(
            "The folder for --force, empty or not yet existing (default: a new one in $XDG_DATA_HOME/hydrant/put-aside).",
            valueName: "folder"), completion: .directory)
    var putAside: String?

    func validate() throws {
        if putAside != nil && !force { throw ValidationError("--put-aside needs --force") }
    }

    /// Never the working directory.
    func folder(of domain: String) throws -> String {
        if let putAside {
            return putAside.hasPrefix("/") ? putAside : FileManager.default.currentDirectoryPath + "/" + putAside
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd"
        let base =
            try ConfigurationFile.folder(.data, ProcessInfo.processInfo.environment)
            + "/put-aside/\(domain)-\(formatter.string(from: Date()))"
        if !FileManager.default.fileExists(atPath: base) { return base }
        return (2...).lazy.map { "\(base)-\($0)" }.first { !FileManager.default.fileExists(atPath: $0) }!
    }
}

/// Removes everything that this machine has of a domain, unless some of it exists nowhere else.
struct SignOut {
    let name: String
    /// Nil: the provider keeps its own credentials.
    let settings: AccountSettings?
    let choice: PendingChoice
    let json: Bool
    /// Its bookmarks and rights go as well; else they are good again after the next sign-in.
    var forgets = false

    private struct SignedOut: Encodable {
        var domain: String
        var putAside: String?
        var appPassword: String?
        var users: [MountUsers.Process] = []
    }

    /// The mounted domain that a user names by its mount point.
    static func mount(of name: String) async throws -> DomainStatus? {
        let mounts = await Mounts.all()
        if let mount = mounts.first(where: { $0.domain == name || $0.provider == name }) { return mount }
        if let account = try? MountAccount(name) {
            return mounts.first { $0.domain == account.name || $0.provider == account.canonical }
        }
        guard name.contains("/"), !name.contains(":") else { return nil }
        let mountPoint = try MountedPath.mountPoint(name)
        return mounts.first { $0.mountPoint == mountPoint }
    }

    func run(_ mounted: DomainStatus?) async throws {
        var report = SignedOut(domain: name)
        let folder = try choice.folder(of: name)
        if let mounted {
            try await end(mounted, folder, &report)
            if !report.users.isEmpty { return say(report, folder) }
        }
        let removal = try DomainRemoval(domain: name)
        if removal.pending > 0 {
            // The daemon may have begun to put documents aside: leave its folder alone.
            let other = report.putAside == nil ? folder : "\(folder)-2"
            try checkPending(removal.pending, other)
            try removal.putAside(in: other)
            report.putAside = other
        }
        try await forgetPassword(&report)
        try removal.run(forgets: forgets)
        say(report, folder)
    }

    /// Called before anything is changed.
    private func checkPending(_ pending: Int, _ folder: String) throws {
        guard choice.force else {
            throw fail(
                "\(Output.changes(pending)) of \(name) not in the store yet; send them with hydrant sync while it is mounted, "
                    + "or put the documents aside with --force, in \(folder)")
        }
        warn("\(Output.changes(pending)) of \(name) not in the store yet: the documents are put into \(folder)")
    }

    private func forgetPassword(_ report: inout SignedOut) async throws {
        guard let settings else { return }
        let places = try CredentialPlaces(name, settings)
        if places.isAppPassword {
            do {
                guard let user = places.user, let secret = try places.find()?.secret else {
                    throw AccountError("it is not known any more")
                }
                try await AppPassword.revoke(settings, user: user, secret)
                report.appPassword = "revoked"
            } catch {
                warn(BrowserSignIn.leftBehind(settings, "\(error)"))
                report.appPassword = "left"
            }
        }
        try places.forget()
    }

    private func end(_ mounted: DomainStatus, _ folder: String, _ report: inout SignedOut) async throws {
        let mountPoint = mounted.mountPoint
        if !mounted.pending.isEmpty { try checkPending(mounted.pending.count, folder) }
        let daemon = ServingProcess.serving(mountPoint)
        // A working directory in the mount would keep it in use.
        chdir("/")
        let request = SignOutRequest(force: choice.force, folder: folder)
        guard case .signedOut(let putAside) = try await ask(mountPoint, .signOut(request), timeout: 600) else {
            throw fail(
                "\(mountPoint): its daemon is of another release; unmount it first: hydrant unmount \(mountPoint)")
        }
        if putAside > 0 { report.putAside = folder }
        try await forgetPassword(&report)
        let users = MountUsers.find(at: mountPoint)
        if let problem = Unmounter.unmount(mountPoint, lazily: true) { throw fail(problem) }
        guard let daemon else { return }
        // Without users the daemon ends by itself.
        let patience: Double = users.processes.isEmpty ? 20 : 2
        if await daemon.hasEnded(within: patience) { return }
        report.users = users.processes
        if users.processes.isEmpty {
            throw fail(
                "\(name): signed out; the daemon (pid \(daemon.pid)) still runs, and removes the rest when it ends",
                CommandExit.tryAgain)
        }
    }

    private func say(_ report: SignedOut, _ folder: String) {
        if json { return print(Output.json(report)) }
        if let folder = report.putAside { print("the pending documents are in \(folder)") }
        if report.appPassword == "revoked" { print("\(name): the app password of Hydrant is revoked on the server") }
        guard !report.users.isEmpty else {
            let what = forgets ? "none of its data is left" : "none of its documents are left"
            return print("\(name): signed out; \(what) on this machine")
        }
        print("\(name): signed out; these programs have documents open, which are removed when closed:")
        for line in MountUsers(processes: report.users).lines { print("  " + line) }
        print("changes that they save until then go to \(folder)")
    }
}
