import Locking

/// Folders whose listing the kernel keeps.
///
/// Where memory is short the kernel forgets documents, but keeps the listings that it has: a program that lists a
/// folder has the names at once, and each document is looked up in a request of its own. If the folder is listed anew,
/// all documents come with the listing. So when many documents have been forgotten, the kernel is told to forget the
/// listings as well.
final class KeptListings: Sendable {
    private struct State {
        var folders: Set<NodeID> = []
        /// Documents and folders, since the kernel was last told to forget listings.
        var forgotten = 0
    }
    private let state = AdaptiveMutex(State())
    /// Looking up fewer documents one by one takes only some milliseconds.
    private static let many = 256

    /// The kernel asks for a folder's listing.
    func listed(_ folder: NodeID) { state.withLock { _ = $0.folders.insert(folder) } }

    /// - Returns: the folders whose listing the kernel is to forget now.
    func forgot(_ id: NodeID) -> Set<NodeID> {
        state.withLock { state in
            state.folders.remove(id)
            state.forgotten += 1
            guard state.forgotten >= Self.many else { return [] }
            state.forgotten = 0
            defer { state.folders = [] }
            return state.folders
        }
    }
}
