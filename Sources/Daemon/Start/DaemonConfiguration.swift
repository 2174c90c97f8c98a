package import Logging
import Surroundings
package import SyncEngine
package import Trees

/// Of Hydrant.
package enum Release {
    package static let version = "0.1.0"
}

/// What a daemon is to mount, and how. The command makes it and hands it over (``DaemonHandover``).
package struct DaemonConfiguration: Sendable, Codable {
    /// Of the fields below: raised in a release in which they are others than in the one before.
    package static let currentVersion = 6
    package private(set) var version = DaemonConfiguration.currentVersion

    /// `SCHEME:REST`, as the user gave it. May hold a password.
    package var store: String
    /// Absolute.
    package var mountPoint: String
    /// The user's, absolute: where relative paths start.
    package var workingDirectory: String
    /// nil: `$XDG_DATA_HOME/hydrant/domains/DOMAIN`.
    package var stateDirectory: String?
    /// What the user calls the domain; nil: a name made of the store's.
    package var domain: String?
    /// How to sign in, for stores with accounts.
    package var account: DaemonAccount?
    /// Programs may change nothing, and nothing is sent.
    package var isReadOnly = false
    /// Further options of the mount (`-o`).
    package var mountOptions: [String] = []
    /// Who owns what the store names no owner of; nil: the daemon's own user and group.
    package var uid: UInt32?
    package var gid: UInt32?
    /// The permission bits that items do not get for which the store has no mode.
    package var umask: UInt32?
    package var cache = CacheLimits(minimumFree: .usual)
    /// In bytes a second, for all transfers together; nil: no limit.
    package var downloadLimit: Int64?
    package var uploadLimit: Int64?
    /// Names that stay on this machine, as fnmatch(3) has them.
    package var exclusions = Exclusions()
    /// Which programs may download, besides what the domain remembers and what is built in.
    package var downloadRules: [PolicyRule] = []
    /// Whether the user's cache of thumbnails gets pictures, where the domain remembers nothing else.
    package var thumbnails = true
    /// Which deletions in the store wait for a person.
    package var hold = DeletionHold()
    package var times = SyncTimes()
    package var logLevel = Logger.Level.info
    /// What standard error is connected to, of a daemon in the background; nil: it is something else.
    package var logFile: String?
    /// What tells this boot of the machine from others; nil: as the kernel says.
    /// In seconds, for a presenter to answer (``Arbiter``).
    package var presenterPatience = 5.0
    package var boot: String?
    /// Whether downloaded documents may be read and written past the daemon, where the kernel lets us.
    package var passthrough = true
    /// The hydrant-passthrough that makes it possible for an ordinary user; nil: it is not installed.
    package var passthroughHelper = PassthroughProgram.find()

    package init(store: String, mountPoint: String, workingDirectory: String) {
        self.store = store
        self.mountPoint = mountPoint
        self.workingDirectory = workingDirectory
    }

    /// What stays on this machine.
    package mutating func exclude(_ patterns: [String], besidesDefaults: Bool) throws(DaemonError) {
        if let bad = patterns.first(where: { $0.isEmpty || $0.contains("/") }) {
            throw DaemonError("--exclude \(bad): give a pattern for one name, without a slash")
        }
        exclusions = Exclusions(patterns: (besidesDefaults ? Exclusions.defaults : []) + patterns)
    }

    /// Of `config.toml`.
    package mutating func setDownloads(allow: [String], deny: [String], ask: [String]) throws(DaemonError) {
        let rules =
            allow.map { PolicyRule($0, .allow) } + deny.map { PolicyRule($0, .deny) }
            + ask.map { PolicyRule($0, .ask) }
        if let bad = rules.first(where: { !PolicyRule.isPossible($0.program) }) {
            throw DaemonError("downloads of “\(bad.program)”: give a program's name, without a folder")
        }
        downloadRules = rules
    }

    /// `--hold-deletions`: a share in percent.
    package mutating func setHold(_ text: String) throws(DaemonError) {
        let number = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(number), (0...100).contains(percent) else {
            throw DaemonError("--hold-deletions \(text): not a share; write a number from 0 to 100 (100: never)")
        }
        hold.percent = percent
    }

    /// Times (in seconds) and switches for tests, and for those who know what they do.
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
        // After another boot what was never synced is not trusted: so a power loss can be played.
        if let boot = environment["HYDRANT_BOOT_ID"], !boot.isEmpty { self.boot = boot }
        if environment["HYDRANT_PASSTHROUGH"] == "0" { passthrough = false }
        if let path = environment["HYDRANT_PASSTHROUGH_HELPER"] { passthroughHelper = path.isEmpty ? nil : path }
    }
}
