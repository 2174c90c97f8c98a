import FileProvider
import Locking
import Trees

/// Where names that programs make stand in a folder's listing: before all others. A program that lists a folder and makes
/// something for each entry would otherwise come to what it has made, and never to the end. (What the store brings stands
/// behind all others: no program waits for that to end.)
final class ListingFront: Sendable {
    /// The number that was given out last. It only ever falls, also when what has it is gone: whoever lists a folder is
    /// past it.
    private let last = AdaptiveMutex<Int64?>(nil)

    var isKnown: Bool { last.withLock { $0 != nil } }

    /// - Parameter lowest: the lowest number there is.
    func begin(below lowest: Int64) { last.withLock { $0 = min($0 ?? 1, lowest, 1) } }

    /// - Returns: nil: there are no more (after a billion files).
    func next() -> Int64? {
        last.withLock { last in
            guard let next = last.map({ $0 - 1 }), next > -FolderEntry.origin else { return nil }
            last = next
            return next
        }
    }
}
