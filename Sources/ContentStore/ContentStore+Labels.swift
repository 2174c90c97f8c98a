import CLinux
import Glibc

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

/// The label of one file.
struct FileLabel {
    let path: String
    static let prefix = "user.hydrant."
    private enum Key: String, CaseIterable { case path, identifier, base, mtime, mode, extents }

    /// Nil: no label. Every value may be wrong: the owner of the file can write it.
    func read() -> ContentLabel? {
        guard let place = get(.path) else { return nil }
        let mode = get(.mode).flatMap { UInt32(String(decoding: $0, as: UTF8.self), radix: 8) } ?? 0o600
        var extents: LabelledExtents?
        if let text = get(.extents) {
            // Unreadable extents: not all bytes are valid, but it is unknown which.
            extents = LabelledExtents(text: String(decoding: text, as: UTF8.self)) ?? LabelledExtents.unknown
        }
        return ContentLabel(
            path: place, identifier: get(.identifier).map { String(decoding: $0, as: UTF8.self) }, base: get(.base),
            modified: get(.mtime).flatMap { Int128(String(decoding: $0, as: UTF8.self)) }, mode: mode & 0o7777,
            extents: extents)
    }

    func write(
        _ label: ContentLabel?, replacing old: ContentLabel?, isNew: Bool = false
    ) throws(ContentError) -> Bool {
        // A half-removed label, left by a crash, does not count as one, but must be removed too.
        var before: [Key: [UInt8]] = [:]
        if let old {
            before = values(of: old)
        } else if !isNew {
            for key in Key.allCases { before[key] = get(key) }
        }
        let after = values(of: label)
        var hasChanged = false
        // A partial document must be marked as such before rescue would take it: the path, which makes a file count as
        // labelled, is written last and removed first.
        for key in label == nil ? Key.allCases : Key.allCases.reversed() where before[key] != after[key] {
            if try set(key, after[key]) { hasChanged = true }
        }
        return hasChanged
    }

    private func values(of label: ContentLabel?) -> [Key: [UInt8]] {
        guard let label else { return [:] }
        var values: [Key: [UInt8]] = [.path: Self.shortened(label.path)]
        values[.mode] = Array(String(label.mode, radix: 8).utf8)
        if let identifier = label.identifier, identifier.utf8.count <= 1_000 {
            values[.identifier] = Array(identifier.utf8)
        }
        if let base = label.base, base.count <= 500 { values[.base] = base }
        if let modified = label.modified { values[.mtime] = Array(String(modified).utf8) }
        if let extents = label.extents { values[.extents] = Array(extents.text.utf8) }
        return values
    }

    /// All attributes of a file share one block (4 KiB, ext4): of a very long path only the last components are kept.
    static func shortened(_ path: [UInt8]) -> [UInt8] {
        guard path.count > 1_200 else { return path }
        let tail = path.suffix(1_200)
        guard let slash = tail.firstIndex(of: UInt8(ascii: "/")) else { return Array(tail) }
        return Array("…".utf8) + tail[slash...]
    }

    private func get(_ key: Key) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = getxattr(path, Self.prefix + key.rawValue, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    private func set(_ key: Key, _ value: [UInt8]?) throws(ContentError) -> Bool {
        let name = Self.prefix + key.rawValue
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
