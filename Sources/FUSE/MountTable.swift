internal import CFUSE
internal import CLinux
internal import Glibc

/// Our mount as /proc/self/mountinfo shows it: to look at the mount point itself would be a
/// request to ourselves.
struct MountTable {
    struct Line {
        /// Of the mount, and of the one that it is mounted on.
        var id: String
        var parent: String
        var device: String
        var path: [UInt8]
        var type: String
        /// Who has mounted it, as the kernel says it of a FUSE mount.
        var user: String?
    }

    private let lines: [Line]

    init() { self.init(text: Self.contents(of: "/proc/self/mountinfo")) }

    init(text: [UInt8]) {
        // 36 35 0:49 /root /mount/point rw,… shared:1 - fuse.hydrant source options
        lines = text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 6, let dash = fields[6...].firstIndex(of: [UInt8(ascii: "-")]),
                dash + 1 < fields.count
            else { return nil }
            let texts = [0, 1, 2, dash + 1].map { String(decoding: fields[$0], as: UTF8.self) }
            return Line(
                id: texts[0], parent: texts[1], device: texts[2], path: Self.unescaped(fields[4]), type: texts[3],
                user: Self.user(in: fields.last ?? []))
        }
    }

    private static func user(in options: ArraySlice<UInt8>) -> String? {
        let name = Array("user_id=".utf8)
        return options.split(separator: UInt8(ascii: ",")).last { $0.starts(with: name) }
            .map { String(decoding: $0.dropFirst(name.count), as: UTF8.self) }
    }

    /// The FUSE mount on top at `path`.
    func fuse(at path: String) -> Line? {
        guard let top = lines.last(where: { $0.path == Array(path.utf8) }), top.type.hasPrefix("fuse") else {
            return nil
        }
        return top
    }

    /// The device ("0:49") of the FUSE mount on top at `path`.
    func fuseDevice(at path: String) -> String? { fuse(at: path)?.device }

    static func contents(of path: String) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { return [] }
        defer { close(fd) }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(fd, &buffer, buffer.count)
            guard count > 0 else { return contents }
            contents += buffer[..<count]
        }
    }

    /// Space, tab, newline and backslash are written as \040 and the like.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                result.append(value)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

/// Takes our mount away from its place without asking the file system anything; who has
/// files open keeps them. Does nothing when something else is mounted there by now.
func detachMount(at path: String, device: String?) {
    guard let device, MountTable().fuseDevice(at: path) == device else { return }
    if geteuid() == 0, clinux_unmount(path, CLINUX_UNMOUNT_DETACH) == 0 { return }

    let arguments = ["fusermount3", "-u", "-z", "-q", "--", path]
    let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child = pid_t()
    guard posix_spawnp(&child, "fusermount3", nil, nil, words, environ) == 0 else { return }
    var status: Int32 = 0
    while waitpid(child, &status, 0) == -1, errno == EINTR {}
}

/// In INIT the kernel names its limit for read-ahead (128 KiB) and takes less, never more;
/// root may raise it elsewhere, afterwards.
func raiseReadAhead(to bytes: Int, device: String) {
    let fd = open("/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY | O_CLOEXEC)
    guard fd >= 0 else { return }
    let text = Array(String(bytes / 1024).utf8)
    _ = write(fd, text, text.count)
    close(fd)
}
