import Trees

/// Encoding of a set of extended attributes in one column: for each attribute the length of its name, the name, the
/// length of its value, the value. Lengths are little-endian 32-bit numbers. Sorted by name, so that equal sets have
/// equal bytes.
enum ExtendedAttributes {
    static func encode(_ attributes: [String: [UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ part: some Collection<UInt8>) {
            for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
            bytes += part
        }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            append(Array(name.utf8))
            append(value)
        }
        return bytes
    }

    /// Nil when the bytes are not a valid encoding.
    static func decode(_ bytes: [UInt8]) -> [String: [UInt8]]? {
        var attributes: [String: [UInt8]] = [:]
        var rest = bytes[...]
        func next() -> ArraySlice<UInt8>? {
            guard rest.count >= 4 else { return nil }
            let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        while !rest.isEmpty {
            guard let name = next(), let value = next() else { return nil }
            attributes[String(decoding: name, as: UTF8.self)] = Array(value)
        }
        return attributes
    }
}
