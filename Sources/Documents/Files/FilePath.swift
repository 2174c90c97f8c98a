import CLinux
import ControlAPI
import Foundation
import NIOPosix
import Surroundings

/// Off the cooperative pool: the disk may be slow, and a document may have to come from its store first.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}

/// Paths as text, whatever bytes are in them (`ByteText`).
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

    /// Begins a name that no store gets, and that is gone at the next mount if its program was killed (`Exclusions.scopedPrefix`).
    static func temporary(in folder: String) -> String { child(folder, temporaryPrefix + UUID().uuidString) }
    static let temporaryPrefix = ".hydrant-scoped-save-"

    /// A name for what is kept beside the file, as the daemon gives them: `name (conflicted copy, HOST, DATE).ext`.
    static func conflictedCopy(of path: String, number: Int) -> String {
        let made = ConflictName.make(from: bytes(name(path)), at: time(nil), number: number)
        return child(folder(path), ByteText.text(made))
    }

    /// rename(2), that replaces nothing.
    static func moveNew(_ from: String, to: String) -> Int32 {
        let done = ByteText.withPath(from) { from in
            ByteText.withPath(to) { clinux_renameat2(AT_FDCWD, from, AT_FDCWD, $0, CLINUX_RENAME_NOREPLACE) }
        }
        return done != 0 && errno == EINVAL ? moveNewByLinking(from, to: to) : done
    }

    /// The same for file systems that have no such rename (NFS): a link(2) and an empty folder replace nothing either.
    static func moveNewByLinking(_ from: String, to: String) -> Int32 {
        ByteText.withPath(from) { from in
            ByteText.withPath(to) { to in
                if link(from, to) == 0 { return unlink(from) }
                // (Of a folder there are no links.)
                guard errno == EPERM, mkdir(to, 0o700) == 0 else { return -1 }
                if rename(from, to) == 0 { return 0 }
                let number = errno
                rmdir(to)
                errno = number
                return -1
            }
        }
    }

    /// Hydrant's, or another in user space.
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

    /// Where a symbolic link leads; another path stays as it is.
    static func followingLink(_ path: String) -> String {
        var status = stat()
        guard ByteText.withPath(path, { lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFLNK else {
            return path
        }
        return ByteText.resolved(path) ?? path
    }

    /// One for all that lead to the same file, which need not be there.
    static func canonical(_ path: String) -> String {
        if let path = ByteText.resolved(path) { return path }
        return ByteText.resolved(folder(path)).map { child($0, name(path)) } ?? path
    }

    /// What is made in a folder, or renamed, is there after a power loss.
    static func syncFolder(_ path: String) {
        let descriptor = ByteText.withPath(path) { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { return }
        // (Where a file system cannot, there is nothing to be done.)
        fsync(descriptor)
        close(descriptor)
    }

    /// A file, or a folder with all that is in it; follows no link.
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
