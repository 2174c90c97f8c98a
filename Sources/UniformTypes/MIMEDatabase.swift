import Foundation
import Glibc

/// The machine's MIME database: the files that `update-mime-database` makes.
///
/// Source: freedesktop.org, *Shared MIME-info Database* 0.21, "Unpacked files" and "Recommended checking order" (names
/// only, because the contents of a placeholder are not here).
struct MIMEDatabase: Sendable {
    private struct Glob: Sendable {
        var weight: Int
        var mimeType: String
        var pattern: String
        var isCaseSensitive: Bool
    }

    /// Patterns `*.ext`, by the part after the star, in lower case.
    private var suffixes: [String: Glob] = [:]
    private var sensitiveSuffixes: [String: Glob] = [:]
    private var literals: [String: Glob] = [:]
    private var patterns: [Glob] = []
    private var aliases: [String: String] = [:]
    private var parents: [String: [String]] = [:]

    var isEmpty: Bool { suffixes.isEmpty && literals.isEmpty }

    /// - Parameter folders: folders with `mime/globs2` and the other files; the first wins.
    init(folders: [String]) {
        for folder in folders.reversed() {
            for line in Self.lines(folder + "/mime/globs2") { add(glob: line) }
            for line in Self.lines(folder + "/mime/aliases") {
                let words = line.split(separator: " ")
                if words.count == 2 { aliases[words[0].lowercased()] = words[1].lowercased() }
            }
            for line in Self.lines(folder + "/mime/subclasses") {
                let words = line.split(separator: " ")
                if words.count == 2 { parents[words[0].lowercased(), default: []].append(words[1].lowercased()) }
            }
        }
    }

    private static func lines(_ path: String) -> [Substring] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    }

    /// `50:image/jpeg:*.jpg`, perhaps with flags behind another colon.
    private mutating func add(glob line: Substring) {
        let fields = line.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count >= 3, let weight = Int(fields[0]) else { return }
        let isSensitive = fields.count > 3 && fields[3].split(separator: ",").contains("cs")
        let pattern = String(fields[2])
        let glob = Glob(
            weight: weight, mimeType: fields[1].lowercased(), pattern: pattern, isCaseSensitive: isSensitive)
        func keep(_ table: inout [String: Glob], _ key: String) {
            if let other = table[key], other.weight > weight { return }
            table[key] = glob
        }
        let isWild = pattern.dropFirst(pattern.hasPrefix("*") ? 1 : 0).contains { "*?[".contains($0) }
        switch (pattern.hasPrefix("*."), isWild) {
        case (true, false) where isSensitive: keep(&sensitiveSuffixes, String(pattern.dropFirst()))
        case (true, false): keep(&suffixes, pattern.dropFirst().lowercased())
        case (false, false) where !pattern.hasPrefix("*"): keep(&literals, isSensitive ? pattern : pattern.lowercased())
        default: patterns.append(glob)
        }
    }

    /// Whether the database has the whole name, not only its suffix.
    func isLiteral(_ name: String) -> Bool { literals[name] != nil || literals[name.lowercased()] != nil }

    /// The suffixes of names, without the first dot, in lower case.
    var extensions: [String] {
        [suffixes, sensitiveSuffixes].flatMap(\.keys).map { $0.dropFirst().lowercased() }
    }

    /// The MIME type of the longest known suffix: `.tar.gz` before `.gz`.
    func mimeType(ofSuffix name: String) -> String? {
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            let suffix = String(rest[dot...])
            if let found = sensitiveSuffixes[suffix] ?? suffixes[suffix.lowercased()] { return found.mimeType }
            rest = rest[rest.index(after: dot)...]
        }
        return nil
    }

    /// Nil: the database has no matching name.
    func mimeType(ofFilename name: String) -> String? {
        if let literal = literals[name] ?? literals[name.lowercased()] { return literal.mimeType }
        if let found = mimeType(ofSuffix: name) { return found }
        let matching = patterns.filter { glob in
            glob.isCaseSensitive
                ? fnmatch(glob.pattern, name, 0) == 0
                : fnmatch(glob.pattern.lowercased(), name.lowercased(), 0) == 0
        }
        return matching.max { ($0.weight, $0.pattern.count) < ($1.weight, $1.pattern.count) }?.mimeType
    }

    /// The name that an alias stands for.
    func canonical(_ mimeType: String) -> String { aliases[mimeType] ?? mimeType }

    /// The direct parents of a type.
    func parents(of mimeType: String) -> [String] { parents[mimeType] ?? [] }
}
