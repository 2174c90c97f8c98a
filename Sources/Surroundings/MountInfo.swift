import Glibc

/// A line of the kernel's mount table. Accesses no mount point, so that a dead or hung one does no harm.
///
/// Source: proc(5), /proc/PID/mountinfo.
package struct MountInfo: Sendable, Equatable {
    /// The numbers of the mount and of its parent mount, which the kernel reuses.
    package var id: String
    package var parent: String
    package var major: UInt32
    package var minor: UInt32
    /// As bytes.
    package var mountPoint: [UInt8]
    package var type: String
    package var source: [UInt8]
    /// The user who mounted it, as the kernel reports it for a FUSE mount (`user_id`); nil: not reported, or ambiguous.
    package var user: UInt32?

    /// Of the file system, not of this mount: `rw`, `journal_async_commit`, `rtdev=/dev/sdb1`.
    package var options: [String]

    /// As the kernel writes it: `8:1`.
    package var device: String { "\(major):\(minor)" }

    /// More than any machine has.
    private static let largest = 64 << 20

    /// In mount order: of two mounts on one mount point, the later one is on top. Empty where there is no /proc.
    package static func all() -> [MountInfo] { parse(SystemFile.read("/proc/self/mountinfo", most: largest) ?? []) }

    /// Those with a file system of this type. Of other lines it reads nothing: a machine can have hundreds of mounts.
    package static func all(of type: String) -> [MountInfo] {
        parse(SystemFile.read("/proc/self/mountinfo", most: largest) ?? [], of: type)
    }

    package static func parse(_ text: [UInt8], of type: String) -> [MountInfo] {
        // (In other fields a space is escaped.)
        lines(of: text, with: Array(" - \(type) ".utf8)).compactMap { MountInfo(line: text[$0]) }
    }

    /// The lines that have the mark, whose second byte is a dash.
    private static func lines(of text: [UInt8], with mark: [UInt8]) -> [Range<Int>] {
        text.withUnsafeBytes { text in
            guard let base = text.baseAddress else { return [] }
            func next(_ byte: Character, from start: Int) -> Int {
                let found = memchr(base + start, Int32(byte.asciiValue ?? 0), text.count - start)
                return found.map { UnsafeRawPointer($0) - base } ?? text.count
            }
            var found: [Range<Int>] = []
            var start = 0
            while start < text.count {
                let end = next("\n", from: start)
                var dash = next("-", from: start)
                while dash < end {
                    let first = dash - 1
                    if first >= start, first + mark.count <= end, memcmp(base + first, mark, mark.count) == 0 {
                        found.append(start..<end)
                        break
                    }
                    dash = next("-", from: dash + 1)
                }
                start = end + 1
            }
            return found
        }
    }

    package static func parse(_ text: [UInt8]) -> [MountInfo] {
        text.split(separator: UInt8(ascii: "\n")).compactMap(MountInfo.init(line:))
    }

    // 36 35 0:49 /root /mount/point rw,… shared:1 - fuse.hydrant source options
    private init?(line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count > 6, let dash = fields[6...].firstIndex(of: [UInt8(ascii: "-")]), dash + 1 < fields.count
        else { return nil }
        let numbers = Self.text(fields[2]).split(separator: ":").compactMap { UInt32($0) }
        guard numbers.count == 2 else { return nil }
        (id, parent, major, minor) = (Self.text(fields[0]), Self.text(fields[1]), numbers[0], numbers[1])
        mountPoint = Self.unescaped(fields[4])
        type = Self.text(fields[dash + 1])
        source = dash + 2 < fields.count ? Self.unescaped(fields[dash + 2]) : []
        let name = Array("user_id=".utf8)
        let last = (dash + 3 < fields.count ? fields[dash + 3] : []).split(separator: UInt8(ascii: ","))
        options = last.map(Self.text)
        let users = last.filter { $0.starts(with: name) }
        user = users.count == 1 ? UInt32(Self.text(users[0].dropFirst(name.count))) : nil
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Decodes the octal escapes for space, tab, newline and backslash.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let value = UInt8(text(digits), radix: 8) {
                result.append(value)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
