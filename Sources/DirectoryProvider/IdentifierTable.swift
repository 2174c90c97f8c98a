import FileProvider

/// Values by item identifier. A dictionary of large values reserves room for up to 2.7 of them per value, and keeps
/// that room when values are removed. This one reserves room for references, and frees it when most values are gone.
struct IdentifierTable<Value: Sendable>: Sendable {
    private final class Kept: Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }
    private var kept: [ItemIdentifier: Kept] = [:]
    private static var few: Int { 4_096 }

    subscript(identifier: ItemIdentifier) -> Value? {
        get { kept[identifier]?.value }
        set {
            guard let newValue else { return remove(identifier) }
            kept[identifier] = Kept(newValue)
        }
    }

    var count: Int { kept.count }
    /// The number of values that there is room for.
    var capacity: Int { kept.capacity }

    private mutating func remove(_ identifier: ItemIdentifier) {
        kept[identifier] = nil
        if kept.capacity > Self.few, kept.count < kept.capacity / 8 {
            kept = Dictionary(uniqueKeysWithValues: kept.lazy.map { ($0.key, $0.value) })
        }
    }
}
