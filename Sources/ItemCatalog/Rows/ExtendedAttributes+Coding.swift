import Trees

/// What the store has of an item besides its contents, in one column: its extended attributes, and its marks.
///
/// The encoding: for each attribute the length of its name, the name, the length of its value, the value. Lengths are
/// little-endian 32-bit numbers. Sorted by name, so that equal sets have equal bytes. The marks are entries whose names
/// no attribute of a store can have, as these begin with `user.`.
struct ExtendedAttributes: Equatable {
    /// Nil: the store keeps none.
    var attributes: [String: [UInt8]]?
    var isFavorite = false
    var tags: [String] = []

    init() {}

    init(_ facts: RemoteFacts) {
        (attributes, isFavorite, tags) = (facts.extendedAttributes, facts.isFavorite, facts.tags)
    }

    /// There are marks, but the store keeps no attributes.
    private static let none = "none"
    private static let favorite = "favorite"
    private static let tagList = "tags"
    private static let prefix = Array("user.".utf8)
    private static let separator = UInt8(ascii: ",")

    /// Nil: nothing is known.
    var bytes: [UInt8]? {
        if attributes == nil, !isFavorite, tags.isEmpty { return nil }
        var entries = attributes ?? [Self.none: []]
        if isFavorite { entries[Self.favorite] = [] }
        if !tags.isEmpty {
            entries[Self.tagList] = Array(tags.map { Array($0.utf8) }.joined(separator: [Self.separator]))
        }
        return Self.encode(entries)
    }

    /// Bytes that are not a valid encoding say nothing.
    init(_ bytes: [UInt8]) {
        guard let entries = Self.decode(bytes) else { return }
        isFavorite = entries[Self.favorite] != nil
        tags = (entries[Self.tagList] ?? []).split(separator: Self.separator).map {
            String(decoding: $0, as: UTF8.self)
        }
        if entries[Self.none] == nil { attributes = entries.filter { $0.key.utf8.starts(with: Self.prefix) } }
    }

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
