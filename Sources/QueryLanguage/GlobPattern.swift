/// A pattern of fnmatch(3) without flags. Written by hand, because the time of glibc's grows exponentially with the
/// stars of a pattern. Parsed once; a match then takes at most the text's length times the longest part between two
/// stars.
///
/// One character is one Unicode scalar.
struct GlobPattern: Sendable {
    private enum Element: Sendable {
        case star, one
        case byte(UInt8)
        case set(ScalarSet)
    }
    private let elements: [Element]
    /// The length of the shortest text that can match, in bytes.
    private let shortest: Int

    init(_ text: String) {
        let scalars = Array(text.unicodeScalars)
        var elements: [Element] = []
        var index = 0
        // After an unclosed bracket no later one can be closed.
        var hasSets = true
        while index < scalars.count {
            let scalar = scalars[index]
            index += 1
            switch scalar {
            case "*":
                if case .star? = elements.last { continue }
                elements.append(.star)
                continue
            case "?":
                elements.append(.one)
                continue
            case "[" where hasSets:
                if let (set, end) = ScalarSet.read(scalars, from: index) {
                    elements.append(.set(set))
                    index = end
                    continue
                }
                hasSets = false
            case "\\" where index < scalars.count:
                elements += UTF8.encode(scalars[index])!.map { .byte($0) }
                index += 1
                continue
            default: break
            }
            elements += UTF8.encode(scalar)!.map { .byte($0) }
        }
        self.elements = elements
        shortest = elements.count { if case .star = $0 { false } else { true } }
    }

    /// - Parameter text: UTF-8.
    func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard shortest <= text.count else { return false }
        var (element, offset) = (0, 0)
        // Where to retry when the part after the last star does not match: one character further.
        var retry: (element: Int, offset: Int)?
        while true {
            if element < elements.count, case .star = elements[element] {
                element += 1
                if element == elements.count { return true }
                retry = (element, offset)
            } else if element == elements.count, offset == text.count {
                return true
            } else if element < elements.count, offset < text.count, let end = end(of: element, text, offset) {
                (element, offset) = (element + 1, end)
            } else if let last = retry, last.offset < text.count {
                (element, offset) = (last.element, Self.next(text, last.offset))
                retry = (element, offset)
            } else {
                return false
            }
        }
    }

    /// The offset behind the element's match; nil: no match.
    private func end(of element: Int, _ text: UnsafeBufferPointer<UInt8>, _ offset: Int) -> Int? {
        switch elements[element] {
        case .star: return offset
        case .byte(let byte): return text[offset] == byte ? offset + 1 : nil
        case .one: return Self.next(text, offset)
        case .set(let set):
            let end = Self.next(text, offset)
            return set.contains(Self.scalar(text, offset, end)) ? end : nil
        }
    }

    /// The offset of the next character.
    private static func next(_ text: UnsafeBufferPointer<UInt8>, _ offset: Int) -> Int {
        var offset = offset + 1
        while offset < text.count, text[offset] & 0xC0 == 0x80 { offset += 1 }
        return offset
    }

    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> UInt32 {
        let first = UInt32(text[start])
        // The first byte holds fewer bits of the scalar, the longer the sequence is.
        let lead = end - start == 1 ? first : first & (0x7F >> UInt32(end - start))
        return text[(start + 1)..<end].reduce(lead) { $0 << 6 | UInt32($1 & 0x3F) }
    }
}

/// `[a-z]` or `[!abc]` of a pattern.
private struct ScalarSet: Sendable {
    /// Sorted, without overlaps.
    private var ranges: [ClosedRange<UInt32>] = []
    private var isNegated = false

    /// - Parameter start: the index behind the bracket.
    /// - Returns: the set, and the index behind it; nil: the bracket is not closed, and stands for itself.
    static func read(_ pattern: [Unicode.Scalar], from start: Int) -> (set: ScalarSet, end: Int)? {
        var set = ScalarSet()
        var index = start
        if index < pattern.count, pattern[index] == "!" || pattern[index] == "^" {
            set.isNegated = true
            index += 1
        }
        let first = index
        var ranges: [ClosedRange<UInt32>] = []
        while index < pattern.count, pattern[index] != "]" || index == first {
            var (low, high) = (pattern[index].value, pattern[index].value)
            index += 1
            if index + 1 < pattern.count, pattern[index] == "-", pattern[index + 1] != "]" {
                high = pattern[index + 1].value
                index += 2
            }
            if low > high { swap(&low, &high) }
            ranges.append(low...high)
        }
        guard index < pattern.count else { return nil }
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = set.ranges.last, range.lowerBound <= last.upperBound {
                set.ranges[set.ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                set.ranges.append(range)
            }
        }
        return (set, index + 1)
    }

    func contains(_ scalar: UInt32) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar { low = middle + 1 } else { high = middle }
        }
        return (low < ranges.count && ranges[low].contains(scalar)) != isNegated
    }
}
