import FileProvider

extension ItemIdentifier {
    /// Of what is at `path` in the archive.
    ///
    /// The path, so that a document keeps its identifier when the archive is replaced; and the kind, because an item
    /// never becomes one of another kind. Bytes outside of ASCII are written as `%C3`: identifiers are compared as text,
    /// to which é and e with an accent are the same, and two names in an archive are not. What does not fit gets a
    /// number that is made of it.
    init(kind: ItemKind, path: [UInt8]) {
        let letter = kind.isFolder ? "d" : kind.isDocument ? "f" : "l"
        let escaped = Self.escaped(path)
        self.init(escaped.utf8.count <= 1_000 ? "\(letter)/\(escaped)" : "\(letter)#\(Self.digest(path))")
    }

    private static func escaped(_ path: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in path {
            if (0x21...0x7e).contains(byte), byte != UInt8(ascii: "%") {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// FNV-1a, 64 bits: the same in every run. Of two paths with the same one the second is left out.
    private static func digest(_ path: [UInt8]) -> String {
        let hash = path.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
