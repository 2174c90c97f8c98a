import Glibc

/// `name (conflicted copy, HOST, YYYY-MM-DD HHMMSS).ext`: where the loser of a race is kept.
enum ConflictName {
    /// - Parameter attempt: 0 first; a higher one when the name before was taken.
    static func make(for name: [UInt8], attempt: Int) -> [UInt8] {
        let again = attempt == 0 ? "" : " \(attempt + 1)"
        let note = Array(" (conflicted copy, \(host()), \(now())\(again))".utf8)
        let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 && name.count - $0 <= 32 ? $0 : nil }
        let stem = name[..<(dot ?? name.count)]
        let ending = name[(dot ?? name.count)...]
        return shortened(stem, to: 255 - note.count - ending.count) + note + ending
    }

    /// Cut between characters, so that a UTF-8 name stays one.
    private static func shortened(_ bytes: ArraySlice<UInt8>, to limit: Int) -> [UInt8] {
        guard bytes.count > limit else { return Array(bytes) }
        var end = bytes.startIndex + limit
        while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(bytes[..<end])
    }

    private static func host() -> String {
        var buffer = [CChar](repeating: 0, count: 65)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
        let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: name.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
    }

    private static func now() -> String {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + two(parts.tm_hour) + two(parts.tm_min) + two(parts.tm_sec)
    }
}
