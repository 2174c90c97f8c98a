import CLinux
import ControlAPI
import Foundation
import NIOPosix
import Surroundings

/// Runs a body on a thread of its own, off the cooperative pool, because the disk may be slow, and a read may wait for
/// the store.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

/// Paths as text that can hold any bytes (`ByteText`).
enum FilePath {
    static func text(_ url: URL) -> String {
        let text = ByteText.text(of: url)
        return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    static func url(_ path: String) -> URL { ByteText.url(path) }

    static func bytes(_ name: String) -> [UInt8] { ByteText.bytes(name) }

    static func folder(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func name(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    static func child(_ folder: String, _ name: String) -> String { folder == "/" ? "/" + name : folder + "/" + name }

    /// A prefix of names that no store gets; leftover files with it are removed at the next mount
    /// (`Exclusions.scopedPrefix`).
    static func temporary(in folder: String) -> String { child(folder, temporaryPrefix + UUID().uuidString) }
    static let temporaryPrefix = ".hydrant-scoped-save-"

    /// The path of a conflicted copy, named as by the daemon: `name (conflicted copy, HOST, DATE).ext`.
    static func conflictedCopy(of path: String, number: Int) -> String {
        let made = ConflictName.make(from: bytes(name(path)), at: time(nil), number: number)
        return child(folder(path), ByteText.text(made))
    }

    /// rename(2) that replaces nothing.
    static func moveNew(_ from: String, to: String) -> Int32 {
        let done = ByteText.withPath(from) { from in
            ByteText.withPath(to) { clinux_renameat2(AT_FDCWD, from, AT_FDCWD, $0, CLINUX_RENAME_NOREPLACE) }
        }
        return done != 0 && errno == EINVAL ? moveNewByLinking(from, to: to) : done
    }

    /// As ``moveNew(_:to:)``, for file systems without such a rename (NFS): link(2) and a new empty folder replace
    /// nothing either.
    static func moveNewByLinking(_ from: String, to: String) -> Int32 {
        ByteText.withPath(from) { from in
            ByteText.withPath(to) { to in
                if link(from, to) == 0 { return unlink(from) }
                // A folder cannot be linked.
                guard errno == EPERM, mkdir(to, 0o700) == 0 else { return -1 }
                if rename(from, to) == 0 { return 0 }
                let number = errno
                rmdir(to)
                errno = number
                return -1
            }
        }
    }

    /// Whether the path is in a FUSE mount, Hydrant's or another.
    static func isInMount(_ path: String) -> Bool {
        let fuse = 0x6573_5546 as Int64
        return ByteText.withPath(folder(path)) { clinux_file_system_magic($0) } == fuse
    }

    static func exchange(_ one: String, _ other: String) -> Int32 {
        ByteText.withPath(one) { one in
            ByteText.withPath(other) { clinux_renameat2(AT_FDCWD, one, AT_FDCWD, $0, CLINUX_RENAME_EXCHANGE) }
        }
    }

    static func move(_ from: String, over to: String) -> Int32 {
        ByteText.withPath(from) { from in ByteText.withPath(to) { rename(from, $0) } }
    }

    /// The target of a symbolic link; any other path unchanged.
    static func followingLink(_ path: String) -> String {
        var status = stat()
        guard ByteText.withPath(path, { lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFLNK else {
            return path
        }
        return ByteText.resolved(path) ?? path
    }

    /// The canonical path of a file, which need not exist.
    static func canonical(_ path: String) -> String {
        if let path = ByteText.resolved(path) { return path }
        return ByteText.resolved(folder(path)).map { child($0, name(path)) } ?? path
    }

    /// Makes new names and renames in a folder durable.
    static func syncFolder(_ path: String) {
        let descriptor = ByteText.withPath(path) { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { return }
        // Ignore the error of a file system that cannot.
        fsync(descriptor)
        close(descriptor)
    }

    /// Removes a file, or a folder with everything in it; follows no links.
    static func remove(_ path: String) throws {
        var status = stat()
        guard ByteText.withPath(path, { lstat($0, &status) }) == 0 else {
            throw DocumentError.system(.unwritable, path)
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in try names(in: path) { try remove(child(path, name)) }
            guard ByteText.withPath(path, { rmdir($0) }) == 0 else { throw DocumentError.system(.unwritable, path) }
        } else {
            guard ByteText.withPath(path, { unlink($0) }) == 0 else { throw DocumentError.system(.unwritable, path) }
        }
    }

    static func names(in path: String) throws -> [String] {
        guard let folder = ByteText.withPath(path, { opendir($0) }) else {
            throw DocumentError.system(.unreadable, path)
        }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { ByteText.text(of: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        if errno != 0 { throw DocumentError.system(.unreadable, path) }
        return names
    }
}
