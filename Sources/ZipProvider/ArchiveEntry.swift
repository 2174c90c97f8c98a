import FileProvider

/// An entry of the archive's central directory; its values cannot be trusted.
struct ArchiveEntry: Sendable {
    enum Kind: Hashable, Sendable { case document, folder, link, other }

    /// Its index in the central directory.
    let index: UInt64
    /// With all folders, as the bytes in the archive; libzip replaces each NUL by a space.
    let name: [UInt8]
    let kind: Kind
    /// The size when unpacked, as the archive claims; nil when no file can be so large.
    let size: Int64?
    let checksum: UInt32
    let modified: FileTime
    /// Where the archive has them.
    let permissions: UInt16?
    /// Its bytes are stored unpacked; other entries must be unpacked from their start.
    let isStored: Bool
    let isEncrypted: Bool

    /// For people: invalid UTF-8 is shown as U+FFFD.
    var shownName: String { String(decoding: name, as: UTF8.self) }
}

/// The Unix file mode in an entry's attributes, which Info-ZIP puts into the upper half.
struct UnixMode {
    private let bits: UInt32

    /// - Parameter system: the system that made the entry (APPNOTE 4.4.2); only Unix and macOS set the mode.
    init?(attributes: UInt32, system: UInt8) {
        guard system == 3 || system == 19, attributes >> 16 != 0 else { return nil }
        bits = attributes >> 16
    }

    var kind: ArchiveEntry.Kind {
        switch bits & 0o170000 {
        case 0, 0o100000: .document
        case 0o040000: .folder
        case 0o120000: .link
        default: .other
        }
    }

    /// Without set-user-ID, set-group-ID and sticky, as in unzip(1): an archive must not grant rights.
    var permissions: UInt16 { UInt16(bits & 0o777) }
}

/// The extra field “extended timestamp” (0x5455) of the central directory: seconds since 1970 in UTC. An entry's own
/// date has steps of two seconds, in an unknown time zone.
enum ExtendedTimestamp {
    static let identifier: UInt16 = 0x5455

    /// The time of the last change: a byte of flags, whose lowest bit says that the time is there, and 32 bits.
    static func modified(in field: UnsafeBufferPointer<UInt8>) -> FileTime? {
        guard field.count >= 5, field[0] & 1 != 0 else { return nil }
        let seconds = field[1...4].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return FileTime(seconds: Int64(Int32(bitPattern: seconds)))
    }
}
