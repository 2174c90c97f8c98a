import CLinux
import Glibc
import Surroundings

/// Labels of modified content: extended attributes of its file (xattr(7)).
extension ContentStore {
    /// The label of a generation's file; nil when it has none, or does not exist.
    package func label(of id: GenerationID) -> ContentLabel? { FileLabel(path: path(id)).read() }

    /// Sets or removes the label of a generation's file. Writes only the differences, which change the file's ctime.
    ///
    /// - Parameters:
    ///   - old: the present label, if the caller knows it; nil: it is read.
    ///   - isNew: the file is new, and has no label.
    /// - Returns: whether anything was written: not without a file, or without room for attributes.
    @discardableResult
    package func setLabel(
        _ label: ContentLabel?, of id: GenerationID, replacing old: ContentLabel? = nil, isNew: Bool = false
    ) throws(ContentError) -> Bool {
        try FileLabel(path: path(id)).write(label, replacing: old, isNew: isNew)
    }

    /// Whether the state directory's file system keeps labels (user_xattr; tmpfs since Linux 6.6).
    package var keepsLabels: Bool {
        let (folder, name) = (directory + "/storage", FileLabel.prefix + "probe")
        guard setxattr(folder, name, name, 1, 0) == 0 else { return errno != EOPNOTSUPP }
        removexattr(folder, name)
        return true
    }
}

/// The label of one file: one extended attribute, so that a label is there whole or not at all. A line for each fact,
/// `NAME=VALUE`; the path is the last, to the end.
struct FileLabel {
    let path: String
    static let prefix = "user.hydrant."
    private static let attribute = prefix + "label"
    private enum Key: String, CaseIterable { case mode, base, mtime, extents, identifier, path }
    private typealias Values = [Key: [UInt8]]

    // MARK: Reading

    /// Nil: no label. Every value may be wrong: the owner of the file can write it.
    func read() -> ContentLabel? {
        if let text = get(Self.attribute) { return Self.label(Self.values(in: text)) }
        return older().map(Self.label)
    }

    /// Hydrant before 2026-12 kept each fact in an attribute of its own; without a path it was no label.
    private func older() -> Values? {
        guard let path = get(Self.name(.path)) else { return nil }
        var values: Values = [.path: path]
        for key in Key.allCases where key != .path { values[key] = get(Self.name(key)) }
        return values
    }

    private static func label(_ values: Values) -> ContentLabel {
        func text(_ key: Key) -> String? { values[key].map { String(decoding: $0, as: UTF8.self) } }
        let mode = text(.mode).flatMap { UInt32($0, radix: 8) } ?? 0o600
        // Unreadable extents: not all bytes are valid, but it is unknown which.
        let extents = text(.extents).map { LabelledExtents(text: $0) ?? .unknown }
        return ContentLabel(
            path: values[.path] ?? [], identifier: text(.identifier), base: values[.base],
            modified: text(.mtime).flatMap { Int128($0) }, mode: mode & 0o7777,
            extents: values[.path] == nil ? .unknown : extents)
    }

    private static func values(in text: [UInt8]) -> Values {
        var values: Values = [:]
        var rest = text[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            let name = line.prefix { $0 != UInt8(ascii: "=") }
            let key = Key(rawValue: String(decoding: name, as: UTF8.self))
            let value = (key == .path ? rest : line).dropFirst(name.count + 1)
            // (A line of another version, or somebody's, says nothing.)
            if let key, name.count < line.count { values[key] = decoded(Array(value), key) }
            if key == .path { break }
            rest = rest.dropFirst(line.count + 1)
        }
        return values
    }

    /// An identifier may have line ends.
    private static func decoded(_ value: [UInt8], _ key: Key) -> [UInt8]? {
        switch key {
        case .base: bytes(hexadecimal: value)
        case .identifier: unescaped(value)
        default: value
        }
    }

    private static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in text {
            if isEscaped {
                bytes.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func escaped(_ identifier: String) -> String {
        guard identifier.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\n") }) else {
            return identifier
        }
        let bytes = identifier.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\\"): Array(#"\\"#.utf8)
            case UInt8(ascii: "\n"): Array(#"\n"#.utf8)
            default: [byte]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Writing

    func write(
        _ label: ContentLabel?, replacing old: ContentLabel?, isNew: Bool = false
    ) throws(ContentError) -> Bool {
        let text = label.map(Self.text)
        if isNew || old != nil {
            return try text == old.map(Self.text) ? false : set(Self.attribute, text)
        }
        let names = names()
        // (The path first: without it, the rest is no label.)
        let older = Key.allCases.reversed().map(Self.name).filter(names.contains)
        func removeOlder() throws(ContentError) { for name in older { _ = try set(name, nil) } }
        guard names.contains(Self.attribute) ? get(Self.attribute) != text : text != nil else {
            try removeOlder()
            return !older.isEmpty
        }
        // A label that is removed is not to return as an older one.
        if text == nil { try removeOlder() }
        var hasChanged = false
        do throws(ContentError) { hasChanged = try set(Self.attribute, text) } catch {
            // (There may be no room for both.)
            guard text != nil, !older.isEmpty else { throw error }
            try removeOlder()
            hasChanged = try set(Self.attribute, text)
        }
        if text != nil { try removeOlder() }
        return hasChanged || !older.isEmpty
    }

    private static func text(_ label: ContentLabel) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(label.path.count + 200)
        func add(_ key: Key, _ value: String) {
            text += "\(key.rawValue)=".utf8
            text += value.utf8
            text.append(UInt8(ascii: "\n"))
        }
        add(.mode, String(label.mode, radix: 8))
        if let base = label.base, base.count <= 250 { add(.base, base.hexadecimal) }
        if let modified = label.modified { add(.mtime, "\(modified)") }
        if let extents = label.extents { add(.extents, extents.text) }
        if let identifier = label.identifier, identifier.utf8.count <= 1_000 { add(.identifier, escaped(identifier)) }
        text += "path=".utf8
        return text + shortened(label.path)
    }

    /// All attributes of a file share one block (4 KiB, ext4): of a very long path only the last components are kept.
    static func shortened(_ path: [UInt8]) -> [UInt8] {
        guard path.count > 1_200 else { return path }
        let tail = path.suffix(1_200)
        guard let slash = tail.firstIndex(of: UInt8(ascii: "/")) else { return Array(tail) }
        return Array("…".utf8) + tail[slash...]
    }

    /// Nil: not such a text.
    private static func bytes(hexadecimal text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: text.count, by: 2) {
            guard let byte = UInt8(String(decoding: text[place..<(place + 2)], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }

    // MARK: Attributes

    private static func name(_ key: Key) -> String { prefix + key.rawValue }

    private func names() -> Set<String> {
        var buffer = [CChar](repeating: 0, count: 65_536)
        let count = listxattr(path, &buffer, buffer.count)
        guard count > 0 else { return [] }
        let names = buffer[..<count].split(separator: 0)
        return Set(names.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) })
    }

    private func get(_ name: String) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = getxattr(path, name, &buffer, buffer.count)
        // (A value that is longer than any of ours is there, and says nothing.)
        if count < 0 { return errno == ERANGE ? [] : nil }
        return Array(buffer[..<count])
    }

    private func set(_ name: String, _ value: [UInt8]?) throws(ContentError) -> Bool {
        let result =
            if let value { setxattr(path, name, value, value.count, 0) } else { removexattr(path, name) }
        if result == 0 { return true }
        switch errno {
        case ENODATA, ENOENT, EOPNOTSUPP: return false
        default: throw .last(path)
        }
    }
}

extension LabelledExtents {
    /// No byte is known to be valid.
    static let unknown = LabelledExtents(baseSize: .max, ranges: [])
}
