import FileProvider

/// What the archive's table of contents says of one entry; nothing of it is to be trusted.
struct ArchiveEntry: Sendable {
    enum Kind: Hashable, Sendable { case document, folder, link, other }

    /// Its place in the table of contents.
    let index: UInt64
    /// With all folders, as the bytes in the archive; libzip puts a space in the place of each NUL.
    let name: [UInt8]
    let kind: Kind
    /// When unpacked, if it does what it says; nil when that is more than a file can have.
    let size: Int64?
    let checksum: UInt32
    let modified: FileTime
    /// Where the archive has them.
    let permissions: UInt16?
    /// Its bytes stand in the archive as they are; anything else has to be unpacked from its start.
    let isStored: Bool
    let isEncrypted: Bool

    /// For people: invalid UTF-8 is shown as U+FFFD.
    var shownName: String { String(decoding: name, as: UTF8.self) }
}

/// The part of an entry's attributes that is the file mode of Unix, as Info-ZIP puts it into the upper half.
struct UnixMode {
    private let bits: UInt32

    /// - Parameter system: on which the entry was made (APPNOTE 4.4.2); the mode is there from Unix and macOS only.
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

    /// Without set-user-ID, set-group-ID and sticky, as unzip(1) has it: an archive from anywhere gives nobody rights.
    var permissions: UInt16 { UInt16(bits & 0o777) }
}

/// The extra field “extended timestamp” (0x5455) of the table of contents: seconds since 1970 in UTC, where an entry's
/// own date has steps of two seconds, in a time zone that nobody wrote down.
enum ExtendedTimestamp {
    static let identifier: UInt16 = 0x5455

    /// The time of the last change: a byte of flags, of which the lowest says that it is there, and 32 bits.
    static func modified(in field: UnsafeBufferPointer<UInt8>) -> FileTime? {
        guard field.count >= 5, field[0] & 1 != 0 else { return nil }
        let seconds = field[1...4].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return FileTime(seconds: Int64(Int32(bitPattern: seconds)))
    }
}
