/// Which documents and folders a query finds: a condition, or several that are joined.
///
/// As a value in Swift it is built from its cases; ``init(text:types:now:calendar:)`` makes one from what a
/// person types.
///
/// Source: Apple, `NSPredicate` as `NSMetadataQuery` takes it.
public indirect enum QueryPredicate: Sendable, Hashable, Codable {
    /// Every document, link and folder.
    case everything
    /// Each of these holds; with none of them, everything.
    case all([QueryPredicate])
    /// At least one of these holds; with none of them, nothing.
    case any([QueryPredicate])
    /// This does not hold.
    case not(QueryPredicate)

    /// The item's name, without the folders.
    case name(TextMatch)
    /// The item's path, relative to its domain's mount point.
    case path(TextMatch)
    /// The item's type, as its name tells it, is this one or conforms to it: a uniform type identifier.
    case type(String)
    /// Of a document, in bytes. Folders and links match no size.
    case size(Comparison, Int64)
    /// In seconds since 1970.
    case date(DateAttribute, Comparison, Double)
    /// The name of the user who owns it on this machine, or the number of one that has no name.
    case owner(String)
    /// How it stands with this machine and its store.
    case state(ItemCondition)
    /// One of its tags is this one (without regard to case); tags are those of freedesktop's `user.xdg.tags`.
    case tag(String)
    /// The text of the document contains all of these words. Only documents that are on this machine and were indexed
    /// (`hydrant index on`) can match.
    case text(String)

    /// How a text is compared: always without regard to case, to accents, and to how they are encoded.
    public enum TextMatch: Sendable, Hashable, Codable {
        /// It is a part of the text.
        case contains(String)
        /// It is the whole text.
        case equals(String)
        /// The text begins with it.
        case begins(String)
        /// The text ends with it.
        case ends(String)
        /// A pattern of the shell: `*`, `?` and `[…]` (glob(7)); `*` matches `/` as well.
        case matches(String)
    }

    /// How an item's value stands to the one that is asked for.
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

    /// Which date of an item.
    public enum DateAttribute: String, Sendable, Hashable, Codable, CaseIterable {
        /// The last change of the contents.
        case modified
        /// When it was made.
        case created
        /// The last time that a program read it here.
        case accessed
    }

    /// How an item stands with this machine and with its store. More than one can hold.
    public enum ItemCondition: String, Sendable, Hashable, Codable, CaseIterable {
        /// None of the document's bytes are here; of a folder: nobody has looked into it.
        case placeholder
        /// Some of the bytes are here.
        case partial
        /// All of them are.
        case downloaded
        /// Has changes that the store has not confirmed.
        case uploading
        /// The last attempt to send or to bring it failed.
        case error
        /// There is another version of it, which somebody has to choose from.
        case conflict
        /// Is kept on this machine, by itself or with a folder that it is in.
        case pinned
        /// Never goes to the store.
        case excluded
        /// Only the store's own search has found it: it lies in a folder that nobody has looked into.
        case unlisted
    }
}

extension QueryPredicate {
    /// How many conditions a predicate may have, joined ones counted; and how deep they may lie in each other.
    public static let mostConditions = 1_000
    /// See ``mostConditions``.
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

    /// Whether the predicate, or one that it is made of, is like this.
    package func contains(where isWanted: (QueryPredicate) -> Bool) -> Bool {
        if isWanted(self) { return true }
        return switch self {
        case .all(let parts), .any(let parts): parts.contains { $0.contains(where: isWanted) }
        case .not(let part): part.contains(where: isWanted)
        default: false
        }
    }
}
