import Locking
import Trees

/// Which new documents programs copied from others within the mount (copy_file_range(2)). No more than a hint, and in
/// memory only: whether the bytes are still the same is found out when the copy is sent.
final class CopySources: Sendable {
    private let sources = AdaptiveMutex<[InodeID: InodeID]>([:])
    /// `cp -r` of a large folder is remembered whole; what is beyond is uploaded.
    private static let most = 100_000

    func note(_ copy: InodeID, from source: InodeID) {
        sources.withLock { sources in
            if sources.count < Self.most || sources[copy] != nil { sources[copy] = source }
        }
    }

    func source(of copy: InodeID) -> InodeID? { sources.withLock { $0[copy] } }

    func forget(_ copy: InodeID) { sources.withLock { $0[copy] = nil } }
}
