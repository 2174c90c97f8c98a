import Foundation

/// Folds text for comparisons that ignore case, accents, and the encoding of accents (`é` is one scalar on Linux, and
/// two in names made on a Mac).
package enum FoldedText {
    package static func fold(_ text: String) -> String {
        // Nearly all names are ASCII, for which this way is thirty times as fast.
        if let ascii = text.utf8.withContiguousStorageIfAvailable(foldASCII), let ascii { return ascii }
        return text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }

    /// Invalid UTF-8 becomes U+FFFD.
    package static func fold(bytes: [UInt8]) -> String {
        bytes.withUnsafeBufferPointer(foldASCII) ?? fold(String(decoding: bytes, as: UTF8.self))
    }

    /// Nil: the text is not ASCII.
    private static func foldASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        if bytes.contains(where: { $0 >= 0x80 }) { return nil }
        return String(unsafeUninitializedCapacity: bytes.count) { target in
            for (index, byte) in bytes.enumerated() {
                target[index] = byte &- 0x41 < 26 ? byte | 0x20 : byte
            }
            return bytes.count
        }
    }
}

/// A ``QueryPredicate/TextMatch``, prepared for many texts.
package struct TextMatcher: Sendable {
    private enum Way: Sendable { case contains, equals, begins, ends, matches }
    private let way: Way
    private let wanted: [UInt8]
    private let pattern: GlobPattern?

    package init(_ match: QueryPredicate.TextMatch) {
        let text: String
        switch match {
        case .contains(let wanted): (way, text) = (.contains, wanted)
        case .equals(let wanted): (way, text) = (.equals, wanted)
        case .begins(let wanted): (way, text) = (.begins, wanted)
        case .ends(let wanted): (way, text) = (.ends, wanted)
        case .matches(let wanted): (way, text) = (.matches, wanted)
        }
        let folded = FoldedText.fold(text)
        wanted = Array(folded.utf8)
        pattern = way == .matches ? GlobPattern(folded) : nil
    }

    /// - Parameter folded: a text from ``FoldedText``.
    package func matches(folded: String) -> Bool {
        var folded = folded
        return folded.withUTF8 { bytes in
            switch way {
            case .contains: contains(bytes)
            case .equals: bytes.elementsEqual(wanted)
            case .begins: bytes.starts(with: wanted)
            case .ends: bytes.count >= wanted.count && bytes.suffix(wanted.count).elementsEqual(wanted)
            case .matches: pattern?.matches(bytes) ?? false
            }
        }
    }

    private func contains(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = wanted.first else { return true }
        guard let start = bytes.baseAddress, bytes.count >= wanted.count else { return false }
        let end = bytes.count - wanted.count + 1
        var offset = 0
        while offset < end, let hit = memchr(start + offset, Int32(first), end - offset) {
            if memcmp(hit, wanted, wanted.count) == 0 { return true }
            offset = UnsafeRawPointer(hit) - UnsafeRawPointer(start) + 1
        }
        return false
    }
}
