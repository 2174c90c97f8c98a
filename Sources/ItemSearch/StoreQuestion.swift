package import FileProvider
import ItemCatalog
package import QueryLanguage
import Trees
package import UniformTypes

extension StoreSearch {
    /// The question for a store, so that its answer has all matches in unlisted folders, and little else.
    ///
    /// - Returns: nil: nothing there can match, or the predicate has no condition by which a store could search.
    package init?(_ predicate: QueryPredicate, types: UniformTypeTable, limit: Int) {
        let conditions = SearchPlan.conjuncts(predicate)
        self.init(limit: limit)
        guard let bounds = SearchBounds(conditions, owner: SearchMatcher.userNumber) else { return nil }
        size = bounds.size
        let seconds = { (nanoseconds: Int64) in Int64((Double(nanoseconds) / 1e9).rounded(.down)) }
        if bounds.modified != .min ... .max {
            modified = seconds(bounds.modified.lowerBound)...seconds(bounds.modified.upperBound)
        }
        for condition in conditions {
            switch condition {
            case .any([]), .text, .tag: return nil
            case .state(let state) where ![.placeholder, .pinned, .unlisted].contains(state): return nil
            case .name(let match): nameParts += Self.parts(match)
            case .type(let identifier):
                // (Folders, and types without extensions, are searched by name only.)
                let extensions = types.filenameExtensions(conformingTo: UniformType(identifier))
                if filenameExtensions.isEmpty || extensions.count < filenameExtensions.count {
                    filenameExtensions = extensions
                }
            default: break
            }
        }
        if filenameExtensions.count > Self.mostExtensions { filenameExtensions = [] }
        guard hasConditions else { return nil }
    }

    /// More extensions would hardly restrict the search.
    private static let mostExtensions = 100

    /// Texts that every matching name has, whatever the case. (For a store, an accented letter is another letter.)
    private static func parts(_ match: QueryPredicate.TextMatch) -> [String] {
        switch match {
        case .contains(let text), .equals(let text), .begins(let text), .ends(let text):
            return text.isEmpty ? [] : [text]
        case .matches(let pattern):
            // The text after a bracket or a backslash is uncertain.
            return pattern.prefix { $0 != "[" && $0 != "\\" }.split { $0 == "*" || $0 == "?" }.map(String.init)
        }
    }
}
