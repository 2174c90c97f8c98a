import CGIO

/// The width of text in columns of a terminal (Unicode Standard Annex 11, by GLib).
public enum TextWidth {
    static func columns(of character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.value < 0x300 { return 1 }
        if g_unichar_iszerowidth(first.value) != 0 { return 0 }
        return g_unichar_iswide(first.value) != 0 ? 2 : 1
    }

    /// The columns that a text takes.
    public static func columns(of text: some StringProtocol) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.reduce(0) { $0 + columns(of: $1) }
    }

    /// The text, padded with blanks or cut to a width.
    public static func fitted(_ text: String, _ width: Int) -> String {
        let own = columns(of: text)
        if own <= width { return text + String(repeating: " ", count: width - own) }
        var (cut, count) = ("", 0)
        for character in text {
            let more = columns(of: character)
            if count + more > max(0, width - 1) { break }
            cut.append(character)
            count += more
        }
        return cut + "…" + String(repeating: " ", count: max(0, width - 1 - count))
    }

    /// The text in parts that fit; at least one.
    public static func wrapped(_ text: String, _ width: Int) -> [String] {
        let width = max(width, 2)
        if columns(of: text) <= width { return [text] }
        var (parts, part, count) = ([String](), "", 0)
        for character in text {
            let more = columns(of: character)
            if count + more > width {
                parts.append(part)
                (part, count) = ("", 0)
            }
            part.append(character)
            count += more
        }
        return parts + [part]
    }
}
