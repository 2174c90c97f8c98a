import CLinux
import Foundation
import NIOPosix
import Synchronization

/// Runs a body on a thread of its own, off the cooperative pool, because the disk may be slow or remote.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

/// Identifies a file and the state of its contents.
struct FileStamp: Equatable, Sendable {
    private let device: UInt
    private let inode: UInt
    let size: Int
    private let times: [Int]
    let isRegular: Bool

    /// - Parameter follows: follow a symbolic link.
    init(_ path: String, follows: Bool) throws {
        var status = stat()
        guard (follows ? stat(path, &status) : lstat(path, &status)) == 0 else { throw FileCopy.failure(path) }
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    func isSameFile(as other: FileStamp) -> Bool { device == other.device && inode == other.inode }
}

enum FileComparison {
    /// Whether two files have the same bytes; also makes those of the first durable.
    static func areEqual(_ one: String, _ other: String) throws -> Bool {
        let (first, second) = (try open(one), try open(other))
        defer {
            close(first)
            close(second)
        }
        guard fsync(first) == 0 else { throw FileCopy.failure(one) }
        var (left, right) = ([UInt8](repeating: 0, count: 1 << 20), [UInt8](repeating: 0, count: 1 << 20))
        while true {
            let (a, b) = (try fill(first, &left, one), try fill(second, &right, other))
            guard a == b, left.prefix(a) == right.prefix(b) else { return false }
            if a == 0 { return true }
        }
    }

    private static func open(_ path: String) throws -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileCopy.failure(path) }
        return descriptor
    }

    private static func fill(_ descriptor: Int32, _ buffer: inout [UInt8], _ path: String) throws -> Int {
        var count = 0
        while count < buffer.count {
            let got = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, $0.count - count) }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw FileCopy.failure(path) }
            if got == 0 { break }
            count += got
        }
        return count
    }
}

enum FileCopy {
    /// Makes a new file with the bytes and the date of another. The file gets its name only when it is whole and
    /// durable; if this task is cancelled, nothing is left of it.
    static func make(_ path: String, from source: String) async throws {
        let isCancelled = Mutex(false)
        try await withTaskCancellationHandler {
            let goesOn: @Sendable () -> Bool = { !isCancelled.withLock { $0 } }
            try await onThread { try make(path, from: source, while: goesOn) }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    /// A prefix of names that no store gets (`Exclusions.scopedPrefix`).
    private static let hiddenPrefix = ".hydrant-scoped-pick-"

    private static func make(_ path: String, from source: String, while goesOn: () -> Bool) throws {
        let from = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { throw failure(source) }
        defer { close(from) }
        var status = stat()
        fstat(from, &status)
        let folder = (path as NSString).deletingLastPathComponent
        let new = folder + "/" + hiddenPrefix + UUID().uuidString
        let to = Glibc.open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o666 | 0o600)
        guard to >= 0 else { throw failure(path) }
        do {
            do {
                defer { close(to) }
                try copy(from, to, source, path, goesOn)
                var times = [status.st_atim, status.st_mtim]
                futimens(to, &times)
                guard fsync(to) == 0 else { throw failure(path) }
            }
            guard clinux_renameat2(AT_FDCWD, new, AT_FDCWD, path, CLINUX_RENAME_NOREPLACE) == 0 else {
                throw failure(path)
            }
        } catch {
            unlink(new)
            throw error
        }
    }

    private static func copy(
        _ from: Int32, _ to: Int32, _ source: String, _ path: String, _ goesOn: () -> Bool
    ) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            guard goesOn() else { throw CancellationError() }
            let got = read(from, &buffer, buffer.count)
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw failure(source) }
            if got == 0 { return }
            var written = 0
            while written < got {
                let count = buffer.withUnsafeBytes { write(to, $0.baseAddress! + written, got - written) }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw failure(path) }
                written += count
            }
        }
    }

    static func failure(_ path: String) -> DocumentPickerError {
        let code = errno
        if code == EEXIST {
            return DocumentPickerError("\(path): there is a document of this name; choose another name")
        }
        return DocumentPickerError("\(path): \(String(cString: strerror(code)))")
    }
}
