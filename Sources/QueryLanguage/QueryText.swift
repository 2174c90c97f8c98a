public import Foundation
public import UniformTypes

/// An error in a query's text.
public struct QueryTextError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For people: the error, and what to write instead.
    public let message: String
    /// See ``message``.
    public var description: String { message }
}

/// Queries as people type them:
///
/// ```
/// report  "two words"         the name contains the text
/// name:=a.txt  name:*.tex     the name equals the text; the name matches the pattern (glob)
/// path:2024/                  the path contains the text
/// kind:pdf  kind:image        an extension, a group, a MIME type (image/png) or a type (public.image)
/// size:>1M  size:1k..2M       bytes; k, M, G and T are powers of 1,024
/// modified:<7d  modified:2024-05  modified:>2024-05-01  created:today  accessed:>1y
/// owner:alice  state:placeholder  tag:urgent  text:budget
/// a b    a OR b    -a    NOT a    (a OR b) c
/// ```
extension QueryPredicate {
    /// The longest text, in bytes.
    public static let longestText = 10_000

    /// Parses a query's text; an empty text matches everything.
    ///
    /// - Parameters:
    ///   - types: the table for `kind:`.
    ///   - now: the moment that `<7d` and `today` refer to; a live query keeps it.
    ///   - calendar: the calendar for days and months.
    /// - Throws: ``QueryTextError``
    public init(
        text: String, types: UniformTypeTable = .system, now: Date = Date(), calendar: Calendar = .current
    ) throws(QueryTextError) {
        guard text.utf8.count <= Self.longestText else {
            throw QueryTextError(message: "the query is longer than \(Self.longestText) bytes")
        }
        var parser = QueryParser(
            tokens: try QueryToken.all(in: text)[...], terms: QueryTerms(types: types, now: now, calendar: calendar))
        self = try parser.whole()
        guard isBounded else {
            throw QueryTextError(
                message:
                    "the query has more than \(Self.mostConditions) conditions, or parentheses deeper than \(Self.deepest)"
            )
        }
    }
}

/// A token of a query's text.
enum QueryToken: Equatable {
    case open, close, or, and, not
    /// `key` is nil for a bare word. `isQuoted`: stars in the value are literal.
    case term(key: String?, value: String, isQuoted: Bool)

    static func all(in text: String) throws(QueryTextError) -> [QueryToken] {
        var tokens: [QueryToken] = []
        var rest = text[...]
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
            } else if first == "(" || first == ")" {
                tokens.append(first == "(" ? .open : .close)
                rest.removeFirst()
            } else if first == "-", let next = rest.dropFirst().first, !next.isWhitespace {
                tokens.append(.not)
                rest.removeFirst()
            } else {
                tokens.append(try word(&rest))
            }
        }
        return tokens
    }

    /// Reads up to the next space or parenthesis outside of quotation marks.
    private static func word(_ rest: inout Substring) throws(QueryTextError) -> QueryToken {
        var (key, value, isQuoted) = (String?.none, "", false)
        while let next = rest.first, !next.isWhitespace, next != "(", next != ")" {
            rest.removeFirst()
            if next == "\"" {
                guard let end = rest.firstIndex(of: "\"") else {
                    throw QueryTextError(message: "a quotation mark is missing behind “\(rest.prefix(40))”")
                }
                value += rest[..<end]
                rest = rest[rest.index(after: end)...]
                isQuoted = true
            } else if next == ":", key == nil, !isQuoted, !value.isEmpty {
                (key, value) = (value.lowercased(), "")
            } else {
                value.append(next)
            }
        }
        if key == nil, !isQuoted {
            switch value {
            case "OR": return .or
            case "AND": return .and
            case "NOT": return .not
            default: break
            }
        }
        return .term(key: key, value: value, isQuoted: isQuoted)
    }
}

private struct QueryParser {
    var tokens: ArraySlice<QueryToken>
    let terms: QueryTerms
    private var depth = 0

    init(tokens: ArraySlice<QueryToken>, terms: QueryTerms) {
        self.tokens = tokens
        self.terms = terms
    }

    mutating func whole() throws(QueryTextError) -> QueryPredicate {
        if tokens.isEmpty { return .everything }
        let predicate = try either()
        guard tokens.isEmpty else { throw QueryTextError(message: "there is a “)” without a “(”") }
        return predicate
    }

    private mutating func either() throws(QueryTextError) -> QueryPredicate {
        var parts = [try both()]
        while tokens.first == .or {
            tokens.removeFirst()
            parts.append(try both())
        }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func both() throws(QueryTextError) -> QueryPredicate {
        var parts = [try one()]
        while let next = tokens.first, next != .or, next != .close {
            if next == .and { tokens.removeFirst() }
            parts.append(try one())
        }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func one() throws(QueryTextError) -> QueryPredicate {
        depth += 1
        defer { depth -= 1 }
        guard depth <= QueryPredicate.deepest else {
            throw QueryTextError(message: "the query has parentheses deeper than \(QueryPredicate.deepest)")
        }
        switch tokens.popFirst() {
        case .not: return .not(try one())
        case .open:
            let inside = try either()
            guard tokens.popFirst() == .close else { throw QueryTextError(message: "a “)” is missing") }
            return inside
        case .term(let key, let value, let isQuoted): return try terms.predicate(key, value, isQuoted: isQuoted)
        case .close: throw QueryTextError(message: "there is nothing between “(” and “)”, or a “)” too many")
        case .or, .and: throw QueryTextError(message: "something is missing beside OR or AND")
        case nil: throw QueryTextError(message: "something is missing at the end of the query")
        }
    }
}
