import FileProvider
import Synchronization

/// The place of an item: its folder and its name.
struct Place: Hashable, Sendable {
    var parent: ItemIdentifier
    var name: Filename
}

/// The places of items that this provider has just listed, made or moved, which the catalog does not know yet.
///
/// Other items are where the catalog has them, or else where their identifiers say.
final class Places: Sendable {
    private struct State {
        var places: [ItemIdentifier: Place] = [:]
        var holders: [Place: ItemIdentifier] = [:]
        /// The targets of moves whose answer was lost.
        var attempts: [ItemIdentifier: Place] = [:]
        /// In order of arrival.
        var order: [ItemIdentifier] = []
    }
    private let state = Mutex(State())
    /// By the time that so many others have arrived, the catalog knows the place.
    private static let most = 50_000

    func place(of identifier: ItemIdentifier) -> Place? { state.withLock { $0.places[identifier] } }

    func holder(of place: Place) -> ItemIdentifier? { state.withLock { $0.holders[place] } }

    /// The items known to be in a folder, by name.
    func holders(in folder: ItemIdentifier, of names: some Sequence<Filename>) -> [Filename: ItemIdentifier] {
        state.withLock { state in
            if state.holders.isEmpty { return [:] }
            return names.reduce(into: [:]) { $0[$1] = state.holders[Place(parent: folder, name: $1)] }
        }
    }

    func put(_ identifier: ItemIdentifier, at place: Place) { put([(identifier, place)]) }

    func put(_ all: [(identifier: ItemIdentifier, place: Place)]) {
        state.withLock { state in
            for (identifier, place) in all {
                if let old = state.places.updateValue(place, forKey: identifier) {
                    if old != place, state.holders[old] == identifier { state.holders[old] = nil }
                } else {
                    state.order.append(identifier)
                }
                if let before = state.holders.updateValue(identifier, forKey: place), before != identifier {
                    // The item that was there is elsewhere; the listing of its new folder tells.
                    state.places[before] = nil
                }
            }
            guard state.order.count > Self.most else { return }
            let old = state.order.prefix(Self.most / 2)
            for identifier in old {
                if let place = state.places.removeValue(forKey: identifier), state.holders[place] == identifier {
                    state.holders[place] = nil
                }
            }
            state.order.removeFirst(old.count)
        }
    }

    func remove(_ identifier: ItemIdentifier) {
        state.withLock { state in
            guard let place = state.places.removeValue(forKey: identifier) else { return }
            if state.holders[place] == identifier { state.holders[place] = nil }
        }
    }

    // MARK: Moves whose answer was lost

    func attempt(_ identifier: ItemIdentifier, _ place: Place) { state.withLock { $0.attempts[identifier] = place } }

    func attempted(_ identifier: ItemIdentifier) -> Place? { state.withLock { $0.attempts[identifier] } }

    func endAttempt(_ identifier: ItemIdentifier) { state.withLock { $0.attempts[identifier] = nil } }
}
