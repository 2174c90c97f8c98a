import ArgumentParser
import ControlAPI

extension CompletionKind {
    /// Where something of ours is mounted now.
    static let mountPoints = CompletionKind.custom { _, _, _ in
        MountTable.entries().filter { $0.fileSystem == MountTable.hydrantType }.map(\.mountPoint)
    }
}
