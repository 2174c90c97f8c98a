import Locking
import Trees

/// New documents that programs copied from others within the mount (copy_file_range(2)). Only a hint, in memory: the
/// bytes are compared when the copy is sent.
final class CopySources: Sendable {
    private let sources = AdaptiveMutex<[InodeID: InodeID]>([:])
    /// Enough for `cp -r` of a large folder; further copies are uploaded.
    private static let most = 100_000

    func note(_ copy: InodeID, from source: InodeID) {
        sources.withLock { sources in
            if sources.count < Self.most || sources[copy] != nil { sources[copy] = source }
        }
    }

    func source(of copy: InodeID) -> InodeID? { sources.withLock { $0[copy] } }

    func forget(_ copy: InodeID) { sources.withLock { $0[copy] = nil } }
}
