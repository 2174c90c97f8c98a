import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import HTTPTransport
import Stores

struct DomainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domain", abstract: "Add, list and remove domains: named accounts on servers.",
        discussion: """
            A domain is a section of config.toml; hydrant help config lists its keys.

            Example:
              hydrant domain add work https://cloud.example.org --user ada
              hydrant login work
              hydrant mount work ~/Work
            """,
        subcommands: [DomainAddCommand.self, DomainListCommand.self, DomainRemoveCommand.self])
}

struct DomainAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a domain: a name for a WebDAV folder and its account.",
        discussion: """
            Example:
              hydrant domain add work https://cloud.example.org --user ada
            """)

    @Argument(help: "A name for the domain: letters, digits, - and _.")
    var name: String

    @Argument(
        help:
            "The WebDAV folder, https://HOST/PATH; of a Nextcloud or an ownCloud, https://HOST is enough."
    )
    var url: String

    @Option(help: "The user name on the server.")
    var user: String?

    @Flag(help: "Sign in with a token (Bearer) instead of a password.")
    var token = false

    @Option(
        help: ArgumentHelp(
            "A PEM file with the server's certificate authority, if it is private.", valueName: "file"),
        completion: .file())
    var certificateAuthority: String?

    @Flag(help: "Print an object: name, url, user.")
    var json = false

    private struct Added: Encodable {
        var name: String
        var url: String
        var user: String?
    }

    func run() async throws {
        do {
            let (location, named, _) = try AccountURL.parse(url)
            var settings = AccountSettings()
            settings.url = location.url
            settings.user = user ?? named
            settings.usesToken = token
            settings.certificateAuthority = certificateAuthority.map { path in
                path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
            }
            let file = try ConfigurationFile()
            // Refuse a bad name before waiting for the network.
            if let problem = DomainName.problem(name) { throw AccountError(problem) }
            guard try file.load().domains[name] == nil else {
                throw AccountError("there is a domain “\(name)” already; hydrant domain remove \(name) removes it")
            }
            settings.url = await AccountTrial.discover(settings)
            if let warning = settings.plainTextWarning { warn(warning) }
            try file.add(
                name, url: settings.url, user: settings.user, usesToken: settings.usesToken,
                authority: settings.certificateAuthority)
            if json { return print(Output.json(Added(name: name, url: settings.url, user: settings.user))) }
            print("\(name): \(settings.url)")
            print("next: hydrant login \(name)")
        } catch { throw fail("\(error)") }
    }
}

struct DomainListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the domains with their URLs, password stores and mount points.",
        discussion: """
            Example:
              hydrant domain list --json
            """)

    @Flag(help: "Print an array of objects: name, url, user, credential, mountPoint.")
    var json = false

    private struct Line: Encodable {
        var name: String
        var url: String
        var user: String?
        /// Where the password is kept; nil: nowhere.
        var credential: String?
        var mountPoint: String?
    }

    func run() async throws {
        do {
            let domains = try ConfigurationFile().load().domains
            let mounts = await Mounts.byDomain()
            let lines = try domains.sorted { $0.key < $1.key }.map { name, settings in
                Line(
                    name: name, url: settings.url, user: settings.user, credential: try place(name, settings),
                    mountPoint: mounts[name])
            }
            if json { return print(Output.json(lines)) }
            if lines.isEmpty { print("there are no domains; hydrant domain add NAME URL adds one") }
            for line in lines {
                print("\(line.name)  \(line.url)\(line.user.map { "  user \($0)" } ?? "")")
                print("  password: \(line.credential ?? "none; hydrant login \(line.name)")")
                if let mountPoint = line.mountPoint { print("  mounted at \(mountPoint)") }
            }
        } catch { throw fail("\(error)") }
    }

    /// Where the password is kept. Does not run a password command.
    private func place(_ name: String, _ settings: AccountSettings) throws -> String? {
        if let command = settings.passwordCommand { return "command \(command[0])" }
        return try CredentialPlaces(name, settings).find()?.place
    }
}

struct DomainRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Sign out of a domain (see hydrant logout), and remove its section from config.toml.",
        discussion: """
            Example:
              hydrant domain remove work
            """)

    @Argument(help: "The domain's name.")
    var name: String

    @OptionGroup var pending: PendingChoice

    @Flag(help: "Print an object: domain, putAside (the folder with the pending documents, or null).")
    var json = false

    func run() async throws {
        do {
            let file = try ConfigurationFile()
            let settings = try file.domain(name)
            try await SignOut(name: name, settings: settings, choice: pending, json: json, forgets: true).run(
                try await SignOut.mount(of: name))
            try file.remove(name)
        } catch let code as ExitCode { throw code } catch { throw fail("\(error)") }
    }
}

/// The mounts of this user.
enum Mounts {
    static func all() async -> [DomainStatus] {
        var found: [DomainStatus] = []
        for mount in MountTable.ownDomains() {
            guard let path = try? SocketDirectory.socketPath(mountPoint: mount.mountPoint),
                case .domain(let status, _)? = try? await ControlClient(socketPath: path).send(.domain, timeout: 5)
            else { continue }
            found.append(status)
        }
        return found
    }

    /// Mount points by the names of their domains.
    static func byDomain() async -> [String: String] {
        Dictionary(await all().map { ($0.domain, $0.mountPoint) }) { $1 }
    }
}
