/// The condition of a query, or several joined conditions.
///
/// Swift code builds it from its cases; ``init(text:types:now:calendar:)`` makes one from the text that a person types.
///
/// Source: Apple, `NSPredicate` as `NSMetadataQuery` takes it.
public indirect enum QueryPredicate: Sendable, Hashable, Codable {
    /// Every document, link and folder.
    case everything
    /// All of these hold; of none, everything matches.
    case all([QueryPredicate])
    /// At least one of these holds; of none, nothing matches.
    case any([QueryPredicate])
    /// The condition does not hold.
    case not(QueryPredicate)

    /// The item's name, without the folders.
    case name(TextMatch)
    /// The item's path, relative to its domain's mount point.
    case path(TextMatch)
    /// The type that the item's name implies is this one or conforms to it: a uniform type identifier.
    case type(String)
    /// The size of a document, in bytes. Folders and links match no size.
    case size(Comparison, Int64)
    /// In seconds since 1970.
    case date(DateAttribute, Comparison, Double)
    /// The name of the item's owner on this machine, or the number if there is no name.
    case owner(String)
    /// The item's state.
    case state(ItemCondition)
    /// The item has this tag, ignoring case; tags are in freedesktop's `user.xdg.tags`.
    case tag(String)
    /// The text of the document contains all of these words. Only documents that are on this machine and were indexed
    /// (`hydrant index on`) can match.
    case text(String)

    /// A comparison of texts, which ignores case, accents, and their encoding.
    public enum TextMatch: Sendable, Hashable, Codable {
        /// The text contains the value.
        case contains(String)
        /// The text equals the value.
        case equals(String)
        /// The text begins with the value.
        case begins(String)
        /// The text ends with the value.
        case ends(String)
        /// A pattern of the shell: `*`, `?` and `[…]` (glob(7)); `*` matches `/` as well.
        case matches(String)
    }

    /// A comparison of an item's value with the wanted one.
    public enum Comparison: String, Sendable, Hashable, Codable, CaseIterable {
        case less, lessOrEqual, equal, greaterOrEqual, greater

        /// Whether `one` is on this side of `other`.
        public func holds<Value: Comparable>(_ one: Value, _ other: Value) -> Bool {
            switch self {
            case .less: one < other
            case .lessOrEqual: one <= other
            case .equal: one == other
            case .greaterOrEqual: one >= other
            case .greater: one > other
            }
        }
    }

    /// The dates of an item.
    public enum DateAttribute: String, Sendable, Hashable, Codable, CaseIterable {
        /// The last change of the contents.
        case modified
        /// The creation.
        case created
        /// The last read by a program here.
        case accessed
    }

    /// The states of an item. Several can hold at once.
    public enum ItemCondition: String, Sendable, Hashable, Codable, CaseIterable {
        /// None of the document's bytes are here; a folder that nobody has listed.
        case placeholder
        /// Some of the bytes are here.
        case partial
        /// All of the bytes are here.
        case downloaded
        /// Bytes of the document are on their way here.
        case downloading
        /// The item has changes that the store has not confirmed.
        case uploading
        /// The last upload or download failed.
        case error
        /// The document exists in two versions, between which somebody must choose.
        case conflict
        /// The item is kept on this machine, by itself or with a folder that it is in.
        case pinned
        /// The item is never sent to the store.
        case excluded
        /// Only the store's own search has found the item, in a folder that nobody has listed.
        case unlisted
    }
}

extension QueryPredicate {
    /// The most conditions in a predicate, joined ones counted.
    public static let mostConditions = 1_000
    /// The deepest nesting of conditions in a predicate.
    public static let deepest = 50

    /// Whether the predicate is within ``mostConditions`` and ``deepest``.
    public var isBounded: Bool {
        var left = Self.mostConditions
        return isBounded(&left, 0)
    }

    private func isBounded(_ left: inout Int, _ depth: Int) -> Bool {
        left -= 1
        guard left >= 0, depth <= Self.deepest else { return false }
        switch self {
        case .all(let parts), .any(let parts):
            for part in parts where !part.isBounded(&left, depth + 1) { return false }
            return true
        case .not(let part): return part.isBounded(&left, depth + 1)
        default: return true
        }
    }

    /// Whether the predicate, or one of its parts, satisfies a test.
    package func contains(where isWanted: (QueryPredicate) -> Bool) -> Bool {
        if isWanted(self) { return true }
        return switch self {
        case .all(let parts), .any(let parts): parts.contains { $0.contains(where: isWanted) }
        case .not(let part): part.contains(where: isWanted)
        default: false
        }
    }
}
