import Locking

/// Items of the provider that are not shown where it has them, because another item has the name here and will leave it
/// later. The catalog knows them; this cache avoids searching all of it again and again.
package final class WaitingItems: Sendable {
    package init() {}

    private let known = AdaptiveMutex<Set<ItemID>?>(nil)
    /// At most this many items are checked at once.
    private static let most = 100

    func add(_ id: ItemID) { known.withLock { _ = $0?.insert(id) } }
    func remove(_ id: ItemID) { known.withLock { _ = $0?.remove(id) } }

    /// Some of these items. `find` is called once.
    func some(_ find: () throws -> [ItemID]) rethrows -> [ItemID] {
        if let known = known.withLock({ $0 }) { return Array(known.prefix(Self.most)) }
        let found = Set(try find())
        known.withLock { $0 = found }
        return Array(found.prefix(Self.most))
    }
}
