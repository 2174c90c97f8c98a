import Foundation

/// Makes the name of a second version of a document: `name (conflicted copy, HOST, YYYY-MM-DD).ext`, then
/// `name (conflicted copy, HOST, YYYY-MM-DD 2).ext`.
package enum ConflictName {
    /// NAME_MAX.
    private static let longest = 255
    /// A longer ending does not count as one.
    private static let longestEnding = 32

    /// - Parameters:
    ///   - seconds: since 1970; the date is that of the user's time zone.
    ///   - number: 1 at first; higher when the name is taken.
    package static func make(from name: [UInt8], at seconds: Int, number: Int) -> [UInt8] {
        var moment = time_t(seconds)
        var parts = tm()
        localtime_r(&moment, &parts)
        let date = String(format: "%04d-%02d-%02d", parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday)
        let suffix = Array(" (conflicted copy, \(Machine.host), \(date)\(number > 1 ? " \(number)" : ""))".utf8)
        var (stem, ending) = (name[...], name[name.endIndex...])
        if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.count - dot <= longestEnding {
            (stem, ending) = (name[..<dot], name[dot...])
        }
        // Shortens the stem, but not in the middle of a UTF-8 character.
        var kept = stem.prefix(max(1, longest - suffix.count - ending.count))
        if kept.count < stem.count {
            while let last = kept.last, last & 0b1100_0000 == 0b1000_0000, kept.count > 1 { kept.removeLast() }
            if let last = kept.last, last >= 0b1100_0000, kept.count > 1 { kept.removeLast() }
        }
        return kept + suffix + ending
    }
}
