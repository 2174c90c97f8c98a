import Foundation
import Surroundings

/// A document's text, made safe for a terminal.
enum PlainText {
    /// The characters after which a line is cut.
    private static let longestLine = 4_000

    /// Decodes UTF-8, UTF-16 with its mark, or otherwise Windows-1252. Nil: the bytes are not text.
    ///
    /// - Parameter isWhole: if false, the bytes may end within a character.
    static func decoded(_ bytes: [UInt8], isWhole: Bool = true) -> String? {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            return String(data: Data(bytes.count % 2 == 0 ? bytes[...] : bytes.dropLast()), encoding: .utf16)
        }
        let marked = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
        if marked.prefix(8_192).contains(0) { return nil }
        for cut in 0..<(isWhole ? 1 : 4) {
            if let text = String(validating: marked.dropLast(cut), as: UTF8.self) { return text }
        }
        return String(data: Data(marked), encoding: .windowsCP1252) ?? String(data: Data(marked), encoding: .isoLatin1)
    }

    /// Lines without control characters; one more than `most` if there are more.
    static func lines(_ text: String, most: Int) -> [String] {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if lines.count > most { break }
            lines.append(shown(line))
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// One line, with tabs expanded to blanks.
    static func shown(_ line: Substring) -> String {
        var (text, column) = ("", 0)
        for character in line.prefix(longestLine) {
            if character == "\t" {
                let count = 8 - column % 8
                text += String(repeating: " ", count: count)
                column += count
            } else if character != "\u{c}" {
                text.append(character)
                column += TextWidth.columns(of: character)
            }
        }
        if line.dropFirst(longestLine).first != nil { text += "…" }
        return ShownText.line(text)
    }
}
