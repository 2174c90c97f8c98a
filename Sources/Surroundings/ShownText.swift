/// Makes text with names from outside safe for a terminal or a log.
///
/// A name may have any character except slash and NUL: a newline could fake a line of our output, an escape sequence
/// could move the cursor or change the window's title.
package enum ShownText {
    /// Text for one line.
    package static func line(_ text: String) -> String { escaped(text) { Self.isActive($0) } }

    /// Text of several lines, with its newlines.
    package static func lines(_ text: String) -> String { escaped(text) { $0 != "\n" && Self.isActive($0) } }

    /// JSON keeps its meaning when its active characters are escaped. (The encoder escapes those below U+0020 only, and
    /// the remaining ones are its own line ends.)
    package static func json(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x7F }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.value >= 0x7F, isActive(scalar) {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result.append(
                        contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
                }
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Control characters, line separators, characters that change the direction of text (Unicode's Bidi_Control), and
    /// invisible characters that are no part of a word: names that differ only in these look alike, and they can hide a
    /// text. (The joiners U+200C and U+200D and the variation selectors are parts of words and emoji.)
    private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        // Direction marks.
        case 0x061C, 0x200E, 0x200F: true
        // Zero-width spaces, invisible operators, deprecated controls, interlinear annotations, tags; and unassigned
        // code points among them.
        case 0x200B, 0x2060...0x2065, 0x206A...0x206F, 0xFEFF, 0xFFF0...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    private static func escaped(_ text: String, where isEscaped: (Unicode.Scalar) -> Bool) -> String {
        // Most texts have none.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isEscaped(scalar) {
                result.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let digits = String(scalar.value, radix: 16)
            return scalar.value < 0x100 ? "\\x\(digits.count < 2 ? "0" : "")\(digits)" : "\\u{\(digits)}"
        }
    }
}
