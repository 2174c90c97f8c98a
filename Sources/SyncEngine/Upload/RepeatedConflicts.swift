import FileProvider
import Locking
import Trees

/// Contents that became a conflicted copy, and then a copy of that, and so on: a store that says of every name that
/// something else has it would make copies without end.
final class RepeatedConflicts: Sendable {
    private struct Copies {
        var count: Int
        /// Of the last one. Under another name, which somebody has given it, it is a new start.
        var name: Filename
    }
    private let copies = AdaptiveMutex<[InodeID: Copies]>([:])
    /// In a row.
    static let most = 3

    /// - Throws: ``FileProviderError/Code/invalidName`` when there have been enough.
    func check(_ inode: InodeID?, named name: Filename?, at path: String) throws(FileProviderError) {
        guard let inode, let name else { return }
        let isEnough = copies.withLock { $0[inode].map { $0.name == name && $0.count >= Self.most } ?? false }
        guard isEnough else { return }
        throw FileProviderError(
            .invalidName,
            "\(path): the store has something else under each name that it was given, \(Self.most) times in a row; give it "
                + "another name")
    }

    /// It has become one more.
    func add(_ inode: InodeID?, from name: Filename?, to copy: Filename) {
        guard let inode else { return }
        copies.withLock { copies in
            let before = copies[inode].flatMap { $0.name == name ? $0.count : nil } ?? 0
            copies[inode] = Copies(count: before + 1, name: copy)
        }
    }

    /// The store has taken it.
    func ended(_ inode: InodeID?) {
        guard let inode else { return }
        copies.withLock { $0[inode] = nil }
    }
}
