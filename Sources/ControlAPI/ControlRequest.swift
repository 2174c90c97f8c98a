/// What the command asks of the daemon.
///
/// Paths are relative to the mount point, without a leading slash; the mount point itself is the empty
/// path.
public enum ControlRequest: Codable, Sendable, Equatable {
    /// How the named items are; answered with ``ControlResponse/items(_:)`` in the order of `paths`. With
    /// no paths: the domain, and every item that is modified or in error, answered with
    /// ``ControlResponse/domain(_:items:)``.
    case status(paths: [PathBytes])
    /// Drop the bytes of these documents, and of all in these folders, from this machine; answered with
    /// ``ControlResponse/outcomes(_:)``.
    case evict(paths: [PathBytes])
    /// Bring the bytes of these documents, and of all in these folders, to this machine; answered with
    /// ``ControlResponse/outcomes(_:)`` when they are all here or have failed.
    case download(paths: [PathBytes])
    /// Send what is pending now, not after its settle time, and wait until it is done, at most
    /// `timeoutSeconds` (nil: for ever); answered with ``ControlResponse/synced(pending:)``.
    case sync(timeoutSeconds: Double?)
    /// The mount is about to go: answered with ``ControlResponse/synced(pending:)``, what is pending.
    case prepareUnmount
    /// Is somebody there? Answered with ``ControlResponse/pong(pid:)``.
    case ping
}
