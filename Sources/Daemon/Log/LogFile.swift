import Foundation
import Surroundings

/// The common log file of this user's background daemons, which all append to it. There are at most two files of about
/// ten MiB: a full log is renamed and replaces the older one.
package struct LogFile: Sendable {
    package let path: String
    private let limit: Int64
    /// The limit leaves room for a line that is written after the check of the size.
    package static let usualLimit: Int64 = 10 << 20

    package init(path: String, limit: Int64 = LogFile.usualLimit) {
        self.path = path
        self.limit = limit
    }

    /// `$XDG_STATE_HOME/hydrant/hydrant.log`. Creates the folder if it is missing; the folder must be ours, so that no
    /// other user can put a link there.
    package static func usual(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(DaemonError) -> LogFile {
        guard let base = BaseDirectory.state.path(in: environment) else {
            throw DaemonError(BaseDirectory.state.missing)
        }
        let folder = base + "/hydrant"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw DaemonError("\(folder): cannot be made: \(error.localizedDescription)") }
        var status = stat()
        guard lstat(folder, &status) == 0 else { throw DaemonError("\(folder): \(String(cString: strerror(errno)))") }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            throw DaemonError("\(folder): is not a folder of yours; find out who made it, and remove it")
        }
        if status.st_mode & 0o022 != 0 { chmod(folder, status.st_mode & 0o755) }
        return LogFile(path: folder + "/hydrant.log")
    }

    /// Opens the file for appending; refuses symbolic links and other users' files.
    package func open() throws(DaemonError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw DaemonError("\(path): \(errno == ELOOP ? "is a symbolic link" : String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(descriptor)
            throw DaemonError("\(path): is not a file of yours")
        }
        return descriptor
    }

    /// Makes the descriptor refer to the file of this name: to a new file if the current one is too large, or if
    /// another daemon has started a new one.
    package func follow(_ descriptor: Int32) {
        var own = stat()
        guard fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG else { return }
        if isNamed(own), own.st_size < limit { return }
        let lock = Glibc.open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { return }
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0 else { return }
        // Another daemon may have renamed the file already.
        if isNamed(own), rename(path, path + ".1") != 0 { return }
        guard let new = try? open() else { return }
        dup2(new, descriptor)
        close(new)
    }

    private func isNamed(_ own: stat) -> Bool {
        var named = stat()
        return lstat(path, &named) == 0 && named.st_dev == own.st_dev && named.st_ino == own.st_ino
    }
}

/// Standard error for swift-log: one line for each message, even if names in the message contain newlines.
package struct LogStream: TextOutputStream, Sendable {
    private let file: LogFile?
    private let descriptor: Int32

    /// - Parameter file: the log file, if the descriptor leads there.
    package init(_ file: LogFile? = nil, descriptor: Int32 = STDERR_FILENO) {
        self.file = file
        self.descriptor = descriptor
    }

    package func write(_ text: String) {
        let message = text.hasSuffix("\n") ? String(text.dropLast()) : text
        let line = Array((ShownText.line(message) + "\n").utf8)
        file?.follow(descriptor)
        // Write the line with one call, so that lines of several threads and daemons do not mix.
        _ = line.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
