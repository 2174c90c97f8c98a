import Locking

/// Folders that were enumerated and must be listed again: the kernel may know some of their names. Of all other folders
/// that are not enumerated the kernel knows no names. Kernel caches end with this process.
package final class ReopenedFolders: Sendable {
    package init() {}

    private let folders = AdaptiveMutex<Set<InodeID>>([])

    func add(_ folder: InodeID) { folders.withLock { _ = $0.insert(folder) } }
    func contains(_ folder: InodeID) -> Bool { folders.withLock { $0.contains(folder) } }
}
