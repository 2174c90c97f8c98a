/// Text with names from elsewhere in it, as it may stand on a terminal or in a log.
///
/// A name may hold anything but a slash and a NUL: a newline would begin a line that somebody takes for ours, an escape
/// sequence would move the cursor or give the window another title.
package enum ShownText {
    /// On one line.
    package static func line(_ text: String) -> String { escaped(text) { Self.isActive($0) } }

    /// With its newlines, for where a message of several lines is known to be one.
    package static func lines(_ text: String) -> String { escaped(text) { $0 != "\n" && Self.isActive($0) } }

    /// JSON means the same with its active characters escaped. (Its encoder escapes those below U+0020 only, and those
    /// that are left are its own line ends.)
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

    /// Control characters, separators of lines, what turns the direction of the text that follows (Unicode's Bidi_Control),
    /// and what takes no place of its own and belongs into no word: two names that only differ in it look alike, and a text
    /// can be hidden in it. (The joiners U+200C and U+200D and the variation selectors are parts of words and pictures.)
    private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        // Marks of a direction.
        case 0x061C, 0x200E, 0x200F: true
        // Spaces of no width, operators that nobody sees, deprecated controls, notes between lines, tags; and what Unicode
        // has left free among them.
        case 0x200B, 0x2060...0x2065, 0x206A...0x206F, 0xFEFF, 0xFFF0...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    private static func escaped(_ text: String, where isEscaped: (Unicode.Scalar) -> Bool) -> String {
        // Nearly every text has none.
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
