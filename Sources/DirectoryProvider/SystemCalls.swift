import CLinux
import Glibc

/// An open file of this process; closed with the last reference.
final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
}

/// A failed system call: its errno and its name.
struct SystemError: Error, CustomStringConvertible {
    let number: Int32
    let call: StaticString
    var description: String { "\(call): \(String(cString: strerror(number)))" }
}

/// The kinds of files that the store distinguishes.
enum FileKind { case document, folder, link, special }

/// The result of statx(2) for one file.
struct FileStatus: Sendable {
    private let raw: clinux_status
    init(_ raw: clinux_status) { self.raw = raw }

    var device: UInt64 { raw.device }
    var inode: UInt64 { raw.inode }
    var links: UInt32 { raw.links }
    var owner: UInt32 { raw.owner }
    var group: UInt32 { raw.group }
    var size: Int64 { Int64(clamping: raw.size) }
    /// The permission bits, with setuid, setgid and sticky.
    var permissions: UInt16 { UInt16(raw.mode & 0o7777) }
    var modified: Timestamp { Timestamp(raw.modified_seconds, raw.modified_nanoseconds) }
    var changed: Timestamp { Timestamp(raw.changed_seconds, raw.changed_nanoseconds) }
    /// The flags of chattr(1); 0 for most files.
    var flags: UInt64 { raw.flags }
    var isMountPoint: Bool { raw.is_mount_point }
    var born: Timestamp? { raw.has_birth ? Timestamp(raw.birth_seconds, raw.birth_nanoseconds) : nil }

    var kind: FileKind {
        switch raw.mode & UInt32(S_IFMT) {
        case UInt32(S_IFREG): .document
        case UInt32(S_IFDIR): .folder
        case UInt32(S_IFLNK): .link
        default: .special
        }
    }

    func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device && born == other.born
    }

    /// Whether this is the same file with the same contents, as far as the file system tells without reading it. Where
    /// inode numbers are not stable, a rename may change them, so they do not count.
    func isUnchanged(since other: FileStatus, usesInodes: Bool) -> Bool {
        (!usesInodes || isSameFile(as: other)) && kind == other.kind && size == other.size
            && modified == other.modified
    }
}

/// Seconds and nanoseconds as the kernel has them.
struct Timestamp: Hashable, Sendable, CustomStringConvertible {
    let seconds: Int64
    let nanoseconds: UInt32
    init(_ seconds: Int64, _ nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
    var description: String { "\(seconds).\(nanoseconds)" }
}

/// Repeats a call that a signal interrupted; throws on -1.
func check<Result: SignedInteger>(_ call: StaticString, _ body: () -> Result) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        let number = errno
        if number != EINTR { throw SystemError(number: number, call: call) }
    }
}

/// Calls `body` with `name` as a C string. The name must have no NUL; names from outside are checked before.
func withName<Result>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    (name + [0]).withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
    }
}

/// Calls on an open descriptor, without a path.
extension Descriptor {
    func status() throws(SystemError) -> FileStatus {
        var raw = clinux_status()
        _ = try check("statx") { clinux_status(number, nil, false, &raw) }
        return FileStatus(raw)
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end of the file.
    func read(at offset: Int64, upTo count: Int) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                do throws(SystemError) {
                    let done = try check("read") {
                        pread(number, buffer.baseAddress! + filled, count - filled, off_t(offset) + filled)
                    }
                    if done == 0 { return }
                    filled += done
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            done += try check("write") {
                bytes.withUnsafeBytes {
                    pwrite(number, $0.baseAddress! + done, bytes.count - done, off_t(offset) + done)
                }
            }
        }
    }

    func setModified(_ time: Timestamp) throws(SystemError) {
        _ = try check("futimens") {
            clinux_set_modified_fd(number, time.seconds, Int64(time.nanoseconds))
        }
    }

    /// As ``setModified(_:)``, for a descriptor opened with O_PATH; for a link, the link itself.
    func setModifiedOfPath(_ time: Timestamp) throws(SystemError) {
        _ = try check("utimensat") {
            clinux_set_modified_path(number, time.seconds, Int64(time.nanoseconds))
        }
    }

    func sync() throws(SystemError) { _ = try check("fsync") { fsync(number) } }
}
