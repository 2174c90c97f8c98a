import Foundation
import Glibc
import Surroundings

/// A folder below the user's folder of data. It is opened name by name, and none of these may be a link: what is
/// written or removed in it is nowhere else.
final class DesktopFolder {
    private let descriptor: Int32
    /// For messages.
    private let path: String
    static let largest = 1 << 20

    private init(_ descriptor: Int32, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

    deinit { close(descriptor) }

    /// - Parameters:
    ///   - base: the folder of data; may be reached by links.
    ///   - made: called with the path of each folder that was made, relative to `base`; nil: none is made.
    /// - Returns: nil: a folder does not exist.
    static func open(
        _ relative: String, in base: String, made: ((String) -> Void)? = nil
    ) throws(FileManagersError) -> DesktopFolder? {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        if made != nil { try? FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true) }
        let descriptor = Glibc.open(base, flags)
        if descriptor < 0 {
            if errno == ENOENT, made == nil { return nil }
            throw FileManagersError(base, errno)
        }
        var folder = DesktopFolder(descriptor, base)
        var done = ""
        for name in relative.split(separator: "/").map(String.init) {
            let path = "\(folder.path)/\(name)"
            done += done.isEmpty ? name : "/\(name)"
            if let made {
                if mkdirat(folder.descriptor, name, 0o700) == 0 {
                    made(done)
                } else if errno != EEXIST {
                    throw FileManagersError(path, errno)
                }
            }
            let next = openat(folder.descriptor, name, flags | O_NOFOLLOW)
            let failure = errno
            if next < 0 {
                if failure == ENOENT { return nil }
                if failure == ELOOP || failure == ENOTDIR {
                    throw FileManagersError(
                        message: "\(ShownText.line(path)): is a link or no folder; Hydrant writes only into folders")
                }
                throw FileManagersError(path, failure)
            }
            folder = DesktopFolder(next, path)
        }
        return folder
    }

    enum Contents: Equatable {
        case missing
        case file([UInt8])
        /// A link, a folder, or a very large file.
        case other
    }

    func contents(of name: String) throws(FileManagersError) -> Contents {
        let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file < 0 {
            switch errno {
            case ENOENT: return .missing
            case ELOOP, ENXIO: return .other
            default: throw FileManagersError("\(path)/\(name)", errno)
            }
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw FileManagersError("\(path)/\(name)", errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.largest else { return .other }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= Self.largest {
            let count = read(file, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw FileManagersError("\(path)/\(name)", errno) }
            if count == 0 { return .file(bytes) }
            bytes += piece[..<count]
        }
        return .other
    }

    /// Replaces a file, or makes one: readers get the old or the new contents.
    func write(_ bytes: [UInt8], to name: String, isExecutable: Bool = false) throws(FileManagersError) {
        let draft = ".\(name).\(UUID().uuidString)"
        let file = openat(
            descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, isExecutable ? 0o755 : 0o644)
        guard file >= 0 else { throw FileManagersError("\(path)/\(name)", errno) }
        defer { close(file) }
        guard bytes.withUnsafeBytes({ SmallFile.writeAll($0, to: file) }), fsync(file) == 0,
            renameat(descriptor, draft, descriptor, name) == 0
        else {
            let failure = errno
            unlinkat(descriptor, draft, 0)
            throw FileManagersError("\(path)/\(name)", failure)
        }
    }

    func remove(_ name: String) throws(FileManagersError) {
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw FileManagersError("\(path)/\(name)", errno)
        }
    }

    /// Removes a folder in it, if that is empty.
    func removeFolder(_ name: String) { unlinkat(descriptor, name, AT_REMOVEDIR) }

    /// The names in it.
    func names() -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(descriptor)")) ?? []
    }
}

/// Why files were not written or removed.
package struct FileManagersError: Error, CustomStringConvertible {
    /// For people.
    package let message: String
    package var description: String { message }

    init(message: String) { self.message = message }

    init(_ path: String, _ number: Int32) {
        self.init(message: "\(ShownText.line(path)): \(String(cString: strerror(number)))")
    }
}
