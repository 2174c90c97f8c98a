import FileProvider
import Surroundings

/// The paths of items. An item's identifier is its path below the mounted folder: `Letters/June.txt`, and `Letters/`
/// for a folder.
enum RclonePath {
    static func isFolder(_ identifier: ItemIdentifier) -> Bool {
        identifier == .rootContainer || isFolder(identifier.rawValue)
    }

    static func isFolder(_ path: String) -> Bool { path.isEmpty || path.utf8.last == UInt8(ascii: "/") }

    /// Without the slash of a folder: as rclone takes it.
    static func plain(_ path: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? String(decoding: path.utf8.dropLast(), as: UTF8.self) : path
    }

    /// Empty for the topmost folder.
    static func path(_ identifier: ItemIdentifier) -> String {
        identifier == .rootContainer ? "" : identifier.rawValue
    }

    static func identifier(_ path: String) -> ItemIdentifier { path.isEmpty ? .rootContainer : ItemIdentifier(path) }

    /// The path of the folder: empty, or with a slash at its end.
    static func folder(of path: String) -> String {
        let bytes = Array(plain(path).utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(decoding: bytes[...slash], as: UTF8.self)
    }

    /// Without the slash of a folder.
    static func name(of path: String) -> String {
        let bytes = Array(plain(path).utf8)
        return String(decoding: bytes[((bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...], as: UTF8.self)
    }

    /// The path of a new item.
    ///
    /// - Throws: for a name that no remote can have.
    static func path(in folder: ItemIdentifier, _ name: Filename, isFolder: Bool) throws(FileProviderError) -> String {
        if let problem = name.problem { throw FileProviderError(.invalidName, "“\(name)”: \(problem)") }
        guard let text = String(validating: name.bytes, as: UTF8.self) else {
            throw FileProviderError(.invalidName, "“\(name)”: for rclone a name must be UTF-8; rename it")
        }
        guard !ReservedName.contains(text) else {
            throw FileProviderError(.invalidName, "“\(name)”: Hydrant reserves such names in a store; rename it")
        }
        // (rclone reads nothing by a name with a line end; other control characters break a WebDAV server's listings.)
        guard !text.utf8.contains(where: { $0 < 32 || $0 == 127 }) else {
            throw FileProviderError(
                .invalidName, "“\(name)”: names with control characters do not go through rclone; rename it")
        }
        let path = path(folder) + text + (isFolder ? "/" : "")
        guard path.utf8.count <= longest else {
            throw FileProviderError(
                .invalidName,
                "“\(name)”: with its folders the name has \(path.utf8.count) bytes, more than \(longest); use "
                    + "shorter names")
        }
        return path
    }

    /// In bytes: an identifier has no more.
    static let longest = 1_024
}

/// Names for Hydrant's own files in a store, which no listing shows.
enum ReservedName {
    private static let start = ".hydrant-"
    /// In a folder that would otherwise have nothing, where the store has no empty folders.
    static let folder = start + "folder"
    private static let draft = start + "new-"
    private static let aside = start + "old-"
    private static let move = start + "move-"
    /// In bytes: longer names get no companions, since stores have limits (crypt takes 143).
    private static let longest = 96

    static func contains(_ name: String) -> Bool { name.utf8.starts(with: start.utf8) }

    static func canAccompany(_ name: String) -> Bool { name.utf8.count <= longest }

    /// A document that is being sent.
    ///
    /// - Parameter sender: of this mount, 8 characters.
    static func draft(of name: String, _ sender: String) -> String { "\(draft)\(sender)-\(name)" }

    static func isDraft(_ name: String) -> Bool { name.utf8.starts(with: draft.utf8) }

    /// The version that is about to be replaced.
    ///
    /// - Parameter token: 8 characters.
    static func aside(of name: String, _ token: String) -> String { "\(aside)\(token)-\(name)" }

    /// The name that was moved aside; nil: another name.
    static func original(ofAside name: String) -> String? {
        guard name.utf8.starts(with: aside.utf8) else { return nil }
        let rest = name.utf8.dropFirst(aside.utf8.count)
        guard rest.count > 9, rest.dropFirst(8).first == UInt8(ascii: "-") else { return nil }
        return String(decoding: rest.dropFirst(9), as: UTF8.self)
    }

    /// In a folder that is being filled by a move from `source`.
    static func move(from source: String) -> String { move + StableHash(source.utf8).text }

    static func isMove(_ name: String) -> Bool { name.utf8.starts(with: move.utf8) }

    /// A name for a version of somebody else's that has lost its own.
    ///
    /// - Parameter token: 8 characters.
    static func saved(_ name: String, _ token: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(name) (\(token))" }
        return "\(name[..<dot]) (\(token))\(name[dot...])"
    }
}
