/// Control characters in XML. XML 1.0 has no form for most of them, and keys may have them; Ceph RGW writes `&#x1;`, which
/// no parser takes. They are read as other characters, which the text does not have, and put back afterwards.
struct ControlReferences {
    /// The last byte of the UTF-8 sequences that stand for them is the control character and 0x80; the bytes before it:
    private let lead: [UInt8]?

    /// - Parameter bytes: an XML text, whose references to control characters are replaced.
    init(in bytes: inout [UInt8]) {
        guard Self.references(bytes).next() != nil else {
            lead = nil
            return
        }
        // Of the private use area, 64 characters that do not occur.
        let middles = (UInt8(0x80)..<0xa0).filter { middle in
            !zip(bytes, bytes.dropFirst()).contains { $0 == (0xee, middle) }
        }
        guard let middle = middles.first else {
            lead = nil
            return
        }
        lead = [0xee, middle]
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var position = 0
        for (range, control) in Self.references(bytes) {
            plain += bytes[position..<range.lowerBound] + [0xee, middle, 0x80 | control]
            position = range.upperBound
        }
        plain += bytes[position...]
        bytes = plain
    }

    /// The text of an element, as it was meant.
    func restore(_ text: [UInt8]) -> [UInt8] {
        guard let lead else { return text }
        var plain: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == lead[0], rest.first == lead[1], let last = rest.dropFirst().first, last < 0xa0 {
                plain.append(last & 0x1f)
                rest = rest.dropFirst(2)
            } else {
                plain.append(byte)
            }
        }
        return plain
    }

    /// References to characters that XML 1.0 does not have: `&#x1;`, `&#27;`.
    private static func references(_ bytes: [UInt8]) -> AnyIterator<(Range<Int>, UInt8)> {
        var position = 0
        return AnyIterator {
            while let start = bytes[position...].firstIndex(of: UInt8(ascii: "&")) {
                position = start + 1
                let head = bytes[start...].prefix(10)
                guard head.dropFirst().first == UInt8(ascii: "#"), let end = head.firstIndex(of: UInt8(ascii: ";"))
                else { continue }
                let digits = String(decoding: bytes[(start + 2)..<end], as: UTF8.self)
                let isHexadecimal = digits.hasPrefix("x") || digits.hasPrefix("X")
                let value = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
                guard let value, (1..<32).contains(value), ![9, 10, 13].contains(value) else { continue }
                position = end + 1
                return (start..<(end + 1), UInt8(value))
            }
            return nil
        }
    }
}
