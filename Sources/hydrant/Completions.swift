import ArgumentParser
import ControlAPI

extension CompletionKind {
    /// The mount points of Hydrant's mounts.
    static let mountPoints = CompletionKind.custom { _, _, _ in
        MountTable.ownDomains().map(\.mountPoint)
    }
}
