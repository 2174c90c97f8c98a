import Foundation
import UniformTypes

/// Makes a predicate of one `key:value`.
struct QueryTerms {
    let types: UniformTypeTable
    let now: Date
    let calendar: Calendar

    private static let keys =
        "name, path, kind (or type), size, modified, created, accessed, owner, state, tag, text"

    func predicate(_ key: String?, _ value: String, isQuoted: Bool) throws(QueryTextError) -> QueryPredicate {
        guard let key else { return .name(match(value, isQuoted)) }
        guard !value.isEmpty else { throw QueryTextError(message: "\(key): needs a value") }
        switch key {
        case "name": return .name(match(value, isQuoted))
        case "path": return .path(match(value, isQuoted))
        case "kind", "type": return try kind(value)
        case "size": return try ranged(value, size) { .size($0, $1) }
        case "modified": return try date(.modified, value)
        case "created": return try date(.created, value)
        case "accessed": return try date(.accessed, value)
        case "owner": return .owner(value)
        case "state": return try state(value)
        case "tag": return .tag(value)
        case "text": return .text(value)
        default:
            throw QueryTextError(
                message: "there is no “\(key):”; choose of \(Self.keys); put a name with a colon into quotation marks")
        }
    }

    private func match(_ value: String, _ isQuoted: Bool) -> QueryPredicate.TextMatch {
        if value.hasPrefix("=") { return .equals(String(value.dropFirst())) }
        return !isQuoted && value.contains { "*?[".contains($0) } ? .matches(value) : .contains(value)
    }

    private func state(_ value: String) throws(QueryTextError) -> QueryPredicate {
        guard let condition = QueryPredicate.ItemCondition(rawValue: value.lowercased()) else {
            let all = QueryPredicate.ItemCondition.allCases.map(\.rawValue).joined(separator: ", ")
            throw QueryTextError(message: "state:\(value): choose of \(all)")
        }
        return .state(condition)
    }

    // MARK: Types

    /// Common words for groups of types.
    private static let groups: [String: [String]] = [
        "folder": ["public.folder"], "link": ["public.symlink"],
        "image": ["public.image"], "picture": ["public.image"], "photo": ["public.image"],
        "video": ["public.movie"], "movie": ["public.movie"], "audio": ["public.audio"], "music": ["public.audio"],
        "text": ["public.text"], "code": ["public.source-code"], "archive": ["public.archive"],
        "font": ["public.font"], "spreadsheet": ["public.spreadsheet", "public.delimited-values-text"],
        "presentation": ["public.presentation"], "mail": ["public.email-message"],
        "document": [
            "public.composite-content", "public.spreadsheet", "public.presentation", "public.text",
        ],
    ]

    private func kind(_ value: String) throws(QueryTextError) -> QueryPredicate {
        if let group = Self.groups[value.lowercased()] {
            return group.count == 1 ? .type(group[0]) : .any(group.map { .type($0) })
        }
        guard let type = types.type(named: value) else {
            let all = Self.groups.keys.sorted().joined(separator: ", ")
            throw QueryTextError(
                message:
                    "kind:\(value): no such type; give an extension (pdf), a MIME type, a type (public.image), or \(all)"
            )
        }
        return .type(type.identifier)
    }

    // MARK: Numbers

    /// `5`, `>5`, `>=5`, `<5`, `<=5`, `5..7`.
    private func ranged<Value>(
        _ text: String, _ read: (String) throws(QueryTextError) -> Value,
        _ make: (QueryPredicate.Comparison, Value) -> QueryPredicate
    ) throws(QueryTextError) -> QueryPredicate {
        if let dots = text.range(of: "..") {
            return .all([
                make(.greaterOrEqual, try read(String(text[..<dots.lowerBound]))),
                make(.lessOrEqual, try read(String(text[dots.upperBound...]))),
            ])
        }
        let (comparison, rest) = Self.comparison(text)
        return make(comparison ?? .equal, try read(rest))
    }

    private static func comparison(_ text: String) -> (QueryPredicate.Comparison?, String) {
        let signs: [(String, QueryPredicate.Comparison)] = [
            ("<=", .lessOrEqual), (">=", .greaterOrEqual), ("<", .less), (">", .greater), ("=", .equal),
        ]
        for (sign, comparison) in signs where text.hasPrefix(sign) {
            return (comparison, String(text.dropFirst(sign.count)))
        }
        return (nil, text)
    }

    private func size(_ text: String) throws(QueryTextError) -> Int64 {
        var digits = text[...]
        var factor = 1.0
        if digits.last?.lowercased() == "b" { digits = digits.dropLast() }
        if let unit = digits.last, let power = "kmgt".firstIndex(of: Character(unit.lowercased())) {
            factor = pow(1_024, Double("kmgt".distance(from: "kmgt".startIndex, to: power) + 1))
            digits = digits.dropLast()
        }
        guard let number = Double(digits), number.isFinite, number >= 0, number * factor < 9e18 else {
            throw QueryTextError(message: "size:\(text): give bytes, perhaps with k, M, G or T: size:>1.5M")
        }
        return Int64(number * factor)
    }

    // MARK: Dates

    private func date(
        _ attribute: QueryPredicate.DateAttribute, _ text: String
    ) throws(QueryTextError) -> QueryPredicate {
        if let dots = text.range(of: "..") {
            let (first, last) = (String(text[..<dots.lowerBound]), String(text[dots.upperBound...]))
            guard let from = period(first), let to = period(last) else { throw wrongDate(attribute, text) }
            return between(attribute, from.start, to.end)
        }
        let (comparison, rest) = Self.comparison(text)
        if let age = age(rest) {
            // An age of less than 7 days means a date later than 7 days ago.
            let moment = now.timeIntervalSince1970 - age
            switch comparison {
            case .less?: return .date(attribute, .greater, moment)
            case .lessOrEqual?: return .date(attribute, .greaterOrEqual, moment)
            case .greater?: return .date(attribute, .less, moment)
            case .greaterOrEqual?: return .date(attribute, .lessOrEqual, moment)
            case .equal?, nil:
                throw QueryTextError(
                    message: "\(attribute.rawValue):\(text): write <\(rest) for younger, >\(rest) for older than that")
            }
        }
        guard let period = period(rest) else { throw wrongDate(attribute, text) }
        switch comparison {
        case .less?: return .date(attribute, .less, period.start)
        case .lessOrEqual?: return .date(attribute, .less, period.end)
        case .greater?: return .date(attribute, .greaterOrEqual, period.end)
        case .greaterOrEqual?: return .date(attribute, .greaterOrEqual, period.start)
        case .equal?, nil: return between(attribute, period.start, period.end)
        }
    }

    private func between(
        _ attribute: QueryPredicate.DateAttribute, _ start: Double, _ end: Double
    ) -> QueryPredicate {
        .all([.date(attribute, .greaterOrEqual, start), .date(attribute, .less, end)])
    }

    private func wrongDate(_ attribute: QueryPredicate.DateAttribute, _ text: String) -> QueryTextError {
        QueryTextError(
            message:
                "\(attribute.rawValue):\(text): give an age (<7d; h, d, w, m, y), a day (2024-05-31), a month (2024-05), "
                + "a year (2024), today or yesterday, perhaps with > or < before it")
    }

    /// `7d` in seconds. A month has 30 days here, and a year 365.
    private func age(_ text: String) -> Double? {
        let units: [Character: Double] = ["h": 3_600, "d": 86_400, "w": 604_800, "m": 2_592_000, "y": 31_536_000]
        guard let unit = text.last, let seconds = units[unit], let number = Double(text.dropLast()), number >= 0,
            number < 100_000
        else { return nil }
        return number * seconds
    }

    /// The first moment of a day, a month or a year, and the first moment after it, in seconds since 1970.
    private func period(_ text: String) -> (start: Double, end: Double)? {
        let (start, unit): (Date?, Calendar.Component)
        switch text.lowercased() {
        case "today": (start, unit) = (calendar.startOfDay(for: now), .day)
        case "yesterday":
            unit = .day
            start = calendar.date(byAdding: .day, value: -1, to: calendar.startOfDay(for: now))
        default:
            let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard let year = parts.first ?? nil, (1...9_999).contains(year), parts.count <= 3,
                !parts.contains(nil)
            else { return nil }
            let month = parts.count > 1 ? parts[1]! : 1
            let day = parts.count > 2 ? parts[2]! : 1
            unit = [.year, .month, .day][parts.count - 1]
            guard (1...12).contains(month), (1...31).contains(day) else { return nil }
            start = calendar.date(from: DateComponents(year: year, month: month, day: day))
            // Refuse a date such as the 31st of February.
            if let start, calendar.component(.day, from: start) != day { return nil }
        }
        guard let start, let end = calendar.date(byAdding: unit, value: 1, to: start) else { return nil }
        return (start.timeIntervalSince1970, end.timeIntervalSince1970)
    }
}
