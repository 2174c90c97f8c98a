/// A POSIX access list (acl(5)), as the kernel keeps it in an attribute: a version (32 bits), and for each entry its
/// kind, its permissions (16 bits each) and its user or group (32 bits); little-endian.
struct AccessList: Hashable, Sendable {
    static let attribute = "system.posix_acl_access"
    private static let version: [UInt8] = [2, 0, 0, 0]
    private static let entryLength = 8

    private enum Kind: UInt8 {
        case owner = 0x01
        case user = 0x02
        case owningGroup = 0x04
        case group = 0x08
        case mask = 0x10
        case other = 0x20
    }

    private(set) var bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The offset and kind of each entry; nil for a list of an unknown form.
    private var entries: [(offset: Int, kind: Kind)]? {
        guard bytes.starts(with: Self.version), (bytes.count - 4) % Self.entryLength == 0 else { return nil }
        var all: [(Int, Kind)] = []
        for offset in stride(from: 4, to: bytes.count, by: Self.entryLength) {
            guard bytes[offset + 1] == 0, let kind = Kind(rawValue: bytes[offset]) else { return nil }
            all.append((offset, kind))
        }
        return all
    }

    /// Permission bits that grant no more than the list does: in a mode with a list, the group bits are the list's
    /// mask, and a program that sees only the mode takes a named user or group for one of group or others. An unknown
    /// list grants nothing to group and others.
    func narrowed(_ mode: UInt16) -> UInt16 {
        guard let entries else { return mode & ~0o077 }
        func permissions(_ offset: Int) -> UInt16 { UInt16(bytes[offset + 2] & 7) }
        let mask = entries.first { $0.kind == .mask }.map { permissions($0.offset) } ?? 7
        var group = entries.first { $0.kind == .owningGroup }.map { permissions($0.offset) & mask } ?? 0
        var others = mode & 7
        for entry in entries where entry.kind == .user || entry.kind == .group {
            group &= permissions(entry.offset) & mask
            others &= permissions(entry.offset) & mask
        }
        return mode & ~0o077 | group << 3 | others
    }

    /// The list for a file that another group owns: that group gets no more than others.
    func ownedByAnotherGroup(_ mode: UInt16) -> AccessList {
        var list = self
        for entry in entries ?? [] where entry.kind == .owningGroup {
            list.bytes[entry.offset + 2] &= UInt8(mode & 7)
        }
        return list
    }
}
