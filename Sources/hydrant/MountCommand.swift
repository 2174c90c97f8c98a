import Accounts
import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Logging
import Stores

struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount a store; returns when the mount answers.",
        discussion: """
            Examples:
              hydrant mount dir:/srv/documents ~/Documents
              hydrant mount work ~/Work   (a domain of hydrant domain add)
              hydrant mount webdavs://ada@cloud.example.org/dav ~/Cloud
              hydrant mount --read-only --cache-limit 10G dir:/srv/photos ~/Photos
              hydrant mount --foreground dir:/srv/documents ~/Documents   (in a unit of systemd, with its journal)

            For a scheme that is not built in, Hydrant runs the program hydrant-provider-SCHEME in PATH.
            """)

    @Argument(
        help:
            "The store: the name of a domain (hydrant domain list); dir:/STORE, a directory of documents; webdavs://USER@HOST/PATH, a WebDAV folder; or SCHEME:LOCATION, a store of another provider."
    )
    var store: String

    @Argument(
        help: "The mount point, an empty directory (default: the domain's in config.toml).", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Refuse changes (EROFS), and send none; earlier pending changes stay pending.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "The domain's name, and that of its state directory (default: a name made from the store's).",
            valueName: "name"))
    var domain: String?

    @Option(
        help: "The directory for the catalog and the downloaded bytes (default: $XDG_DATA_HOME/hydrant/domains/NAME).",
        completion: .directory)
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "The size above which the least recently used documents are evicted: 10G, 500M, 1T, bytes, or none (default).",
            valueName: "size"))
    var cacheLimit: String?

    @Option(
        help: ArgumentHelp(
            "The space that must stay free on the disk: 2G, 500M, bytes, or a share as 5% (default: 2G or 5%, whichever is less).",
            valueName: "size"))
    var minFree: String?

    @Option(
        help: ArgumentHelp(
            "The bytes to download ahead for a program that reads a folder's documents one after another: 8M (default), 500K, bytes, or none.",
            valueName: "size"))
    var readAhead: String?

    @Option(
        help: ArgumentHelp(
            "The percentage of the domain that the store may delete within an hour before Hydrant asks (default: 10; 100: never). See hydrant resolve.",
            valueName: "percent"))
    var holdDeletions: String?

    @Option(
        help: ArgumentHelp(
            "The owner of items whose owner the store does not keep: a name or a number (default: you).",
            valueName: "user"))
    var uid: String?

    @Option(help: ArgumentHelp("The group of these items: a name or a number (default: yours).", valueName: "group"))
    var gid: String?

    @Option(
        help: ArgumentHelp(
            "The speed limit of all downloads together: 2M, 500K, bytes a second, or none (default). See hydrant limit.",
            valueName: "rate"))
    var limitDownload: String?

    @Option(help: ArgumentHelp("The speed limit of all uploads together, in the same form.", valueName: "rate"))
    var limitUpload: String?

    @Option(
        help: ArgumentHelp(
            "The permission bits, octal, that items lack whose mode the store does not keep (default: 022).",
            valueName: "mask"))
    var umask: String?

    @Option(
        name: .customShort("o", allowingJoined: true),
        help: "Mount options, separated by commas, as for mount(8): allow_other, ro, uid=…, gid=…, umask=…, …")
    var options: [String] = []

    @Option(
        help: ArgumentHelp(
            "A pattern of names of new files that stay on this machine, besides the default patterns; may be repeated.",
            discussion: "As in fnmatch(3): *, ? and [a-z]. Items that the store has already are not affected.",
            valueName: "pattern"))
    var exclude: [String] = []

    @Flag(
        help:
            "Also send the files that programs make beside documents: locks, swap files, backups (*~, .*.sw?, .~lock.*#, …)."
    )
    var noDefaultExcludes = false

    @Flag(
        help:
            "Stay in the foreground, and log to standard error, or to the journal if standard error is connected to it."
    )
    var foreground = false

    @Option(
        help: ArgumentHelp(
            "The lowest level of messages to log: \(levels) (default: info).", valueName: "level"))
    var logLevel = "info"

    @Flag(help: "Print an object: mountPoint, store (without its password) and pid of the daemon.")
    var json = false

    private struct Mounted: Encodable {
        var mountPoint: String
        var store: String
        var pid: Int32
    }

    func validate() throws {
        if json && foreground {
            throw ValidationError("--json and --foreground exclude each other; the log has the mount's data")
        }
    }

    private static let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

    func run() throws {
        CommandLineSecrets.hide(in: store)
        let account: MountAccount?
        do { account = try MountAccount(store) } catch { throw fail("\(error)") }
        let store = account?.store ?? self.store
        var configuration: DaemonConfiguration
        let program: ProviderProgram
        do { configuration = try makeConfiguration(store, account) } catch { throw fail("\(error)", 64) }
        do { program = try ProviderProgram(store: store, mountPoint: configuration.mountPoint) } catch {
            throw fail("\(error)")
        }
        configuration.providerProgram = program.spoken
        if let warning = account?.settings.plainTextWarning { warn(warning) }
        try account?.askForPassword()
        var launch = DaemonLaunch(program, configuration)
        let missing = account?.missingPassword
        if foreground {
            if let missing { warn("\(configuration.mountPoint): \(missing)") }
            try launch.replaceThisProcess()
        }
        let pid = try launch.inBackground()
        if let missing { warn("\(configuration.mountPoint): mounted, but \(missing)") }
        if json {
            print(
                Output.json(
                    Mounted(mountPoint: configuration.mountPoint, store: StoreLocation.shown(store), pid: pid)))
        }
    }

    /// Reports every error that can be found without asking the store.
    private func makeConfiguration(_ store: String, _ account: MountAccount?) throws -> DaemonConfiguration {
        let settings = account?.settings
        guard let mountpoint = mountpoint ?? settings?.mountpoint else {
            throw DaemonError("\(self.store): no mount point; name an empty directory")
        }
        for path in [mountpoint] + [stateDir].compactMap({ $0 }) where ByteText.shown(path) != path {
            throw DaemonError("\(path): the name is not UTF-8; choose another mount point or state directory")
        }
        var configuration = DaemonConfiguration(
            store: store, mountPoint: absolute(mountpoint), workingDirectory: FileManager.default.currentDirectoryPath)
        configuration.stateDirectory = stateDir.map(absolute)
        configuration.account = account.map { DaemonAccount($0.name, $0.settings) }
        if let domain = domain ?? account?.domain { try configuration.setDomain(domain) }
        let readOnly = readOnly || settings?.isReadOnly == true
        // The command line takes precedence over config.toml.
        let cacheLimit = cacheLimit ?? settings?.options[.cacheLimit]
        let minFree = minFree ?? settings?.options[.minFree]
        let readAhead = readAhead ?? settings?.options[.readAhead]
        let holdDeletions = holdDeletions ?? settings?.options[.holdDeletions]
        let limitDownload = limitDownload ?? settings?.options[.limitDownload]
        let limitUpload = limitUpload ?? settings?.options[.limitUpload]
        try configuration.setMount(options: options, readOnly: readOnly, uid: uid, gid: gid, umask: umask)
        if let cacheLimit { try configuration.setCacheLimit(cacheLimit) }
        if let minFree { try configuration.setMinimumFree(minFree) }
        if let readAhead { try configuration.setReadAhead(readAhead) }
        if let holdDeletions { try configuration.setHold(holdDeletions) }
        if let limitDownload {
            configuration.downloadLimit = try DaemonConfiguration.rate(limitDownload, of: "--limit-download")
        }
        if let limitUpload {
            configuration.uploadLimit = try DaemonConfiguration.rate(limitUpload, of: "--limit-upload")
        }
        try configuration.exclude((settings?.exclude ?? []) + exclude, besidesDefaults: !noDefaultExcludes)
        if let settings {
            try configuration.setDownloads(
                allow: settings.downloadsAllow, deny: settings.downloadsDeny, ask: settings.downloadsAsk)
        }
        if let thumbnails = settings?.thumbnails { configuration.thumbnails = thumbnails }
        guard let level = Logger.Level(rawValue: logLevel.lowercased()) else {
            throw DaemonError("--log-level \(logLevel): choose one of \(Self.levels)")
        }
        configuration.logLevel = level
        configuration.takeTuning(from: ProcessInfo.processInfo.environment)
        return configuration
    }

    private func absolute(_ path: String) -> String {
        let full = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        // Drops repeated and trailing slashes.
        return "/" + full.split(separator: "/").joined(separator: "/")
    }
}

/// Removes a password from our command line, which every user of the machine can read (ps), while the command still
/// runs.
enum CommandLineSecrets {
    static func hide(in store: String) {
        let shown = StoreLocation.shown(store)
        guard shown != store else { return }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index], strcmp(argument, store) == 0 else { continue }
            let length = strlen(argument)
            memset(argument, 0, length)
            // `shown` only leaves parts out, so it is no longer than the argument.
            _ = shown.withCString { memcpy(argument, $0, min(strlen($0), length)) }
        }
    }
}
