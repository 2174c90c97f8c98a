import Foundation

/// Dates in the three forms of RFC 9110, 5.6.7; and, since some servers write them, with another zone than GMT, and in
/// the form of RFC 3339.
package enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Seconds since 1970-01-01 00:00:00 UTC; nil: not a date.
    package static func parse(_ text: String) -> Int64? {
        if let seconds = parsePreferred(text) { return seconds }
        if text.utf8.first.map({ 48..<58 ~= $0 }) == true { return parseInternet(text) }
        guard text.utf8.count <= longest else { return nil }
        // (After the hour a minus sign belongs to the zone; before it, it separates day, month and year.)
        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.startIndex
        let (front, back) = (text[..<colon], text[colon...])
        let words =
            (front.lowercased().split { " ,-:".contains($0) } + back.lowercased().split { " :".contains($0) })
            .map(String.init)
        guard words.count >= 7 else { return nil }
        // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
        let isC = months.contains(words[1])
        let (day, month, year) = isC ? (words[2], words[1], words[6]) : (words[1], words[2], words[3])
        let clock = isC ? words[3...5] : words[4...6]
        guard let month = months.firstIndex(of: month), let day = Int(day), var year = Int(year),
            (1...31).contains(day)
        else { return nil }
        let time = clock.compactMap { Int($0) }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0...60).contains(time[2])
        else { return nil }
        if year < 70 { year += 2_000 } else if year < 100 { year += 1_900 }
        guard (1_601...9_999).contains(year) else { return nil }
        // (The minutes of the zone may follow a colon.)
        guard let zone = isC || words.count < 8 ? 0 : offset(words[7...].prefix(2).joined()) else { return nil }
        let days = Self.days(year, month + 1, day)
        return Int64(days) * 86_400 + Int64(time[0] * 3_600 + time[1] * 60 + time[2] - zone)
    }

    private static let longest = 100

    /// In seconds; nil: not a zone. `+0200`, `-05`, and the names of RFC 822, 5.1.
    private static func offset(_ text: String) -> Int? {
        let names = [
            "gmt": 0, "utc": 0, "ut": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6,
            "pst": -8, "pdt": -7,
        ]
        if let hours = names[text.lowercased()] { return hours * 3_600 }
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.utf8.allSatisfy({ 48..<58 ~= $0 }), digits.count == 4 || digits.count == 2,
            let hours = Int(digits.prefix(2)), let minutes = Int("0" + digits.dropFirst(2)), hours < 24, minutes < 60
        else { return nil }
        return (sign == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }

    /// `1994-11-06T08:49:37Z`, `1994-11-06 09:49:37.25+01:00` (RFC 3339).
    private static func parseInternet(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= longest, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":")
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            bytes[range].allSatisfy { 48..<58 ~= $0 } ? Int(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { 48..<58 ~= $0 } }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            (1_601...9_999).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60, let zone = offset(String(decoding: rest, as: UTF8.self))
        else { return nil }
        return Int64(days(year, month, day)) * 86_400 + Int64(hour * 3_600 + minute * 60 + second - zone)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the form of almost all servers; each entry of a listing has one.
    private static func parsePreferred(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { bytes -> Int64? in
            guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"),
                bytes[26] == UInt8(ascii: "G"), bytes[27] == UInt8(ascii: "M"), bytes[28] == UInt8(ascii: "T")
            else { return nil }
            func number(_ range: Range<Int>) -> Int? {
                var value = 0
                for index in range {
                    guard case let digit = Int(bytes[index]) - 48, 0..<10 ~= digit else { return nil }
                    value = value * 10 + digit
                }
                return value
            }
            let name = String(decoding: bytes[8..<11], as: UTF8.self).lowercased()
            guard let month = months.firstIndex(of: name), let day = number(5..<7), let year = number(12..<16),
                let hour = number(17..<19), let minute = number(20..<22), let second = number(23..<25),
                (1...31).contains(day), hour < 24, minute < 60, second <= 60, (1_601...9_999).contains(year)
            else { return nil }
            return Int64(days(year, month + 1, day)) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
        }
    }

    /// Days since 1970-01-01, in the Gregorian calendar.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The form for a header: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Parameter seconds: since 1970-01-01 00:00:00 UTC.
    package static func format(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var parts = tm()
        gmtime_r(&moment, &parts)
        func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
        let month = months[Int(parts.tm_mon)].capitalized
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(padded).joined(separator: ":")
        return "\(day), \(padded(parts.tm_mday)) \(month) \(1_900 + Int(parts.tm_year)) \(clock) GMT"
    }
}
