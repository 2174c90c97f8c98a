/// The lines of the keys of a TOML file: the library reports lines only for syntax errors.
struct KeyLines {
    private var lines: [[String]: Int] = [:]

    init(_ text: String) {
        var section: [String] = []
        var multiline: String?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // Text inside a multi-line string is not a key.
            if let end = multiline {
                if line.contains(end) { multiline = nil }
                continue
            }
            let words = line.drop { $0 == " " || $0 == "\t" }
            if words.hasPrefix("[") {
                section = Self.parts(words.drop { $0 == "[" }.prefix { $0 != "]" })
                for count in 1...max(1, section.count) where lines[Array(section.prefix(count))] == nil {
                    lines[Array(section.prefix(count))] = index + 1
                }
            } else if let equals = words.firstIndex(of: "="), !words.hasPrefix("#") {
                var path = section
                for part in Self.parts(words[..<equals]) {
                    path.append(part)
                    if lines[path] == nil { lines[path] = index + 1 }
                }
                for mark in ["\"\"\"", "'''"]
                where words.split(separator: mark, omittingEmptySubsequences: false).count == 2 {
                    multiline = mark
                }
            }
        }
    }

    private static func parts(_ text: Substring) -> [String] {
        text.split(separator: ".").map { part in
            String(part.filter { !" \t\"'".contains($0) })
        }
    }

    /// From 1 on.
    func line(of path: [String]) -> Int? { lines[path] }

    /// The lines of a section, from its head to the next one's.
    static func section(_ path: [String], in text: String) -> Range<Int>? {
        let all = text.split(separator: "\n", omittingEmptySubsequences: false)
        func head(_ line: Substring) -> [String]? {
            let words = line.drop { $0 == " " || $0 == "\t" }
            return words.hasPrefix("[") ? parts(words.drop { $0 == "[" }.prefix { $0 != "]" }) : nil
        }
        guard let start = all.firstIndex(where: { head($0) == path }) else { return nil }
        let end = all[(start + 1)...].firstIndex { head($0) != nil } ?? all.count
        return start..<end
    }
}
