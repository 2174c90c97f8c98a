import CLinux
import Glibc

/// The process that made a connection, and what it ran when the daemon took that.
///
/// A process can run another program by the time it asks for something, or have a child ask; and in a mount namespace of
/// its own a program has any name that it likes. So the file counts, and that it is the same as at first.
/// That is no boundary between the programs of one user, who may change each other's memory (ptrace(2)).
package final class PeerProcess: Sendable {
    package struct Executable: Sendable {
        /// As the process itself sees it.
        package var path: String
        fileprivate var file: FileIdentity
    }

    package let pid: Int32
    /// A pidfd; -1 where the kernel gives none (before Linux 6.5).
    private let handle: Int32
    private let first: Executable?

    /// - Parameter handle: a pidfd, which is closed with this object, or -1.
    init(pid: Int32, handle: Int32) {
        self.pid = pid
        self.handle = handle
        let executable = Self.executable(of: pid)
        // (After the look: so the number was not another's by then.)
        first = Self.hasEnded(handle) ? nil : executable
    }

    deinit {
        if handle >= 0 { close(handle) }
    }

    /// Nil: it has ended, or runs something else than when its connection was taken.
    package var executable: Executable? {
        guard let first, let now = Self.executable(of: pid), now.file == first.file, !Self.hasEnded(handle) else {
            return nil
        }
        return now
    }

    private static func executable(of pid: Int32) -> Executable? {
        let link = "/proc/\(pid)/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink(link, &buffer, buffer.count - 1)
        guard count > 0, let file = FileIdentity(link) else { return nil }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Executable(path: path, file: file)
    }

    /// A pidfd is readable from then on.
    private static func hasEnded(_ handle: Int32) -> Bool {
        guard handle >= 0 else { return false }
        var entry = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) != 0
    }
}

extension PeerProcess.Executable {
    /// Whether its path means this very file to us as well. Blocks while what it lies in does not answer.
    package var isNamedFile: Bool { FileIdentity(path) == file }
}

/// Which file it is, for as long as somebody has it open.
private struct FileIdentity: Sendable, Equatable {
    var device: UInt64 = 0
    var inode: UInt64 = 0

    init?(_ path: String) {
        guard clinux_identity(path, &device, &inode) == 0 else { return nil }
    }
}
