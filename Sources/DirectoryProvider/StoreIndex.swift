import FileProvider
import Synchronization

/// The last known place of each item: identifier → folder and name. A hint, checked at each use, and only in memory, as
/// a walk of the store can rebuild it.
final class StoreIndex: Sendable {
    struct Place: Equatable, Sendable {
        var parent: ItemIdentifier
        var name: [UInt8]
    }

    private let places = Mutex(IdentifierTable<Place>())

    subscript(identifier: ItemIdentifier) -> Place? { places.withLock { $0[identifier] } }

    func note(_ identifier: ItemIdentifier, in parent: ItemIdentifier, as name: [UInt8]) {
        places.withLock { $0[identifier] = Place(parent: parent, name: name) }
    }

    func forget(_ identifier: ItemIdentifier) {
        places.withLock { $0[identifier] = nil }
    }
}
