import Locking

/// Folders that were listed, and are to be listed anew: of their names the kernel may know something. Of all others that
/// have not been listed it knows nothing. (What it knows ends with this process.)
package final class ReopenedFolders: Sendable {
    package init() {}

    private let folders = AdaptiveMutex<Set<InodeID>>([])

    func add(_ folder: InodeID) { folders.withLock { _ = $0.insert(folder) } }
    func contains(_ folder: InodeID) -> Bool { folders.withLock { $0.contains(folder) } }
}
