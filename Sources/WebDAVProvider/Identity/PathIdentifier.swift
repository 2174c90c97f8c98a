import FileProvider
import Hashing
import Surroundings

/// Identifiers for a server that has none: the path at which an item was first seen, from the folder's identifier on.
///
/// They stay with the item when it is renamed here, or when ``Recognition`` recognises a rename by another client: then
/// the identifier is not a path any more, and ``Places`` and the catalog know where the item is.
///
/// `/Letters/June.txt`; with `#2` behind it where a moved item has that identifier; a hash where the path would be too
/// long.
enum PathIdentifier {
    /// In bytes; 1,024 are allowed.
    private static let longest = 900

    /// - Parameter number: from 1 on, counts the items that would have the same identifier.
    static func make(in folder: ItemIdentifier, _ name: Filename, number: Int = 1) -> ItemIdentifier {
        let start = folder == .rootContainer ? "" : folder.rawValue
        let suffix = number == 1 ? "" : "#\(number)"
        let identifier = start + "/" + escape(name) + suffix
        guard identifier.utf8.count > longest || start.hasPrefix("h:") else { return ItemIdentifier(identifier) }
        return ItemIdentifier("h:" + SHA256.hash(data: Array(identifier.utf8)).hexadecimal)
    }

    /// The place at which it was made; nil: the identifier does not tell.
    static func place(of identifier: ItemIdentifier) -> Place? {
        let bytes = Array(identifier.rawValue.utf8)
        guard bytes.first == UInt8(ascii: "/"), let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let last = bytes[(slash + 1)...]
        guard let name = unescape(last.prefix { $0 != UInt8(ascii: "#") }), !name.isEmpty else { return nil }
        let folder =
            slash == 0 ? ItemIdentifier.rootContainer : ItemIdentifier(String(decoding: bytes[..<slash], as: UTF8.self))
        return Place(parent: folder, name: Filename(bytes: name))
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    /// Readable where possible.
    private static func escape(_ name: Filename) -> String {
        let isText = String(validating: name.bytes, as: UTF8.self) != nil
        var result: [UInt8] = []
        for byte in name.bytes {
            if byte < 32 || byte == 127 || "%#/".utf8.contains(byte) || byte > 127 && !isText {
                result += [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func unescape(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(hexadecimal.firstIndex),
                let low = bytes.next().flatMap(hexadecimal.firstIndex)
            else { return nil }
            result.append(UInt8(high << 4 | low))
        }
        return result
    }
}
