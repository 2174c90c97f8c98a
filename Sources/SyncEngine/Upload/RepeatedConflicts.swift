import FileProvider
import Locking
import Trees

/// Counts how often contents became a conflicted copy, then a copy of the copy, and so on: otherwise a store that has
/// other contents under every name would make us copy without end.
final class RepeatedConflicts: Sendable {
    private struct Copies {
        var count: Int
        /// The last copy's name. If a person renames the copy, the count starts again.
        var name: Filename
    }
    private let copies = AdaptiveMutex<[InodeID: Copies]>([:])
    /// The most copies in a row.
    static let most = 3

    /// - Throws: ``FileProviderError/Code/invalidName`` when there are as many copies.
    func check(_ inode: InodeID?, named name: Filename?, at path: String) throws(FileProviderError) {
        guard let inode, let name else { return }
        let isEnough = copies.withLock { $0[inode].map { $0.name == name && $0.count >= Self.most } ?? false }
        guard isEnough else { return }
        throw FileProviderError(
            .invalidName,
            "\(path): \(Self.most) conflicts in a row, because the store had another item under each name")
    }

    /// The contents became one more copy.
    func add(_ inode: InodeID?, from name: Filename?, to copy: Filename) {
        guard let inode else { return }
        copies.withLock { copies in
            let before = copies[inode].flatMap { $0.name == name ? $0.count : nil } ?? 0
            copies[inode] = Copies(count: before + 1, name: copy)
        }
    }

    /// The store has taken the contents.
    func ended(_ inode: InodeID?) {
        guard let inode else { return }
        copies.withLock { $0[inode] = nil }
    }
}
