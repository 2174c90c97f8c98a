import FileProvider
import Foundation
import Surroundings

/// The versions of a document: its checksum, where the remote knows one without reading the document, else its date.
enum RcloneVersion {
    static func content(_ entry: RcloneEntry, _ hash: String?) -> ContentVersion {
        if let hash, let value = entry.Hashes?[hash], !value.isEmpty {
            return ContentVersion("\(hash) \(value.lowercased()) \(entry.Size)")
        }
        let date = RcloneDate.parse(entry.ModTime ?? "")
        return ContentVersion("date \(date.map { RcloneDate.text($0) } ?? "-") \(entry.Size)")
    }

    /// Whether it has no checksum.
    static func isDated(_ version: ContentVersion) -> Bool { version.bytes.starts(with: "date ".utf8) }

    static func metadata(_ date: FileTime) -> MetadataVersion { MetadataVersion(RcloneDate.text(date)) }
}

/// Dates in RFC 3339.
enum RcloneDate {
    /// 2000-01-01, which rclone shows where there is no date.
    static let none = FileTime(seconds: 946_684_800)

    /// `2026-11-28T06:38:11.308939689+01:00`.
    static func parse(_ text: String) -> FileTime? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 64 else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= bytes.count else { return nil }
            return Int64(String(decoding: bytes[range], as: UTF8.self))
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month),
            (1...31).contains(day), (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        var index = 19
        var fraction: Int64 = 0
        if bytes[index] == UInt8(ascii: ".") {
            index += 1
            var digits = 0
            while index < bytes.count, (48..<58).contains(bytes[index]) {
                if digits < 9 {
                    fraction = fraction * 10 + Int64(bytes[index] - 48)
                    digits += 1
                }
                index += 1
            }
            while digits < 9 {
                fraction *= 10
                digits += 1
            }
        }
        guard index < bytes.count else { return nil }
        var offset: Int64 = 0
        if bytes[index] != UInt8(ascii: "Z") {
            guard let hours = number(index + 1..<index + 3), let minutes = number(index + 4..<index + 6) else {
                return nil
            }
            offset = (hours * 60 + minutes) * 60 * (bytes[index] == UInt8(ascii: "-") ? -1 : 1)
        }
        let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset
        return FileTime(seconds: seconds, nanoseconds: fraction)
    }

    /// Since 1970-01-01, in the Gregorian calendar.
    ///
    /// Source: Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*, days_from_civil.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }

    static func text(_ time: FileTime) -> String { "\(time.seconds).\(time.subsecond)" }
}
