import Glibc

/// What is mounted below the root. The kernel tells whoever polls the table of mounts that it is another one, not what
/// changed, and inotify says nothing of a mount.
final class InnerMounts {
    /// To poll(2), for POLLPRI; nil where there is no /proc.
    let table: Descriptor?
    /// The kernel has told it of the table.
    var mayHaveChanged = true
    private let prefix: [UInt8]
    private var mounted: Set<[UInt8]> = []
    private static let path = "/proc/self/mountinfo"
    /// More than any machine has.
    private static let largest = 64 << 20

    init(below rootPath: String) {
        prefix = Self.escaped(Array(rootPath.utf8)) + [UInt8(ascii: "/")]
        let number = open(Self.path, O_RDONLY | O_CLOEXEC)
        table = number >= 0 ? Descriptor(number) : nil
        _ = hasChanged()
    }

    /// Whether they are others than at the call before.
    func hasChanged() -> Bool {
        guard mayHaveChanged else { return false }
        mayHaveChanged = false
        let now = read()
        defer { mounted = now }
        return now != mounted
    }

    /// Of each its number and its place.
    private func read() -> Set<[UInt8]> {
        let number = open(Self.path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return [] }
        let file = Descriptor(number)
        var bytes: [UInt8] = []
        while bytes.count < Self.largest, let more = try? file.read(at: Int64(bytes.count), upTo: 1 << 16),
            !more.isEmpty
        {
            bytes += more
        }
        var found: Set<[UInt8]> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            if fields.count > 5, fields[4].starts(with: prefix) { found.insert(fields[0] + [0] + fields[4]) }
        }
        return found
    }

    /// As the table writes it (proc(5)).
    private static func escaped(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\\"):
                let digits = String(byte, radix: 8)
                return Array(("\\" + String(repeating: "0", count: 3 - digits.count) + digits).utf8)
            default: return [byte]
            }
        }
    }
}
