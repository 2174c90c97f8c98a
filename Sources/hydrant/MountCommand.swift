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
              hydrant mount --foreground dir:/srv/documents ~/Documents   (in a unit of systemd, with the log in its journal)

            A scheme that is not built in is served by a program hydrant-provider-SCHEME in PATH.
            """)

    @Argument(
        help:
            "What to mount: the name of a domain (hydrant domain list); dir:/STORE, a directory of documents; webdavs://USER@HOST/PATH, a WebDAV folder; or SCHEME:LOCATION, what another provider has."
    )
    var store: String

    @Argument(
        help: "An empty directory (default: the one that config.toml names for the domain).", completion: .directory)
    var mountpoint: String?

    @Flag(help: "Programs can change nothing (EROFS), and nothing is sent; what was pending before stays pending.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "What this domain is called: its state is kept in domains/NAME (default: a name made of the store's).",
            valueName: "name"))
    var domain: String?

    @Option(
        help: "Where the catalog and the downloaded bytes are kept (default: $XDG_DATA_HOME/hydrant/domains/NAME).",
        completion: .directory)
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "How much may be here: above it, what was used longest ago is evicted. 10G, 500M, 1T, bytes, or none (default).",
            valueName: "size"))
    var cacheLimit: String?

    @Option(
        help: ArgumentHelp(
            "How much of the disk must stay free: 2G, 500M, bytes, or a share as 5% (default: 2G, or 5% if that is less).",
            valueName: "size"))
    var minFree: String?

    @Option(
        help: ArgumentHelp(
            "How much may be on its way of documents that a program has not asked for yet, which reads a folder's one after another: 8M (default), 500K, bytes, or none.",
            valueName: "size"))
    var readAhead: String?

    @Option(
        help: ArgumentHelp(
            "Ask before taking away what the store deletes, above this share of the domain within an hour (default: 10; 100: never). See hydrant resolve.",
            valueName: "percent"))
    var holdDeletions: String?

    @Option(
        help: ArgumentHelp("Who owns what comes from the store: a name or a number (default: you).", valueName: "user"))
    var uid: String?

    @Option(help: ArgumentHelp("Its group: a name or a number (default: yours).", valueName: "group"))
    var gid: String?

    @Option(
        help: ArgumentHelp(
            "How fast all downloads together may be: 2M, 500K, bytes a second, or none (default). See hydrant limit.",
            valueName: "rate"))
    var limitDownload: String?

    @Option(help: ArgumentHelp("How fast all uploads together may be, in the same way.", valueName: "rate"))
    var limitUpload: String?

    @Option(
        help: ArgumentHelp(
            "The permission bits, octal, that items do not get of which the store keeps no mode (default: 022).",
            valueName: "mask"))
    var umask: String?

    @Option(
        name: .customShort("o", allowingJoined: true),
        help: "Options of the mount, separated by commas, as for mount(8): allow_other, ro, uid=…, gid=…, umask=…, …")
    var options: [String] = []

    @Option(
        help: ArgumentHelp(
            "Keep new files with such names on this machine only, besides the default ones; may be repeated.",
            discussion: "As for fnmatch(3): *, ? and [a-z]. What the store has already is not affected.",
            valueName: "pattern"))
    var exclude: [String] = []

    @Flag(help: "Send also what programs make beside documents: locks, swap files, backups (*~, .*.sw?, .~lock.*#, …).")
    var noDefaultExcludes = false

    @Flag(help: "Stay in the foreground, with the log on standard error, or in the journal where that is it.")
    var foreground = false

    @Option(
        help: ArgumentHelp(
            "The least severe messages that are logged: \(levels) (default: info).", valueName: "level"))
    var logLevel = "info"

    @Flag(help: "Print an object: mountPoint, store (without its password) and pid of the daemon.")
    var json = false

    private struct Mounted: Encodable {
        var mountPoint: String
        var store: String
        var pid: Int32
    }

    func validate() throws {
        if json && foreground { throw ValidationError("--json and --foreground: choose one; the log has the rest") }
    }

    private static let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

    func run() throws {
        CommandLineSecrets.hide(in: store)
        let account: MountAccount?
        do { account = try MountAccount(store) } catch { throw fail("\(error)") }
        let store = account?.store ?? self.store
        let configuration: DaemonConfiguration
        let program: ProviderProgram
        do { configuration = try makeConfiguration(store, account) } catch { throw fail("\(error)", 64) }
        do { program = try ProviderProgram(store: store, mountPoint: configuration.mountPoint) } catch {
            throw fail("\(error)")
        }
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

    /// Everything that can be said to be wrong without looking at the store is said here.
    private func makeConfiguration(_ store: String, _ account: MountAccount?) throws -> DaemonConfiguration {
        let settings = account?.settings
        guard let mountpoint = mountpoint ?? settings?.mountpoint else {
            throw DaemonError("say where to mount \(self.store): an empty directory")
        }
        for path in [mountpoint] + [stateDir].compactMap({ $0 }) where ByteText.shown(path) != path {
            throw DaemonError("\(path): its name is not UTF-8, and must be for a mount point or a state directory")
        }
        var configuration = DaemonConfiguration(
            store: store, mountPoint: absolute(mountpoint), workingDirectory: FileManager.default.currentDirectoryPath)
        configuration.stateDirectory = stateDir.map(absolute)
        configuration.account = account.map { DaemonAccount($0.name, $0.settings) }
        if let domain = domain ?? account?.domain { try configuration.setDomain(domain) }
        let readOnly = readOnly || settings?.isReadOnly == true
        // The command line's word goes before that of config.toml.
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
            throw DaemonError("--log-level \(logLevel): not a level; write one of \(Self.levels)")
        }
        configuration.logLevel = level
        configuration.takeTuning(from: ProcessInfo.processInfo.environment)
        return configuration
    }

    private func absolute(_ path: String) -> String {
        let full = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        // However many slashes: the name before them counts.
        return "/" + full.split(separator: "/").joined(separator: "/")
    }
}

/// A password that stands in the command line can be read by every user of the machine (ps): it is taken out of there,
/// for as long as the command still waits.
enum CommandLineSecrets {
    static func hide(in store: String) {
        let shown = StoreLocation.shown(store)
        guard shown != store else { return }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index], strcmp(argument, store) == 0 else { continue }
            let length = strlen(argument)
            memset(argument, 0, length)
            // It may have become longer nowhere: things are only left out.
            _ = shown.withCString { memcpy(argument, $0, min(strlen($0), length)) }
        }
    }
}
