import Glibc
import Synchronization

/// Records which files of a directory this process has synced, in the order of the calls.
///
/// A test cannot cut the power of its machine, but it can observe the calls of fsync(2) and fdatasync(2), with their
/// files and their order. (The test process defines both functions itself, and calls those of the C library.)
package final class SyncRecorder: Sendable {
    private let directory: String
    private let paths = Mutex<[String]>([])
    private struct Weak: Sendable { weak var recorder: SyncRecorder? }
    private static let all = Mutex<[Weak]>([])
    private let whenSynced: @Sendable (String) -> Void

    /// - Parameter whenSynced: called before the call returns to its caller.
    package init(below directory: String, whenSynced: @escaping @Sendable (String) -> Void = { _ in }) {
        self.whenSynced = whenSynced
        // The name that the kernel uses.
        let real = realpath(directory, nil)
        defer { free(real) }
        self.directory = real.map { String(cString: $0) } ?? directory
        let own = Weak(recorder: self)
        Self.all.withLock { all in
            all.removeAll { $0.recorder == nil }
            all.append(own)
        }
    }

    /// Paths below the directory, the oldest first.
    package var synced: [String] { paths.withLock { $0 } }

    package func forget() { paths.withLock { $0 = [] } }

    private func note(_ path: String) {
        guard path.hasPrefix(directory) else { return }
        let name = String(path.dropFirst(directory.count).drop { $0 == "/" })
        paths.withLock { $0.append(name) }
        whenSynced(name)
    }

    fileprivate static func note(_ descriptor: Int32) {
        let recorders = all.withLock { $0.compactMap(\.recorder) }
        if recorders.isEmpty { return }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink("/proc/self/fd/\(descriptor)", bytes.bindMemory(to: CChar.self).baseAddress!, 4_096)
        }
        guard count > 0 else { return }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        for recorder in recorders { recorder.note(path) }
    }
}

private typealias Call = @convention(c) (Int32) -> Int32

/// The C library's own function (dlsym(3), RTLD_NEXT).
private func libraryCall(_ name: String) -> Call {
    unsafeBitCast(dlsym(UnsafeMutableRawPointer(bitPattern: -1), name)!, to: Call.self)
}
private let libraryFsync = libraryCall("fsync")
private let libraryFdatasync = libraryCall("fdatasync")

/// Recorded after the call has returned: only then is the file durable.
@_cdecl("fsync")
public func recordedFsync(_ descriptor: Int32) -> Int32 {
    let result = libraryFsync(descriptor)
    let number = errno
    if result == 0 { SyncRecorder.note(descriptor) }
    errno = number
    return result
}

@_cdecl("fdatasync")
public func recordedFdatasync(_ descriptor: Int32) -> Int32 {
    let result = libraryFdatasync(descriptor)
    let number = errno
    if result == 0 { SyncRecorder.note(descriptor) }
    errno = number
    return result
}
