import FileProvider

/// The keys of items. An item's identifier is its key below the mounted prefix: `Letters/June.txt`, and `Letters/` for
/// a folder.
enum S3Key {
    /// In bytes of UTF-8.
    static let longest = 1_024

    /// A part of a key that cannot be a file's name.
    struct Unusable: Error {
        /// The name to show.
        let name: Filename
        /// After the name.
        let reason: String
    }

    static func isFolder(_ identifier: ItemIdentifier) -> Bool {
        identifier == .rootContainer || identifier.rawValue.utf8.last == UInt8(ascii: "/")
    }

    static func isFolder(_ path: String) -> Bool { path.isEmpty || path.utf8.last == UInt8(ascii: "/") }

    /// Without the slash of a folder.
    static func plain(_ path: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? String(decoding: path.utf8.dropLast(), as: UTF8.self) : path
    }

    /// Below the prefix; empty for the topmost folder.
    static func path(_ identifier: ItemIdentifier) -> String {
        identifier == .rootContainer ? "" : identifier.rawValue
    }

    static func identifier(_ path: String) -> ItemIdentifier { path.isEmpty ? .rootContainer : ItemIdentifier(path) }

    /// The path of the folder: empty, or with a slash at its end.
    static func folder(of path: String) -> String {
        let bytes = Array(path.utf8)
        let end = bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes[...]
        guard let slash = end.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(decoding: bytes[...slash], as: UTF8.self)
    }

    /// Without the slash of a folder.
    static func name(of path: String) -> Filename {
        let bytes = Array(path.utf8)
        let end = bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes[...]
        return Filename(bytes: end[((end.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...])
    }

    /// Whether the server's entry directly below a folder can be shown.
    ///
    /// - Parameter rest: its key below the folder.
    static func check(_ rest: String) throws(Unusable) {
        let name = name(of: rest)
        if name.bytes.isEmpty {
            throw Unusable(name: Filename("/"), reason: "its key has two slashes, one after the other")
        }
        if let problem = name.problem { throw Unusable(name: name, reason: problem) }
    }

    /// The path of a new item.
    ///
    /// - Throws: for a name that no key can have.
    static func path(
        in folder: ItemIdentifier, _ name: Filename, isFolder: Bool, prefix: String
    ) throws(FileProviderError) -> String {
        if let problem = name.problem { throw FileProviderError(.invalidName, "“\(name)”: \(problem)") }
        guard let text = String(validating: name.bytes, as: UTF8.self) else {
            throw FileProviderError(.invalidName, "“\(name)”: in a bucket a name must be UTF-8; rename it")
        }
        guard !Reserved.contains(name) else {
            throw FileProviderError(.invalidName, "“\(name)”: Hydrant reserves such names in a bucket; rename it")
        }
        let path = path(folder) + text + (isFolder ? "/" : "")
        let length = prefix.utf8.count + path.utf8.count
        guard length <= longest else {
            throw FileProviderError(
                .invalidName,
                "“\(name)”: with its folders the name has \(length) bytes, and a bucket takes \(longest); use shorter "
                    + "names")
        }
        return path
    }

    /// Names for Hydrant's own objects, which no listing shows.
    enum Reserved {
        static let start = ".hydrant-"
        static func contains(_ name: Filename) -> Bool { name.bytes.starts(with: start.utf8) }
    }
}
