package import FileProvider
package import QueryLanguage
package import UniformTypes
import ItemCatalog
import Trees

extension StoreSearch {
    /// What a store is to be asked for, so that its answer has all that a predicate finds in folders that nobody has
    /// looked into, and as little else as may be.
    ///
    /// - Returns: nil: nothing there can match, or the predicate has no condition that a store could search by.
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
                // (Of folders, and of types without any, the name has to do.)
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

    /// More are no restriction worth the name.
    private static let mostExtensions = 100

    /// What is in every name that matches, whatever the case. (To a store, an accent makes another letter.)
    private static func parts(_ match: QueryPredicate.TextMatch) -> [String] {
        switch match {
        case .contains(let text), .equals(let text), .begins(let text), .ends(let text):
            return text.isEmpty ? [] : [text]
        case .matches(let pattern):
            // Behind a bracket, or a backslash, nothing is certain.
            return pattern.prefix { $0 != "[" && $0 != "\\" }.split { $0 == "*" || $0 == "?" }.map(String.init)
        }
    }
}
