import CLinux
import ControlAPI
import Foundation
import NIOHTTP1

/// An open file, closed at the end.
struct Descriptor: ~Copyable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
}

/// A path in a domain that the page has sent: names below the mount point, none of which leads up.
struct WebPath: Sendable, Hashable {
    let bytes: [UInt8]
    let names: [[UInt8]]
    static let longest = 4_096
    static let slash = UInt8(ascii: "/")

    init(_ path: PathBytes) throws(WebProblem) {
        guard path.bytes.count <= Self.longest else { throw WebProblem(.badRequest, "the path is too long") }
        bytes = path.bytes
        names =
            path.bytes.isEmpty
            ? [] : path.bytes.split(separator: Self.slash, omittingEmptySubsequences: false).map(Array.init)
        for name in names { try Self.check(name) }
    }

    private init(names: [[UInt8]]) {
        self.names = names
        bytes = Array(names.joined(separator: [Self.slash]))
    }

    /// A name that a person typed.
    func appending(_ name: String) throws(WebProblem) -> WebPath {
        try Self.check(Array(name.utf8))
        return WebPath(names: names + [Array(name.utf8)])
    }

    var path: PathBytes { PathBytes(bytes: bytes) }
    var parent: WebPath { WebPath(names: names.dropLast()) }

    private static func check(_ name: [UInt8]) throws(WebProblem) {
        let isBad =
            name.isEmpty || name == [46] || name == [46, 46] || name.count > 255 || name.contains(0)
            || name.contains(slash)
        if isBad { throw WebProblem(.badRequest, "this is no name of a document or folder") }
    }
}

/// Calls at a mounted domain, below its mount point and nowhere else: each folder on the way is opened from the one above,
/// no symbolic link is followed, and no other file system is entered. They block, as long as the store takes.
struct MountFolder: Sendable {
    let mountPoint: String

    fileprivate func failure(_ name: [UInt8], _ number: Int32 = errno) -> WebProblem {
        let shown = String(decoding: name, as: UTF8.self)
        let reason = String(cString: strerror(number))
        return switch number {
        case ENOENT: WebProblem(.notFound, "\(shown): \(reason)", code: "gone")
        case EEXIST, ENOTEMPTY: WebProblem(.conflict, "\(shown): \(reason)", code: "exists")
        case ELOOP, ENOTDIR, EXDEV: WebProblem(.badRequest, "\(shown): is no folder of this domain")
        case EACCES, EPERM, EROFS: WebProblem(.forbidden, "\(shown): \(reason)", code: "refused")
        case ENOSPC, EDQUOT: WebProblem(.insufficientStorage, "\(shown): \(reason)")
        default: WebProblem(.internalServerError, "\(shown): \(reason)")
        }
    }

    private func device(_ descriptor: Int32) throws -> dev_t {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure([]) }
        return status.st_dev
    }

    fileprivate func withName<Result>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (name.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    /// For calls relative to it (O_PATH).
    func open(_ path: WebPath) throws -> Descriptor {
        let root = clinux_open_folder(AT_FDCWD, mountPoint, true)
        guard root >= 0 else { throw failure(Array(mountPoint.utf8)) }
        var folder = Descriptor(root)
        let device = try device(root)
        for name in path.names {
            let next = withName(name) { clinux_open_folder(folder.number, $0, false) }
            guard next >= 0 else { throw failure(name) }
            folder = Descriptor(next)
            guard try self.device(next) == device else { throw failure(name, EXDEV) }
        }
        return folder
    }

    private func withParent<Result>(_ path: WebPath, _ body: (Int32, [UInt8]) throws -> Result) throws -> Result {
        guard let name = path.names.last else { throw WebProblem(.badRequest, "this is the domain itself") }
        let folder = try open(path.parent)
        return try body(folder.number, name)
    }

    // MARK: Listing

    /// When the folder's names last changed.
    func modified(_ path: WebPath) throws -> Int64 {
        let folder = try open(path)
        var status = stat()
        guard fstat(folder.number, &status) == 0 else { throw failure(path.names.last ?? []) }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }

    /// Calls `body` with each name in the folder, and whether it is a folder. It may be of any size.
    func list(_ path: WebPath, _ body: (UnsafePointer<CChar>, Int, Bool) -> Void) throws {
        let folder = try open(path)
        try list(folder.number, path.names.last ?? [], body)
    }

    private func list(_ folder: Int32, _ shown: [UInt8], _ body: (UnsafePointer<CChar>, Int, Bool) -> Void) throws {
        let readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard readable >= 0 else { throw failure(shown) }
        guard let stream = fdopendir(readable) else {
            let number = errno
            close(readable)
            throw failure(shown, number)
        }
        defer { closedir(stream) }
        errno = 0
        while let entry = readdir(stream) {
            let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
                .assumingMemoryBound(to: CChar.self)
            let length = strlen(name)
            let isDots = name[0] == 46 && (length == 1 || (length == 2 && name[1] == 46))
            if !isDots { body(name, length, Int(entry.pointee.d_type) == Int(DT_DIR)) }
            errno = 0
        }
        guard errno == 0 else { throw failure(shown) }
    }

    /// A document of at most `limit` bytes; nil: it is larger. Downloads it.
    func read(_ path: WebPath, limit: Int) throws -> (bytes: [UInt8]?, size: Int64) {
        try withParent(path) { folder, name in
            let number = withName(name) { openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
            guard number >= 0 else { throw failure(name) }
            let file = Descriptor(number)
            var status = stat()
            guard fstat(file.number, &status) == 0 else { throw failure(name) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw WebProblem(.badRequest, "this is no document") }
            guard status.st_size <= limit else { return (nil, Int64(status.st_size)) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = Glibc.read(file.number, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count >= 0 else { throw failure(name) }
                if count == 0 { return (bytes, Int64(bytes.count)) }
                // (It may grow meanwhile.)
                guard bytes.count + count <= limit else { return (nil, Int64(bytes.count + count)) }
                bytes += buffer.prefix(count)
            }
        }
    }

    // MARK: Changes

    /// Never replaces anything.
    func move(_ path: WebPath, to target: WebPath) throws {
        try withParent(path) { from, old in
            try withParent(target) { to, new in
                let result = withName(old) { old in withName(new) { new in clinux_renameat2(from, old, to, new, 1) } }
                guard result == 0 else { throw failure(errno == ENOENT ? old : new) }
            }
        }
    }

    func makeFolder(_ path: WebPath) throws {
        try withParent(path) { folder, name in
            guard withName(name, { mkdirat(folder, $0, 0o777) }) == 0 else { throw failure(name) }
        }
    }

    /// A folder with everything in it.
    func delete(_ path: WebPath) throws {
        try withParent(path) { folder, name in try delete(folder, name, try device(folder), depth: 0) }
    }

    private static let deepest = 1_000

    private func delete(_ folder: Int32, _ name: [UInt8], _ device: dev_t, depth: Int) throws {
        if withName(name, { unlinkat(folder, $0, 0) }) == 0 { return }
        guard errno == EISDIR || errno == EPERM, depth < Self.deepest else { throw failure(name) }
        let number = withName(name) { clinux_open_folder(folder, $0, false) }
        guard number >= 0 else { throw failure(name) }
        let inner = Descriptor(number)
        guard try self.device(number) == device else { throw failure(name, EXDEV) }
        var names: [[UInt8]] = []
        try list(number, name) { pointer, length, _ in
            names.append(UnsafeBufferPointer(start: pointer, count: length).map { UInt8(bitPattern: $0) })
        }
        for one in names { try delete(inner.number, one, device, depth: depth + 1) }
        guard withName(name, { unlinkat(folder, $0, AT_REMOVEDIR) }) == 0 else { throw failure(name) }
    }

    // MARK: Uploads

    /// A name that stays on this machine (it is among the excluded ones) until the document is whole.
    private static func draft() -> [UInt8] { Array("~hydrant-\(Secret.make().prefix(16)).tmp".utf8) }

    func beginUpload(_ path: WebPath, replaces: Bool) throws -> Upload {
        try withParent(path) { parent, name in
            var status = stat()
            if withName(name, { fstatat(parent, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 {
                guard replaces, status.st_mode & S_IFMT == S_IFREG else { throw failure(name, EEXIST) }
            }
            let draft = Self.draft()
            let file = withName(draft) {
                openat(parent, $0, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
            }
            guard file >= 0 else { throw failure(name) }
            let folder = fcntl(parent, F_DUPFD_CLOEXEC, 3)
            guard folder >= 0 else {
                close(file)
                throw failure(name)
            }
            return Upload(folder: folder, file: file, draft: draft, name: name, replaces: replaces)
        }
    }

    /// A document on its way into the mount. Its calls block.
    final class Upload: Sendable {
        private let folder: Int32
        private let file: Int32
        private let draft: [UInt8]
        private let name: [UInt8]
        private let replaces: Bool

        init(folder: Int32, file: Int32, draft: [UInt8], name: [UInt8], replaces: Bool) {
            (self.folder, self.file, self.draft, self.name, self.replaces) = (folder, file, draft, name, replaces)
        }

        deinit {
            close(file)
            close(folder)
        }

        private var at: MountFolder { MountFolder(mountPoint: "") }

        func write(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { throw at.failure(name) }
                rest = rest.dropFirst(count)
            }
        }

        func finish() throws {
            guard fsync(file) == 0 else { throw at.failure(name) }
            let result = at.withName(draft) { draft in
                at.withName(name) { name in clinux_renameat2(folder, draft, folder, name, replaces ? 0 : 1) }
            }
            guard result == 0 else { throw at.failure(name) }
        }

        func discard() { _ = at.withName(draft) { unlinkat(folder, $0, 0) } }
    }
}
