import Locking
package import Trees

/// Why the last download of a document failed, until one works: what `hydrant status` says of a read that failed.
/// In memory only.
package final class DownloadFailures: Sendable {
    private static let most = 10_000
    private let lines = AdaptiveMutex<[InodeID: String]>([:])

    package func last(of inode: InodeID) -> String? { lines.withLock { $0[inode] } }

    func failed(_ inode: InodeID, _ line: String) {
        lines.withLock { lines in
            // Any one: they are all about to be of no interest.
            if lines.count >= Self.most, lines[inode] == nil { _ = lines.popFirst() }
            lines[inode] = line
        }
    }

    func succeeded(_ inode: InodeID) {
        lines.withLock { lines in
            if !lines.isEmpty { lines[inode] = nil }
        }
    }
}
