import Locking

/// Items of the provider's that are not shown where it has them, because something else has the name here and makes way
/// only later. Which they are is in the catalog; this saves looking through all of it for them again and again.
package final class WaitingItems: Sendable {
    package init() {}

    private let known = AdaptiveMutex<Set<ItemID>?>(nil)
    /// So many are looked at at once.
    private static let most = 100

    func add(_ id: ItemID) { known.withLock { _ = $0?.insert(id) } }
    func remove(_ id: ItemID) { known.withLock { _ = $0?.remove(id) } }

    /// Some of them. `find` is asked once.
    func some(_ find: () throws -> [ItemID]) rethrows -> [ItemID] {
        if let known = known.withLock({ $0 }) { return Array(known.prefix(Self.most)) }
        let found = Set(try find())
        known.withLock { $0 = found }
        return Array(found.prefix(Self.most))
    }
}
