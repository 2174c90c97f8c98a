import Glibc

/// The mounts that this process sees (proc(5), mountinfo). Looks at no mount point itself, so that a
/// dead or hung one does no harm.
public enum MountTable {
    public struct Entry: Sendable, Equatable {
        public var mountPoint: String
        public var fileSystem: String
        public var source: String
        /// Whose daemon serves it (`user_id` of a FUSE mount); nil: it is no FUSE mount.
        public var owner: UInt32?
    }

    public static let hydrantType = "fuse.hydrant"
    /// Of a folder that shows one item; its source is the mount point of that item's domain.
    package static let scopedType = "fuse.hydrant-scoped"

    /// In the order they were mounted: of two on one mount point, the later one is on top.
    public static func entries() -> [Entry] {
        guard let file = fopen("/proc/self/mountinfo", "re") else { return [] }
        defer { fclose(file) }
        var entries: [Entry] = []
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            if let entry = parse(String(cString: line)) { entries.append(entry) }
        }
        return entries
    }

    static func parse(_ line: String) -> Entry? {
        let fields = line.split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard let dash = fields.firstIndex(of: "-"), fields.count > dash + 2, fields.count > 4 else { return nil }
        return Entry(
            mountPoint: unescape(fields[4]), fileSystem: String(fields[dash + 1]), source: unescape(fields[dash + 2]),
            owner: fields.count > dash + 3 ? owner(in: fields[dash + 3]) : nil)
    }

    /// fusermount3 and the kernel write it; a user cannot name another there.
    private static func owner(in options: Substring) -> UInt32? {
        let option = options.split(separator: ",").first { $0.hasPrefix("user_id=") }
        return option.flatMap { UInt32($0.dropFirst("user_id=".count)) }
    }

    /// The domains that this user has mounted. Others' daemons take no orders from him, and a type is soon said: any user
    /// may give it to a file system of his own.
    public static func ownDomains() -> [Entry] {
        entries().filter { $0.fileSystem == hydrantType && $0.owner == geteuid() }
    }

    /// The mount that is on top at this path, if one is mounted exactly there.
    public static func mount(at path: String) -> Entry? { entries().last { $0.mountPoint == path } }

    /// The hydrant mount that an absolute path lies in, whoever's it is.
    public static func hydrantMount(containing path: String) -> Entry? {
        entries().filter { entry in
            entry.fileSystem == hydrantType
                && (path == entry.mountPoint || path.hasPrefix(entry.mountPoint == "/" ? "/" : entry.mountPoint + "/"))
        }.max { $0.mountPoint.utf8.count < $1.mountPoint.utf8.count }
    }

    /// Blanks and backslashes stand as octal escapes there.
    private static func unescape(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
