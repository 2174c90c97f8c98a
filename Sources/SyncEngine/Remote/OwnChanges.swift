import FileProvider
import ItemCatalog
import Locking
import Trees

/// The items that we are changing at the provider, or have changed since a question began: the answer may show them as
/// they were before, so that part is not taken.
final class OwnChanges: Sendable {
    private struct State {
        var sequence: UInt64 = 0
        var inFlight: [ItemIdentifier: Int] = [:]
        /// When an item was last changed; kept only while a question is open.
        var changed: [ItemIdentifier: UInt64] = [:]
        /// When an item was made that had no identifier before.
        var made: [ItemIdentifier: UInt64] = [:]
        var questions = 0
    }
    private let state = AdaptiveMutex(State())

    /// A step for this item begins at the provider.
    func begin(_ identifier: ItemIdentifier?) {
        guard let identifier else { return }
        state.withLock { $0.inFlight[identifier, default: 0] += 1 }
    }

    /// The step's outcome is in the catalog.
    func end(_ identifier: ItemIdentifier?) {
        guard let identifier else { return }
        state.withLock { state in
            state.sequence += 1
            if state.questions > 0 { state.changed[identifier] = state.sequence }
            let count = state.inFlight[identifier, default: 1] - 1
            state.inFlight[identifier] = count == 0 ? nil : count
        }
    }

    /// A step made this item, which had no identifier before; the step's outcome is not in the catalog yet.
    func made(_ identifier: ItemIdentifier) {
        state.withLock { state in
            state.sequence += 1
            if state.questions > 0 { state.made[identifier] = state.sequence }
        }
    }

    /// Splits an answer into certain items and half-made ones: those made from here since the question began, of which
    /// the reply said something else. The answer may have seen them half made, so each must be asked for separately.
    func withoutHalfMade(
        _ items: [Item], since moment: UInt64, _ reader: Catalog.Reader
    ) throws -> (certain: [Item], halfMade: Set<ItemIdentifier>) {
        let made = state.withLock { state in
            state.made.isEmpty ? [] : Set(state.made.filter { $0.value > moment }.keys)
        }
        if made.isEmpty { return (items, []) }
        let differing = try items.filter { item in
            try made.contains(item.identifier)
                && reader.item(identifiedBy: item.identifier)?.remoteVersion != item.version
        }
        let halfMade = Set(differing.map(\.identifier))
        return (items.filter { !halfMade.contains($0.identifier) }, halfMade)
    }

    /// A question to the provider begins.
    func ask() -> UInt64 {
        state.withLock { state in
            state.questions += 1
            return state.sequence
        }
    }

    /// The items of which an answer may be out of date, if its question began at `moment`.
    func since(_ moment: UInt64) -> Set<ItemIdentifier> {
        state.withLock { state in
            Set(state.inFlight.keys).union(state.changed.filter { $0.value > moment }.keys)
        }
    }

    /// Whether the store may have answered "no such item" because we were moving the item or a folder above it.
    func mayHide(_ identifier: ItemIdentifier, since moment: UInt64, _ reader: Catalog.Reader) throws -> Bool {
        let changed = since(moment)
        if changed.isEmpty { return false }
        if changed.contains(identifier) { return true }
        var next = try reader.item(identifiedBy: identifier)
        // No path is deeper (PATH_MAX).
        for _ in 0..<2_048 {
            guard let place = next?.remote ?? next?.base, place.parent != .root else { return false }
            next = try reader.item(place.parent)
            if let folder = next?.identifier, changed.contains(folder) { return true }
        }
        return false
    }

    /// The answer has been taken into the catalog.
    func answered() {
        state.withLock { state in
            state.questions -= 1
            if state.questions == 0 { (state.changed, state.made) = ([:], [:]) }
        }
    }
}
