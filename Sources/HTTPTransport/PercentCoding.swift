/// Percent-encoding of one path component, as bytes (RFC 3986, 2.1 and 3.3).
package enum PercentCoding {
    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// Bytes that need no encoding in a component: unreserved (RFC 3986, 2.3), and bytes that no server misreads.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    package static func encode(_ component: some Sequence<UInt8>) -> String {
        var result: [UInt8] = []
        for byte in component {
            if isPlain(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Nil: a percent sign without two hexadecimal digits after it.
    package static func decode(_ component: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(component.underestimatedCount)
        var bytes = component.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(digit), let low = bytes.next().flatMap(digit) else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
