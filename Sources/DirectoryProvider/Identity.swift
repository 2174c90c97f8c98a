import FileProvider
import Surroundings

/// Makes the identifiers of items; only this type knows their form.
///
/// - `i:INODE:BIRTH`: by inode and birth time, which no other file of the file system ever has. It survives renames.
///   `d:DEVICE:INODE:BIRTH` on a file system mounted below the root.
/// - `p:PATH`, percent-escaped: where there are no birth times or no user attributes, and for a document with several
///   names, since identifiers must be unique. A rename changes it.
///
/// Replacing a document makes a new inode, but the identifier stays: the new file carries the old identifier in an
/// attribute, together with its own inode. A copy of the file has another inode, so its attribute does not count.
enum Identity {
    static let attribute = "user.hydrant.identity"
    /// The limit of the SDK.
    private static let longest = 1024

    static func ofInode(_ status: FileStatus, isOnRootDevice: Bool) -> ItemIdentifier? {
        guard let born = status.born else { return nil }
        return isOnRootDevice
            ? ItemIdentifier("i:\(status.inode):\(born)")
            : ItemIdentifier("d:\(status.device):\(status.inode):\(born)")
    }

    /// The identifier of the file itself that was this item with this body. (A file that was not an item of its own
    /// counts as one of the root's file system.)
    static func ofFile(_ body: Body, knownAs item: ItemIdentifier) -> ItemIdentifier {
        let end = "\(body.inode):\(body.born)"
        return isOfInode(item) && item.rawValue.hasSuffix(":" + end) ? item : ItemIdentifier("i:" + end)
    }

    static func ofPath(_ components: [[UInt8]]) -> ItemIdentifier {
        let escaped = components.map(escape).joined(separator: "/")
        if escaped.utf8.count + 2 <= longest { return ItemIdentifier("p:" + escaped) }
        // Too long for an identifier: a digest and the end. It cannot be parsed, only searched for.
        return ItemIdentifier("h:\(digest(escaped)):" + String(escaped.suffix(900)))
    }

    /// Whether it names the same item after renames and after the next boot.
    static func isForEver(_ identifier: ItemIdentifier) -> Bool {
        identifier == .rootContainer || identifier.rawValue.hasPrefix("i:")
    }

    /// The names from the root down; nil when the identifier is not a path, or is one that no item can have.
    static func components(of identifier: ItemIdentifier) -> [[UInt8]]? {
        guard identifier.rawValue.hasPrefix("p:") else { return nil }
        let parts = Array(identifier.rawValue.utf8.dropFirst(2)).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let names = parts.compactMap(unescape)
        return names.count == parts.count && names.allSatisfy { Filename(bytes: $0).problem == nil }
            ? names : nil
    }

    // MARK: The attribute

    static func attributeValue(_ identifier: ItemIdentifier, for status: FileStatus) -> [UInt8]? {
        status.born.map { Array("\(identifier.rawValue) \(status.inode):\($0)".utf8) }
    }

    /// The identifier in `value`, if it was written for the file with `status` at `path`; ``Sightings`` says whether to
    /// believe it.
    static func identifier(
        in value: [UInt8], for status: FileStatus, path: ItemIdentifier
    ) -> ItemIdentifier? {
        let text = String(decoding: value, as: UTF8.self)
        guard let space = text.lastIndex(of: " ") else { return nil }
        let identifier = ItemIdentifier(String(text[..<space]))
        guard attributeValue(identifier, for: status) == value else { return nil }
        // The file had several names when it was replaced. In another place, the path may be another item's.
        return identifier == path || isOfInode(identifier) ? identifier : nil
    }

    private static func isOfInode(_ identifier: ItemIdentifier) -> Bool {
        let parts = identifier.rawValue.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.dropFirst().dropLast()
        guard let kind = parts.first, kind == "i" && numbers.count == 1 || kind == "d" && numbers.count == 2 else {
            return false
        }
        return numbers.allSatisfy { UInt64($0) != nil } && parts.last.flatMap { Timestamp($0) } != nil
    }

    // MARK: Bytes as text

    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~".utf8)
    private static let hex = Array("0123456789ABCDEF".utf8)

    private static func escape(_ name: [UInt8]) -> String {
        var escaped: [UInt8] = []
        for byte in name {
            if plain.contains(byte) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func unescape(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap({ hex.firstIndex(of: $0) }),
                let low = rest.popFirst().flatMap({ hex.firstIndex(of: $0) })
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }

    /// Twice with different starts: not a defence, just a short name for a long path.
    private static func digest(_ text: String) -> String {
        func hash(_ start: UInt64) -> String {
            var hash = StableHash(start: start)
            hash.add(text.utf8)
            return hash.text
        }
        return hash(0xcbf2_9ce4_8422_2325) + "-" + hash(0x8422_2325_cbf2_9ce4)
    }
}
