import CLinux
import Glibc

/// The process that made a connection, and the executable that it ran when the daemon accepted the connection.
///
/// A process can run another program before it sends a request, or let a child send it; and in a mount namespace of its
/// own it can give its executable any path. So a request counts only if the executable's file is the same as at the
/// start. This is no boundary between the programs of one user, which may change each other's memory (ptrace(2)).
package final class PeerProcess: Sendable {
    package struct Executable: Sendable {
        /// The path in the process's own mount namespace.
        package var path: String
        fileprivate var file: FileIdentity
    }

    package let pid: Int32
    /// A pidfd; -1: the kernel gives none (before Linux 6.5).
    private let handle: Int32
    private let first: Executable?

    /// - Parameter handle: a pidfd, which this object closes, or -1.
    init(pid: Int32, handle: Int32) {
        self.pid = pid
        self.handle = handle
        let executable = Self.executable(of: pid)
        // Checked after reading the executable: if the process still runs, the pid was its own.
        first = Self.hasEnded(handle) ? nil : executable
    }

    deinit {
        if handle >= 0 { close(handle) }
    }

    /// Nil: the process has ended, or runs another executable than at the start.
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

    /// A pidfd becomes readable when its process ends.
    private static func hasEnded(_ handle: Int32) -> Bool {
        guard handle >= 0 else { return false }
        var entry = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) != 0
    }
}

extension PeerProcess.Executable {
    /// Whether the path leads to this very file in our mount namespace too. Blocks while its file system does not
    /// answer.
    package var isNamedFile: Bool { FileIdentity(path) == file }
}

/// Identifies a file for as long as somebody has it open.
private struct FileIdentity: Sendable, Equatable {
    var device: UInt64 = 0
    var inode: UInt64 = 0

    init?(_ path: String) {
        guard clinux_identity(path, &device, &inode) == 0 else { return nil }
    }
}
