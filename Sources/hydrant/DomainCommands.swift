import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import HTTPTransport
import Stores

struct DomainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domain", abstract: "Add, list and remove domains: names for stores, with their accounts.",
        discussion: """
            A domain is a section of config.toml; hydrant help config lists its keys.

            Example:
              hydrant domain add work https://cloud.example.org
              hydrant mount work ~/Work
            """,
        subcommands: [DomainAddCommand.self, DomainListCommand.self, DomainRemoveCommand.self])
}

struct DomainAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a domain: a name for a store and its account.",
        discussion: """
            To a Nextcloud without --user and --token, you sign in with a browser: Hydrant prints the address of the page \
            (and opens it, on a desktop), waits for up to 20 minutes, and keeps the app password that the server then \
            gives it. hydrant logout revokes that.

            Examples:
              hydrant domain add work https://cloud.example.org
              hydrant domain add work https://cloud.example.org --user ada
              hydrant domain add photos s3://photos/2026 --region eu-central-1
              hydrant domain add team s3://team --endpoint https://s3.example.org
              hydrant domain add disk dir:/srv/documents
            """)

    @Argument(help: "A name for the domain: letters, digits, - and _.")
    var name: String

    @Argument(
        help:
            "The store: https://HOST/PATH, a WebDAV folder (of a Nextcloud or an ownCloud, https://HOST is enough); s3://BUCKET/PREFIX, a bucket or a part of it; or SCHEME:LOCATION, another store as for hydrant mount."
    )
    var url: String

    @Option(help: "The user name on the server; of a bucket, the access key.")
    var user: String?

    @Flag(help: "Sign in with a token (Bearer) instead of a password.")
    var token = false

    @Option(
        help: ArgumentHelp(
            "A PEM file with the server's certificate authority, if it is private.", valueName: "file"),
        completion: .file())
    var certificateAuthority: String?

    @OptionGroup(title: "Buckets") var bucket: BucketChoice

    @Flag(
        help:
            "Print an object: name, url, user, credential (where a password is kept, or null), notes (what the store keeps), next (the command to run next, or null)."
    )
    var json = false

    private struct Added: Encodable {
        var name: String
        var url: String
        var user: String?
        var credential: String?
        var notes: [String] = []
        var next: String?
    }

    func run() async throws {
        do {
            let file = try ConfigurationFile()
            // Refuse a bad name before waiting for the network.
            if let problem = DomainName.problem(name) { throw AccountError(problem) }
            guard try file.load().domains[name] == nil else {
                throw AccountError("there is a domain “\(name)” already; hydrant domain remove \(name) removes it")
            }
            var settings = try settings()
            if let warning = settings.plainTextWarning { warn(warning) }
            var added = Added(name: name, url: settings.url)
            let mayAskBrowser = StoreURL.isWebDAV(settings.url) && settings.user == nil && !token
            switch try await mayAskBrowser ? LoginFlow.begin(settings) : .noFlow {
            case .flow(let flow): try await signIn(flow, file, &settings, &added)
            case .unreachable(let problem):
                warn("\(problem); \(name) is added, but whether you can sign in there with a browser is not known")
                added.next = "hydrant login \(name)"
                try file.add(name, settings)
            case .noFlow:
                if StoreURL.isWebDAV(settings.url) { settings.url = await AccountTrial.discover(settings) }
                if StoreURL.isS3(settings.url) { try await look(&settings, &added) }
                try file.add(name, settings)
            }
            (added.url, added.user) = (settings.url, settings.user)
            if added.next == nil {
                added.next =
                    settings.needsPassword && added.credential == nil
                    ? "hydrant login \(name)" : "hydrant mount \(name) FOLDER"
            }
            if json { return print(Output.json(added)) }
            print("\(name): \(settings.url)")
            for note in added.notes { print("\(name): \(note)") }
            if let place = added.credential {
                print("\(name): the app password of \(added.user ?? "") is kept in: \(place)")
            }
            if let next = added.next { print("next: \(next)") }
        } catch { throw fail("\(error)") }
    }

    private func settings() throws -> AccountSettings {
        var settings = AccountSettings()
        let (store, named, isWebDAV) = try StoreURL.parse(url)
        settings.url = store
        settings.user = user ?? named
        settings.usesToken = token
        settings.certificateAuthority = certificateAuthority.map { path in
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        }
        try bucket.apply(to: &settings)
        if isWebDAV { return settings }
        guard !token else { throw AccountError("--token is for WebDAV folders") }
        if StoreURL.isS3(store) {
            try BucketURL.check(store)
            if settings.s3.endpoint == nil, !store.contains("?endpoint=") {
                settings.s3.endpoint = BucketURL.usualEndpoint(profile: settings.s3.profile)
            }
            return settings
        }
        guard user == nil, certificateAuthority == nil else {
            throw AccountError("--user and --certificate-authority are for WebDAV folders and buckets")
        }
        let (scheme, _) = try StoreLocation.split(store)
        if let kind = builtInStores[scheme]?.kind {
            let folder = FileManager.default.currentDirectoryPath
            settings.url = try StoreLocation(store, kind: kind, workingDirectory: folder).canonical
        } else {
            // Throws for a scheme without a program.
            _ = try ProviderProgram(store: store, mountPoint: "/")
        }
        return settings
    }

    /// Adds the domain of the user who signs in with a browser.
    private func signIn(
        _ flow: LoginFlow, _ file: ConfigurationFile, _ settings: inout AccountSettings, _ added: inout Added
    ) async throws {
        if let warning = settings.signInWarning { warn(warning) }
        let grant = try await BrowserSignIn.run(flow, settings, as: name)
        (settings.user, settings.url) = (grant.user, grant.url)
        do {
            let trial = try await AccountTrial.signIn(settings, grant.password, as: name)
            added.notes = trial.notes + (trial.untried.map { ["\($0); the password is kept untried"] } ?? [])
            try file.add(name, settings)
            do {
                added.credential = try CredentialPlaces(name, settings).keep(grant.password, appPasswordOf: grant.user)
            } catch {
                try? file.remove(name)
                throw error
            }
        } catch {
            await BrowserSignIn.revoke(grant, settings)
            throw error
        }
    }

    /// Finds out what the bucket keeps, where it can be asked without a sign-in.
    private func look(_ settings: inout AccountSettings, _ added: inout Added) async throws {
        if let report = try await AccountTrial.bucket(settings, as: name) {
            if let untried = report.untried { warn(untried) }
            added.notes = report.notes
        } else if settings.user == nil, await AccountTrial.isPublic(settings) {
            settings.isAnonymous = true
            added.notes = [
                "everybody may read this bucket; it is mounted read-only (to change it, remove auth = \"none\" from "
                    + "config.toml, and sign in)"
            ]
        }
    }
}

/// Options of `hydrant domain add` for buckets.
struct BucketChoice: ParsableArguments {
    @Option(help: ArgumentHelp("The server that speaks S3 (default: Amazon's).", valueName: "url"))
    var endpoint: String?

    @Option(help: "The bucket's region (default: the profile's, else us-east-1).")
    var region: String?

    @Flag(help: "Put the bucket into the path of requests, not into the host's name.")
    var pathStyle = false

    @Option(help: ArgumentHelp("The profile of ~/.aws with the credentials.", valueName: "name"))
    var profile: String?

    @Flag(help: "Your account pays for the requests of a bucket that asks for it.")
    var requesterPays = false

    @Flag(help: "Do not sign in: a bucket that everybody may read, mounted read-only.")
    var anonymous = false

    func apply(to settings: inout AccountSettings) throws {
        var options = S3Options()
        options.endpoint = endpoint
        options.region = region
        options.isPathStyle = pathStyle ? true : nil
        options.profile = profile
        options.isRequesterPays = requesterPays
        guard StoreURL.isS3(settings.url) else {
            guard options == S3Options(), !anonymous else {
                throw AccountError(
                    "--endpoint, --region, --path-style, --profile, --requester-pays and --anonymous are for buckets: "
                        + "s3://BUCKET/PREFIX")
            }
            return
        }
        guard !anonymous || settings.user == nil && profile == nil else {
            throw AccountError("--anonymous excludes --user and --profile")
        }
        settings.s3 = options
        settings.isAnonymous = anonymous
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
                    name: name, url: BucketURL.url(settings.url, endpoint: settings.s3.endpoint), user: settings.user,
                    credential: try place(name, settings),
                    mountPoint: mounts[name])
            }
            if json { return print(Output.json(lines)) }
            if lines.isEmpty { print("there are no domains; hydrant domain add NAME URL adds one") }
            for line in lines {
                print("\(line.name)  \(line.url)\(line.user.map { "  user \($0)" } ?? "")")
                if let credential = line.credential {
                    print("  password: \(credential)")
                } else if domains[line.name]?.needsPassword == true {
                    print("  password: none; hydrant login \(line.name)")
                }
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

    @Flag(help: "Print an object as hydrant logout does.")
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
