import Foundation
import NIOPosix

/// Off the cooperative pool: the disk may be slow, or not here.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

enum FileComparison {
    /// Whether two files have the same bytes.
    static func areEqual(_ one: String, _ other: String) throws -> Bool {
        let (first, second) = (try open(one), try open(other))
        defer {
            close(first)
            close(second)
        }
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
    /// Makes a new file with the bytes and the date of another. On disk when it returns; what was begun is removed if it fails.
    ///
    /// - Parameter progress: told how many bytes are copied; false: to be given up.
    static func make(_ path: String, from source: String, progress: (Int64) -> Bool) throws {
        let from = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard from >= 0 else { throw failure(source) }
        defer { close(from) }
        var status = stat()
        fstat(from, &status)
        let to = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o666 | 0o600)
        guard to >= 0 else { throw failure(path) }
        do {
            defer { close(to) }
            try copy(from, to, source, path, progress)
            var times = [status.st_atim, status.st_mtim]
            futimens(to, &times)
            guard fsync(to) == 0 else { throw failure(path) }
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func copy(
        _ from: Int32, _ to: Int32, _ source: String, _ path: String, _ progress: (Int64) -> Bool
    ) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var done: Int64 = 0
        while true {
            guard progress(done) else { throw CancellationError() }
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
            done += Int64(got)
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
