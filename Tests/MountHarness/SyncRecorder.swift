import Glibc
import Synchronization

/// Records which files of a directory this process has synced, in the order of the calls.
///
/// A test cannot cut the power of its machine, but it can observe the calls of fsync(2) and fdatasync(2), with their
/// files and their order. (The test process defines these functions itself, and calls those of the C library.)
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

    /// Paths below the directory, the oldest first. Files that were only written out (sync_file_range(2)) have
    /// `written:` before their path.
    package var synced: [String] { paths.withLock { $0 } }

    package func forget() { paths.withLock { $0 = [] } }

    private func note(_ path: String, _ prefix: String) {
        guard path.hasPrefix(directory) else { return }
        let name = prefix + String(path.dropFirst(directory.count).drop { $0 == "/" })
        paths.withLock { $0.append(name) }
        whenSynced(name)
    }

    fileprivate static func note(_ descriptor: Int32, _ prefix: String = "") {
        let recorders = all.withLock { $0.compactMap(\.recorder) }
        if recorders.isEmpty { return }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink("/proc/self/fd/\(descriptor)", bytes.bindMemory(to: CChar.self).baseAddress!, 4_096)
        }
        guard count > 0 else { return }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        for recorder in recorders { recorder.note(path, prefix) }
    }
}

private typealias Call = @convention(c) (Int32) -> Int32

/// The C library's own function (dlsym(3), RTLD_NEXT).
private func libraryCall<T>(_ name: String, _ type: T.Type = Call.self) -> T {
    unsafeBitCast(dlsym(UnsafeMutableRawPointer(bitPattern: -1), name)!, to: type)
}
private let libraryFsync = libraryCall("fsync")
private let libraryFdatasync = libraryCall("fdatasync")
private typealias RangeCall = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32
private let librarySyncFileRange = libraryCall("sync_file_range", RangeCall.self)

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

@_cdecl("sync_file_range")
public func recordedSyncFileRange(_ descriptor: Int32, _ offset: Int64, _ count: Int64, _ flags: UInt32) -> Int32 {
    let result = librarySyncFileRange(descriptor, offset, count, flags)
    let number = errno
    if result == 0 { SyncRecorder.note(descriptor, "written:") }
    errno = number
    return result
}
