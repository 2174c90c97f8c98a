import Trees

extension SentContent {
    /// Encodes a column: for each item the length of its hash (1 byte), the hash, and the size (8 bytes,
    /// little-endian).
    static func encode(_ all: some Collection<SentContent>) -> [UInt8]? {
        if all.isEmpty { return nil }
        return all.flatMap { sent in
            [UInt8(sent.hash.count)] + sent.hash + (0..<8).map { UInt8(truncatingIfNeeded: sent.size >> ($0 * 8)) }
        }
    }

    /// Empty when the bytes are not such a column.
    static func decode(_ bytes: [UInt8]) -> [SentContent] {
        var (all, rest) = ([SentContent](), bytes[...])
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) + 8 else { return [] }
            let hash = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(hash.count)
            let size = rest.prefix(8).reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            rest = rest.dropFirst(8)
            all.append(SentContent(hash: hash, size: size))
        }
        return all
    }
}
