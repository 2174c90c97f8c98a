package import ItemCatalog
package import QueryLanguage
import Trees

/// The way to the results of a query that looks at the fewest candidates. Each candidate is still compared with the
/// whole query.
package struct SearchPlan: Sendable, Equatable {
    package enum Way: Sendable, Equatable {
        /// Documents whose text has these words.
        case text(String)
        /// Names with all parts of one of these, through the index. Folded; long enough for the index.
        case index([[String]])
        /// Items that meet a condition which few items meet.
        case few(QueryPredicate.ItemCondition)
        /// Every name: most items are excluded by their names.
        case names
        /// Every inode within the bounds.
        case inodes(SearchBounds)
        /// All items in the folders of the search.
        case walk
        /// Nothing can match.
        case none
    }
    package var way: Way
    /// The conditions on names alone.
    package var onNames: [QueryPredicate]

    /// - Parameters:
    ///   - isScoped: whether only a part of the domain is searched.
    ///   - owner: the number of a user's name; nil: there is no such user.
    package init(_ predicate: QueryPredicate, isScoped: Bool, owner: (String) -> UInt32?) {
        let conditions = Self.conjuncts(predicate)
        onNames = conditions.filter(Self.isOnNames)
        let few = conditions.lazy.compactMap { condition -> QueryPredicate.ItemCondition? in
            guard case .state(let state) = condition else { return nil }
            return [.uploading, .conflict, .excluded].contains(state) ? state : nil
        }.first
        let text = conditions.lazy.compactMap { condition -> String? in
            guard case .text(let text) = condition else { return nil }
            return text
        }.first
        let parts = conditions.compactMap(Self.part)
        if conditions.contains(.any([])) {
            way = .none
        } else if let few {
            way = .few(few)
        } else if let text {
            way = .text(text)
        } else if !parts.isEmpty {
            way = .index([parts])
        } else if let either = conditions.lazy.compactMap(Self.alternatives).first {
            way = .index(either)
        } else if isScoped {
            way = .walk
        } else if let bounds = SearchBounds(conditions, owner: owner) {
            way = bounds.isBound || onNames.isEmpty ? .inodes(bounds) : .names
        } else {
            way = .none
        }
    }

    /// The conditions that must all hold.
    static func conjuncts(_ predicate: QueryPredicate) -> [QueryPredicate] {
        if case .all(let parts) = predicate { return parts.flatMap(conjuncts) }
        return predicate == .everything ? [] : [predicate]
    }

    private static let mostAlternatives = 32

    /// For a disjunction: the parts by which the index can find each alternative; nil: some alternative has none.
    private static func alternatives(_ condition: QueryPredicate) -> [[String]]? {
        guard case .any(let either) = condition, 1...mostAlternatives ~= either.count else { return nil }
        let parts = either.map { conjuncts($0).compactMap(part) }
        return parts.allSatisfy { !$0.isEmpty } ? parts : nil
    }

    /// Whether a name alone can tell that the condition does not hold.
    private static func isOnNames(_ condition: QueryPredicate) -> Bool {
        switch condition {
        case .name, .type: true
        case .any(let parts): parts.allSatisfy(isOnNames)
        default: false
        }
    }

    /// A text, folded, that every matching name has; nil: none that is long enough.
    private static func part(_ condition: QueryPredicate) -> String? {
        guard case .name(let match) = condition else { return nil }
        let part: String
        switch match {
        case .contains(let text), .equals(let text), .begins(let text), .ends(let text): part = FoldedText.fold(text)
        case .matches(let pattern):
            // The text after a bracket or a backslash is uncertain.
            let plain = FoldedText.fold(pattern).prefix { $0 != "[" && $0 != "\\" }
            part = plain.split { $0 == "*" || $0 == "?" }.map(String.init).max { $0.count < $1.count } ?? ""
        }
        return part.unicodeScalars.count >= NameIndex.shortest ? part : nil
    }
}

extension SearchBounds {
    /// The bounds that all conditions leave; nil: nothing.
    init?(_ conditions: [QueryPredicate], owner: (String) -> UInt32?) {
        self.init()
        for condition in conditions {
            switch condition {
            case .size(let comparison, let bytes):
                guard let range = Self.narrow(size ?? 0 ... .max, comparison, bytes) else { return nil }
                size = range
            case .date(let attribute, let comparison, let seconds):
                let path: WritableKeyPath<Self, ClosedRange<Int64>> =
                    switch attribute {
                    case .modified: \.modified
                    case .created: \.created
                    case .accessed: \.accessed
                    }
                // A little wider, as a fraction is not exact; each candidate is compared again.
                let nanoseconds = seconds * 1e9
                let moment = Int64(exactly: nanoseconds.rounded()) ?? (nanoseconds < 0 ? .min : .max)
                let low = moment.subtractingReportingOverflow(2_000)
                let high = moment.addingReportingOverflow(2_000)
                let range = self[keyPath: path]
                let narrowed: ClosedRange<Int64>?
                switch comparison {
                case .less, .lessOrEqual:
                    narrowed = Self.narrow(range, .lessOrEqual, high.overflow ? .max : high.partialValue)
                case .greater, .greaterOrEqual:
                    narrowed = Self.narrow(range, .greaterOrEqual, low.overflow ? .min : low.partialValue)
                case .equal:
                    narrowed = Self.narrow(range, .greaterOrEqual, low.overflow ? .min : low.partialValue)
                        .flatMap { Self.narrow($0, .lessOrEqual, high.overflow ? .max : high.partialValue) }
                }
                guard let narrowed else { return nil }
                self[keyPath: path] = narrowed
            case .owner(let name):
                guard let number = owner(name), uid == nil || uid == number else { return nil }
                uid = number
            default: break
            }
        }
    }

    private static func narrow(
        _ range: ClosedRange<Int64>, _ comparison: QueryPredicate.Comparison, _ bound: Int64
    ) -> ClosedRange<Int64>? {
        var (low, high) = (range.lowerBound, range.upperBound)
        switch comparison {
        case .less:
            guard bound > .min else { return nil }
            high = min(high, bound - 1)
        case .lessOrEqual: high = min(high, bound)
        case .equal: (low, high) = (max(low, bound), min(high, bound))
        case .greaterOrEqual: low = max(low, bound)
        case .greater:
            guard bound < .max else { return nil }
            low = max(low, bound + 1)
        }
        return low <= high ? low...high : nil
    }
}
