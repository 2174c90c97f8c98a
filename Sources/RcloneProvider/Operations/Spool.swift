import CLinux
import FileProvider
import Foundation
import Hashing
import NIOPosix
import Surroundings
import Synchronization

/// Documents on the way to rclone, which sends files of this machine only. A file here lives as long as its upload.
///
/// Each mount has a folder of its own; one that a killed process left is removed by the next.
final class Spool: Sendable {
    private let base: String
    private struct Place {
        var folder: String
        var lock: Int32
    }
    private let place = Mutex<Place?>(nil)

    private static let piece = 1 << 20
    private static let beginning = "spool-"

    init(_ base: String) { self.base = base }

    deinit { remove() }

    /// A file with the contents to send.
    struct Parcel: Sendable {
        let folder: String
        let name: String
        let size: Int64
        var modified: FileTime
        /// Of the contents, in hexadecimal; nil: not of a kind that is computed here.
        var hash: String?
    }

    /// Writes the contents into a file with their date.
    ///
    /// - Parameter hash: the kind of checksum to compute on the way.
    func parcel(
        _ contents: any ContentSource, modified: FileTime, hash: String?
    ) async throws(FileProviderError) -> Parcel {
        let folder = try await blocking { () throws(FileProviderError) in try self.open() }
        let name = UUID().uuidString
        let path = folder + "/" + name
        let file = try await blocking { () throws(FileProviderError) -> Int32 in
            let file = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw Self.failure(path, errno) }
            return file
        }
        let filled: Result<String?, FileProviderError>
        do throws(FileProviderError) { filled = .success(try await fill(file, path, contents, hash)) } catch {
            filled = .failure(error)
        }
        // (Closed here and nowhere else: the number may be another file's a moment later.)
        try await blocking { () throws(FileProviderError) in
            defer { close(file) }
            if case .success = filled, clinux_set_modified_fd(file, modified.seconds, modified.subsecond) == 0 {
                return
            }
            let number = errno
            unlink(path)
            if case .failure(let error) = filled { throw error }
            throw Self.failure(path, number)
        }
        return Parcel(folder: folder, name: name, size: contents.size, modified: modified, hash: try filled.get())
    }

    /// Gives it another date.
    func redate(_ parcel: Parcel, to modified: FileTime) async throws(FileProviderError) -> Parcel {
        let path = parcel.folder + "/" + parcel.name
        try await blocking { () throws(FileProviderError) in
            let file = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { throw Self.failure(path, errno) }
            defer { close(file) }
            guard clinux_set_modified_fd(file, modified.seconds, modified.subsecond) == 0 else {
                throw Self.failure(path, errno)
            }
        }
        var parcel = parcel
        parcel.modified = modified
        return parcel
    }

    /// Removes it, a moment later.
    func discard(_ parcel: Parcel) {
        let path = parcel.folder + "/" + parcel.name
        NIOThreadPool.singleton.submit { _ in unlink(path) }
    }

    private func fill(
        _ file: Int32, _ path: String, _ contents: any ContentSource, _ hash: String?
    ) async throws(FileProviderError) -> String? {
        var digest = Checksum(hash)
        var offset: Int64 = 0
        while offset < contents.size {
            let bytes = try await contents.read(at: offset, upTo: Int(min(Int64(Self.piece), contents.size - offset)))
            guard !bytes.isEmpty, Int64(bytes.count) <= contents.size - offset else {
                throw FileProviderError(
                    .cannotSynchronize, "the contents to upload end at byte \(offset), not \(contents.size)")
            }
            digest?.update(bytes)
            try await blocking { () throws(FileProviderError) in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
                    if count < 0 && errno == EINTR { continue }
                    guard count > 0 else { throw Self.failure(path, errno) }
                    rest = rest.dropFirst(count)
                }
            }
            offset += Int64(bytes.count)
        }
        return digest?.text
    }

    private static func failure(_ path: String, _ number: Int32) -> FileProviderError {
        // (The user's disk, not the store.)
        FileProviderError(
            .cannotSynchronize, "\(path): cannot be written: \(String(cString: strerror(number)))")
    }

    // MARK: The folder

    private func open() throws(FileProviderError) -> String {
        if let folder = place.withLock({ $0?.folder }) { return folder }
        do {
            try FileManager.default.createDirectory(
                atPath: base, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw FileProviderError(.cannotSynchronize, "\(base): cannot be made", cause: error) }
        sweep()
        let folder = try PrivateFolder.make(in: base, Self.beginning)
        let lock = Foundation.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // (Another process may have swept it up before it was locked; the upload is tried again.)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0, access(folder, F_OK) == 0 else {
            throw Self.failure(folder, errno)
        }
        let other = place.withLock { place -> String? in
            if let place { return place.folder }
            place = Place(folder: folder, lock: lock)
            return nil
        }
        guard let other else { return folder }
        close(lock)
        rmdir(folder)
        return other
    }

    /// Removes what killed processes have left.
    private func sweep() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
        where name.hasPrefix(Self.beginning) {
            let folder = Foundation.open(base + "/" + name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else { continue }
            defer { close(folder) }
            if flock(folder, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: base + "/" + name) }
        }
    }

    /// Removes the folder; a parcel that is still being written is lost, and its upload fails.
    func remove() {
        guard let place = place.withLock({ $0.take() }) else { return }
        try? FileManager.default.removeItem(atPath: place.folder)
        close(place.lock)
    }
}

/// A checksum of a kind that this process computes.
private struct Checksum {
    private var function: any HashFunction

    /// - Parameter kind: as rclone names it. Nil: not computed here.
    init?(_ kind: String?) {
        switch kind {
        case "md5": function = Insecure.MD5()
        case "sha1": function = Insecure.SHA1()
        case "sha256": function = SHA256()
        case "sha512": function = SHA512()
        default: return nil
        }
    }

    mutating func update(_ bytes: [UInt8]) { function.update(data: bytes) }

    var text: String { function.finalize().hexadecimal }
}

/// Runs `body` on NIO's threads for files, also when this task is cancelled: it may close a file.
private func blocking<Value: Sendable>(
    _ body: @escaping @Sendable () throws(FileProviderError) -> Value
) async throws(FileProviderError) -> Value {
    let result: Result<Value, FileProviderError> = await withCheckedContinuation { continuation in
        NIOThreadPool.singleton.submit { _ in
            do throws(FileProviderError) { continuation.resume(returning: .success(try body())) } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
    return try result.get()
}
