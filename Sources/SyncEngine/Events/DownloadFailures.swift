import Locking
package import Trees

/// Why the last download of a document failed, until one succeeds; shown by `hydrant status`. In memory only.
package final class DownloadFailures: Sendable {
    private static let most = 10_000
    private let lines = AdaptiveMutex<[InodeID: String]>([:])

    package func last(of inode: InodeID) -> String? { lines.withLock { $0[inode] } }

    func failed(_ inode: InodeID, _ line: String) {
        lines.withLock { lines in
            // Drop any entry: all of them will soon be out of date.
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
