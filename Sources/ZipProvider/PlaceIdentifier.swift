import FileProvider

/// Makes the identifier of a place in the archive, step by step from that of its folder, so that whole paths need not
/// be kept.
///
/// An identifier has the path, so that a document keeps its identifier when the archive is replaced; and the kind,
/// because an item never changes its kind. Bytes outside ASCII are written as `%C3`: identifiers are compared as text,
/// which does not distinguish é from e with an accent, but names in an archive do. A path that is too long is replaced
/// by its digest.
struct PlaceIdentifier: Sendable {
    /// In bytes, of an encoded path.
    private static let longest = 1_000

    /// In bytes, of the encoded path; 0 for the topmost folder.
    private let length: Int32
    /// FNV-1a of the path, 64 bits: the same in every run. Of two long paths with the same digest the second is left
    /// out.
    let digest: UInt64

    static let top = PlaceIdentifier(length: 0, digest: 0xcbf2_9ce4_8422_2325)

    private init(length: Int32, digest: UInt64) {
        self.length = length
        self.digest = digest
    }

    /// For the item of this name in the folder with this identifier.
    func below(_ name: Filename) -> PlaceIdentifier {
        var (length, digest) = (length, digest)
        func add(_ byte: UInt8, _ written: Int32) {
            length += written
            digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        if length > 0 { add(UInt8(ascii: "/"), 1) }
        for byte in name.bytes { add(byte, Self.isPlain(byte) ? 1 : 3) }
        return PlaceIdentifier(length: length, digest: digest)
    }

    /// Whether the identifier does not hold its path.
    var isDigest: Bool { length > Self.longest }

    /// - Parameter names: the path from the top; not called if the identifier does not hold it.
    func identifier(_ letter: Letter, _ names: () -> [Filename]) -> ItemIdentifier {
        if length == 0 { return .rootContainer }
        if isDigest { return ItemIdentifier("\(letter.rawValue)#\(String(digest, radix: 16))") }
        return ItemIdentifier("\(letter.rawValue)/\(Self.written(names()))")
    }

    enum Letter: Character, Sendable { case folder = "d", document = "f", link = "l" }

    /// The parts of an identifier, which may be forged.
    enum Parsed {
        case path(Letter, [Filename])
        case digest(Letter, UInt64)

        init?(_ identifier: ItemIdentifier) {
            guard let letter = identifier.rawValue.first.flatMap(Letter.init(rawValue:)) else { return nil }
            let rest = identifier.rawValue.utf8.dropFirst()
            switch rest.first {
            case UInt8(ascii: "/"):
                guard let names = PlaceIdentifier.names(Array(rest.dropFirst())) else { return nil }
                self = .path(letter, names)
            case UInt8(ascii: "#"):
                guard let digest = UInt64(String(decoding: rest.dropFirst(), as: UTF8.self), radix: 16) else {
                    return nil
                }
                self = .digest(letter, digest)
            default: return nil
            }
        }
    }

    // MARK: Writing and reading paths

    private static func isPlain(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "%") }

    private static func written(_ names: [Filename]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for name in names {
            if !text.isEmpty { text.append(UInt8(ascii: "/")) }
            for byte in name.bytes {
                if isPlain(byte) {
                    text.append(byte)
                } else {
                    text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func names(_ text: [UInt8]) -> [Filename]? {
        guard text.count <= longest else { return nil }
        var names: [Filename] = []
        for part in text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            var bytes: [UInt8] = []
            var index = part.startIndex
            while index < part.endIndex {
                if part[index] == UInt8(ascii: "%") {
                    guard part.endIndex - index >= 3,
                        let byte = UInt8(String(decoding: part[(index + 1)..<(index + 3)], as: UTF8.self), radix: 16)
                    else { return nil }
                    bytes.append(byte)
                    index += 3
                } else {
                    bytes.append(part[index])
                    index += 1
                }
            }
            names.append(Filename(bytes: bytes))
        }
        return names
    }
}
