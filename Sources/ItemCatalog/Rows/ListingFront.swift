import FileProvider
import Locking
import Trees

/// Numbers for names that programs make, before all other names in a folder's listing. Otherwise a program that lists a
/// folder and makes a file for each entry would reach its own files and never come to the end. Names from the store are
/// put behind all others: no program waits for those to end.
final class ListingFront: Sendable {
    /// The last number given out. It only falls, even when its name is removed: programs that list the folder are
    /// already past this number.
    private let last = AdaptiveMutex<Int64?>(nil)

    var isKnown: Bool { last.withLock { $0 != nil } }

    /// - Parameter lowest: the lowest number in use.
    func begin(below lowest: Int64) { last.withLock { $0 = min($0 ?? 1, lowest, 1) } }

    /// - Returns: nil when there are no more numbers (after a billion files).
    func next() -> Int64? {
        last.withLock { last in
            guard let next = last.map({ $0 - 1 }), next > -FolderEntry.origin else { return nil }
            last = next
            return next
        }
    }
}
