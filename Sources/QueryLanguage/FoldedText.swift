import Foundation

/// A text as it is compared: without regard to case, to accents, and to how these are encoded (`é` is one scalar on Linux
/// and two in names that a Mac has made).
package enum FoldedText {
    package static func fold(_ text: String) -> String {
        // Nearly all names are ASCII, for which this is thirty times as fast.
        if let ascii = text.utf8.withContiguousStorageIfAvailable(foldASCII), let ascii { return ascii }
        return text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }

    /// Bytes that are no UTF-8 become U+FFFD.
    package static func fold(bytes: [UInt8]) -> String {
        bytes.withUnsafeBufferPointer(foldASCII) ?? fold(String(decoding: bytes, as: UTF8.self))
    }

    /// Nil: it is not ASCII.
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

/// A ``QueryPredicate/TextMatch`` made ready to be asked of many texts.
package struct TextMatcher: Sendable {
    private enum Way: Sendable { case contains, equals, begins, ends, matches }
    private let way: Way
    private let wanted: [UInt8]

    package init(_ match: QueryPredicate.TextMatch) {
        let text: String
        switch match {
        case .contains(let wanted): (way, text) = (.contains, wanted)
        case .equals(let wanted): (way, text) = (.equals, wanted)
        case .begins(let wanted): (way, text) = (.begins, wanted)
        case .ends(let wanted): (way, text) = (.ends, wanted)
        case .matches(let wanted): (way, text) = (.matches, wanted)
        }
        wanted = Array(FoldedText.fold(text).utf8)
    }

    /// - Parameter folded: as ``FoldedText`` gives it.
    package func matches(folded: String) -> Bool {
        var folded = folded
        return folded.withUTF8 { bytes in
            switch way {
            case .contains: contains(bytes)
            case .equals: bytes.elementsEqual(wanted)
            case .begins: bytes.starts(with: wanted)
            case .ends: bytes.count >= wanted.count && bytes.suffix(wanted.count).elementsEqual(wanted)
            case .matches: Self.glob(wanted[...], bytes[...])
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

    /// fnmatch(3) without a flag; by hand, as that one takes time that grows exponentially with the stars of a pattern.
    /// One character is one Unicode scalar.
    private static func glob(_ pattern: ArraySlice<UInt8>, _ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var (pattern, text) = (pattern, text)
        // Where to go on when what follows the last star does not match: one character further.
        var retry: (pattern: ArraySlice<UInt8>, text: Slice<UnsafeBufferPointer<UInt8>>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (pattern, text)
                continue
            }
            if text.isEmpty && pattern.isEmpty { return true }
            if !text.isEmpty, let rest = one(pattern, text) {
                (pattern, text) = rest
                continue
            }
            guard let last = retry, !last.text.isEmpty else { return false }
            let next = (last.pattern, last.text.dropFirst(length(last.text)))
            (pattern, text) = next
            retry = next
        }
    }

    /// What is left of both behind one character that matches; nil: it does not.
    private static func one(
        _ pattern: ArraySlice<UInt8>, _ text: Slice<UnsafeBufferPointer<UInt8>>
    ) -> (ArraySlice<UInt8>, Slice<UnsafeBufferPointer<UInt8>>)? {
        guard let first = pattern.first else { return nil }
        let count = length(text)
        switch first {
        case UInt8(ascii: "?"): return (pattern.dropFirst(), text.dropFirst(count))
        case UInt8(ascii: "["):
            guard let set = CharacterSetPattern(pattern) else { break }
            guard set.contains(scalar(text.prefix(count))) else { return nil }
            return (pattern.dropFirst(set.length), text.dropFirst(count))
        case UInt8(ascii: "\\") where pattern.count > 1:
            let escaped = pattern.dropFirst()
            return escaped.first == text.first ? (escaped.dropFirst(), text.dropFirst()) : nil
        default: break
        }
        return first == text.first ? (pattern.dropFirst(), text.dropFirst()) : nil
    }

    /// Of its first character, in bytes.
    private static func length(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        1 + text.dropFirst().prefix { $0 & 0xC0 == 0x80 }.count
    }

    fileprivate static func scalar(_ bytes: some Sequence<UInt8>) -> UInt32 {
        String(decoding: Array(bytes), as: UTF8.self).unicodeScalars.first?.value ?? 0
    }
}

/// `[a-z]` or `[!abc]` at the start of a pattern.
private struct CharacterSetPattern {
    private var ranges: [ClosedRange<UInt32>] = []
    private var isNegated = false
    /// Of the pattern, in bytes.
    let length: Int

    /// Nil: it does not end, and means the bracket itself.
    init?(_ pattern: ArraySlice<UInt8>) {
        let rest = Array(String(decoding: pattern.dropFirst(), as: UTF8.self).unicodeScalars)
        var index = 0
        if let first = rest.first, first == "!" || first == "^" {
            isNegated = true
            index = 1
        }
        let start = index
        while index < rest.count, rest[index] != "]" || index == start {
            var (low, high) = (rest[index].value, rest[index].value)
            index += 1
            if index + 1 < rest.count, rest[index] == "-", rest[index + 1] != "]" {
                high = rest[index + 1].value
                index += 2
            }
            if low > high { swap(&low, &high) }
            ranges.append(low...high)
        }
        guard index < rest.count else { return nil }
        length = 1 + rest[...index].reduce(0) { $0 + UTF8.width($1) }
    }

    func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } != isNegated }
}
