import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Surroundings

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Sign out of a domain: removes its password, its placeholders and the documents on this machine.",
        discussion: """
            What is in the store stays there. The domain stays in config.toml, and its bookmarks and rights give nothing until it \
            is mounted again; hydrant domain remove forgets all of it.

            A domain that is mounted is unmounted: programs find and open nothing in it any more, and what none of them has \
            open is removed at once. Those that have documents open go on with what is here; the rest is removed when the last \
            of them has closed its last one.

            Examples:
              hydrant logout work
              hydrant logout work --force --put-aside ~/work-not-sent
            """)

    @Argument(help: "The name of a domain, webdavs://USER@HOST/PATH, or where it is mounted.")
    var name: String

    @OptionGroup var pending: PendingChoice

    @Flag(
        help:
            "Print an object: domain, putAside (where what was pending is), users (programs that have documents open).")
    var json = false

    func run() async throws {
        do {
            let mounted = try await SignOut.mount(of: name)
            guard let account = try Self.account(name, mounted) else {
                guard let mounted else {
                    throw AccountError(
                        "“\(name)” is no domain and no WebDAV folder (hydrant domain list shows the domains), and not mounted"
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

    /// Nil: its provider keeps what it signs in with.
    private static func account(_ name: String, _ mounted: DomainStatus?) throws -> MountAccount? {
        guard let mounted else { return try MountAccount(name) }
        guard mounted.provider.hasPrefix("webdav") else { return nil }
        let names = try ConfigurationFile().load().domains
        return try MountAccount(names[mounted.domain] == nil ? mounted.provider : mounted.domain)
    }
}

/// What becomes of changes that the store does not have.
struct PendingChoice: ParsableArguments {
    @Flag(help: "Although changes are pending: the documents among them are put aside first, and it is said where.")
    var force = false

    @Option(
        help: ArgumentHelp(
            "Where they are put with --force: a folder that is empty or does not exist (default: one in $XDG_DATA_HOME/hydrant/put-aside).",
            valueName: "folder"), completion: .directory)
    var putAside: String?

    func validate() throws {
        if putAside != nil && !force { throw ValidationError("--put-aside says where --force puts them") }
    }

    /// Never where the user just happens to be.
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

/// Takes away all that this machine has of a domain, unless something of it is nowhere else.
struct SignOut {
    let name: String
    /// Nil: its provider keeps what it signs in with.
    let settings: AccountSettings?
    let choice: PendingChoice
    let json: Bool
    /// Its bookmarks and rights go as well; else they are good again after the next sign-in.
    var forgets = false

    private struct SignedOut: Encodable {
        var domain: String
        var putAside: String?
        var users: [MountUsers.Process] = []
    }

    /// Where what a user names is mounted.
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
            // (What a daemon has put aside stays there, should it not have come to its end.)
            let other = report.putAside == nil ? folder : "\(folder)-2"
            try told(removal.pending, other)
            try removal.putAside(in: other)
            report.putAside = other
        }
        try forgetPassword()
        try removal.run(forgets: forgets)
        say(report, folder)
    }

    /// Before anything is done.
    private func told(_ pending: Int, _ folder: String) throws {
        guard choice.force else {
            throw fail(
                "\(Output.changes(pending)) of \(name) not in the store yet; hydrant sync sends them while it is mounted, "
                    + "and --force puts the documents aside, in \(folder)")
        }
        warn("\(Output.changes(pending)) of \(name) not in the store yet: the documents are put into \(folder)")
    }

    private func forgetPassword() throws {
        if let settings { try CredentialPlaces(name, settings).forget() }
    }

    private func end(_ mounted: DomainStatus, _ folder: String, _ report: inout SignedOut) async throws {
        let mountPoint = mounted.mountPoint
        if !mounted.pending.isEmpty { try told(mounted.pending.count, folder) }
        let daemon = ServingProcess.serving(mountPoint)
        // Or we would be one of those who use it.
        chdir("/")
        let request = SignOutRequest(force: choice.force, folder: folder)
        guard case .signedOut(let putAside) = try await ask(mountPoint, .signOut(request), timeout: 600) else {
            throw fail(
                "\(mountPoint): its daemon is of another release; unmount it first: hydrant unmount \(mountPoint)")
        }
        if putAside > 0 { report.putAside = folder }
        try forgetPassword()
        let users = MountUsers.look(at: mountPoint)
        if let problem = Unmounter.unmount(mountPoint, lazily: true) { throw fail(problem) }
        guard let daemon else { return }
        // With nobody left it ends by itself.
        let patience: Double = users.processes.isEmpty ? 20 : 2
        if await daemon.hasEnded(within: patience) { return }
        report.users = users.processes
        if users.processes.isEmpty {
            throw fail(
                "\(name): signed out; the daemon (pid \(daemon.pid)) removes the rest when it ends, which it has not yet",
                CommandExit.tryAgain)
        }
    }

    private func say(_ report: SignedOut, _ folder: String) {
        if json { return print(Output.json(report)) }
        if let folder = report.putAside { print("what was pending is in \(folder)") }
        guard !report.users.isEmpty else {
            let what = forgets ? "nothing of it" : "none of its documents"
            return print("\(name): signed out; \(what) is on this machine any more")
        }
        print("\(name): signed out; these programs still have documents open, which are removed when they are closed:")
        for line in MountUsers(processes: report.users).lines { print("  " + line) }
        print("what they write until then is put into \(folder)")
    }
}
