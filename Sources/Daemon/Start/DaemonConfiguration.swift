package import Logging
import Surroundings
package import SyncEngine
package import Trees

/// This release of Hydrant.
package enum Release {
    package static let version = "0.1.0"
}

/// A program that serves a store, in the provider protocol, to the daemon.
package struct ProtocolProgram: Sendable, Codable {
    /// An absolute path.
    package var path: String
    package var locations: StoreLocation.Kind

    package init(path: String, locations: StoreLocation.Kind) {
        self.path = path
        self.locations = locations
    }
}

/// The store to mount and the options of the mount. The command creates the configuration and passes it to the daemon
/// (``DaemonHandover``).
package struct DaemonConfiguration: Sendable, Codable {
    /// The version of the fields below; raised in each release that changes them.
    package static let currentVersion = 7
    package private(set) var version = DaemonConfiguration.currentVersion

    /// `SCHEME:REST` as the user wrote it. May contain a password.
    package var store: String
    /// The program that serves the store in the provider protocol; nil: the daemon itself has the provider.
    package var providerProgram: ProtocolProgram?
    /// An absolute path.
    package var mountPoint: String
    /// The user's working directory, absolute; relative paths start here.
    package var workingDirectory: String
    /// nil: `$XDG_DATA_HOME/hydrant/domains/DOMAIN`.
    package var stateDirectory: String?
    /// The user's name for the domain; nil: a name derived from the store's.
    package var domain: String?
    /// The account to sign in with, for stores with accounts.
    package var account: DaemonAccount?
    /// Programs may not change anything, and nothing is uploaded.
    package var isReadOnly = false
    /// Further options of the mount (`-o`).
    package var mountOptions: [String] = []
    /// Owner of the items where the store keeps none; nil: the daemon's own user and group.
    package var uid: UInt32?
    package var gid: UInt32?
    /// Permission bits to leave out where the store keeps no mode.
    package var umask: UInt32?
    package var cache = CacheLimits(minimumFree: .usual)
    /// Bytes a second for all transfers together; nil: no limit.
    package var downloadLimit: Int64?
    package var uploadLimit: Int64?
    /// Patterns (fnmatch(3)) of names that stay on this machine.
    package var exclusions = Exclusions()
    /// Rules for downloads by programs, besides the domain's own and the built-in ones.
    package var downloadRules: [PolicyRule] = []
    /// Whether to put pictures into the user's cache of thumbnails, where the domain has no setting of its own.
    package var thumbnails = true
    /// Which deletions in the store wait for the user's decision.
    package var hold = DeletionHold()
    package var times = SyncTimes()
    package var logLevel = Logger.Level.info
    /// The log file that standard error of a background daemon leads to; nil: it leads elsewhere.
    package var logFile: String?
    /// Seconds that a presenter has to answer (``Arbiter``).
    package var presenterPatience = 5.0
    /// The identifier of this boot of the machine; nil: the kernel's.
    package var boot: String?
    /// Whether programs may read and write downloaded documents past the daemon, if the kernel supports it.
    package var passthrough = true
    /// The path of hydrant-passthrough, which makes passthrough possible for ordinary users; nil: it is not installed.
    package var passthroughHelper = PassthroughProgram.find()
    /// Requests come over io_uring where the kernel and the administrator allow it.
    package var ring = true

    package init(store: String, mountPoint: String, workingDirectory: String) {
        self.store = store
        self.mountPoint = mountPoint
        self.workingDirectory = workingDirectory
    }

    /// Adds patterns of names that stay on this machine.
    package mutating func exclude(_ patterns: [String], besidesDefaults: Bool) throws(DaemonError) {
        if let bad = patterns.first(where: { $0.isEmpty || $0.contains("/") }) {
            throw DaemonError("--exclude \(bad): give a pattern for one name, without a slash")
        }
        exclusions = Exclusions(patterns: (besidesDefaults ? Exclusions.defaults : []) + patterns)
    }

    /// Takes the rules of `config.toml`.
    package mutating func setDownloads(allow: [String], deny: [String], ask: [String]) throws(DaemonError) {
        let rules =
            allow.map { PolicyRule($0, .allow) } + deny.map { PolicyRule($0, .deny) }
            + ask.map { PolicyRule($0, .ask) }
        if let bad = rules.first(where: { !PolicyRule.isPossible($0.program) }) {
            throw DaemonError("downloads of “\(bad.program)”: give a program's name, without a folder")
        }
        downloadRules = rules
    }

    /// `--hold-deletions`: a percentage.
    package mutating func setHold(_ text: String) throws(DaemonError) {
        let number = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(number), (0...100).contains(percent) else {
            throw DaemonError("--hold-deletions \(text): not a share; write a number from 0 to 100 (100: never)")
        }
        hold.percent = percent
    }

    /// Reads times (in seconds) and switches for tests and experts.
    package mutating func takeTuning(from environment: [String: String]) {
        func seconds(_ name: String, _ target: inout Double) {
            if let value = environment[name].flatMap(Double.init), WaitingTime.isPossible(value) { target = value }
        }
        seconds("HYDRANT_SETTLE", &times.settle)
        seconds("HYDRANT_SETTLE_AFTER_SYNC", &times.settleAfterSync)
        seconds("HYDRANT_READ_TIMEOUT", &times.readTimeout)
        seconds("HYDRANT_STOP_PROVIDING", &times.stopProviding)
        seconds("HYDRANT_POLL", &times.poll)
        seconds("HYDRANT_PRESENTER_PATIENCE", &presenterPatience)
        // Another boot ID makes unsynced data untrusted: tests simulate a power loss this way.
        if let boot = environment["HYDRANT_BOOT_ID"], !boot.isEmpty { self.boot = boot }
        if environment["HYDRANT_PASSTHROUGH"] == "0" { passthrough = false }
        if environment["HYDRANT_RING"] == "0" { ring = false }
        if let path = environment["HYDRANT_PASSTHROUGH_HELPER"] { passthroughHelper = path.isEmpty ? nil : path }
    }
}
