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
}
