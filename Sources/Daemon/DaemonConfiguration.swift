package import Logging
package import SyncEngine

/// What a daemon is to mount, and how.
package struct DaemonConfiguration: Sendable {
    /// `SCHEME:REST`, as the user gave it.
    package var store: String
    /// Absolute.
    package var mountPoint: String
    /// nil: `$XDG_DATA_HOME/hydrant/domains/NAME`.
    package var stateDirectory: String?
    /// Further options of the mount (`-o`).
    package var mountOptions: [String] = []
    package var times = SyncTimes()
    package var logLevel = Logger.Level.info
    /// Whether downloaded documents may be read and written past the daemon, where the kernel lets us.
    package var passthrough = true

    package init(store: String, mountPoint: String) {
        self.store = store
        self.mountPoint = mountPoint
    }

    /// Times (in seconds) and switches for tests, and for those who know what they do.
    package mutating func takeTuning(from environment: [String: String]) {
        func seconds(_ name: String, _ target: inout Double) {
            if let value = environment[name].flatMap(Double.init), value >= 0 { target = value }
        }
        seconds("HYDRANT_SETTLE", &times.settle)
        seconds("HYDRANT_SETTLE_AFTER_SYNC", &times.settleAfterSync)
        seconds("HYDRANT_READ_TIMEOUT", &times.readTimeout)
        seconds("HYDRANT_STOP_PROVIDING", &times.stopProviding)
        if environment["HYDRANT_PASSTHROUGH"] == "0" { passthrough = false }
    }
}
