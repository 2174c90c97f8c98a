import ArgumentParser
import ControlAPI

extension CompletionKind {
    /// Where something of ours is mounted now.
    static let mountPoints = CompletionKind.custom { _, _, _ in
        MountTable.ownDomains().map(\.mountPoint)
    }
}
