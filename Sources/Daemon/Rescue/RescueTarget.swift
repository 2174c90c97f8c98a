import Foundation

/// The folder for rescued documents. Nothing is written outside of it or over a file in it, whatever paths it is given:
/// the paths come from labels, which any user with write permission on the files could forge.
final class RescueTarget {
    let path: String
    private let root: Int32

    /// Creates the folder if it is missing; an existing folder must be empty.
    init(path: String) throws(DaemonError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw DaemonError("\(path): cannot be made: \(String(cString: strerror(errno)))")
        }
        root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw DaemonError("\(path): \(String(cString: strerror(errno)))") }
        // Read through the descriptor: since the check of the path, somebody may have put a link there that leads root
        // elsewhere.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(root)") else {
            throw DaemonError("\(path): cannot be read")
        }
        guard names.isEmpty else { throw DaemonError("\(path): \(Self.notEmpty)") }
    }

    private static let notEmpty = "is not empty; name an empty directory, or one that does not exist"

    deinit { close(root) }

    /// The reason why documents cannot be rescued to this path; nil: there is none. Creates nothing.
    static func problem(_ path: String, state: String) -> String? {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else { return "\(path): is not a directory" }
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
                return "\(path): cannot be read"
            }
            if !names.isEmpty { return "\(path): \(notEmpty)" }
        } else if errno != ENOENT {
            return "\(path): \(String(cString: strerror(errno)))"
        }
        // Resolve the folder that the target would be created in.
        let above = (path as NSString).deletingLastPathComponent
        guard let inside = realpath(path, nil) ?? realpath(above.isEmpty ? "." : above, nil) else {
            return "\(above): \(String(cString: strerror(errno)))"
        }
        defer { free(inside) }
        guard let own = realpath(state, nil) else { return "\(state): \(String(cString: strerror(errno)))" }
        defer { free(own) }
        if (String(cString: inside) + "/").hasPrefix(String(cString: own) + "/") {
            return "\(path): lies in the state directory; choose a place outside it"
        }
        return nil
    }

    /// Creates a file at a path below the target, with the folders above it; adds a number to a name that is taken.
    ///
    /// - Parameter suffix: appended to the name, after the number.
    /// - Returns: a descriptor for writing, and the path that was used, relative to the target.
    func create(_ path: [UInt8], suffix: String = "") throws(DaemonError) -> (descriptor: Int32, path: [UInt8]) {
        var components = Self.components(path)
        let name = components.popLast() ?? Array("unnamed".utf8)
        var folder = dup(root)
        defer { close(folder) }
        var made: [[UInt8]] = []
        for component in components {
            let next = try enter(component, in: folder)
            close(folder)
            folder = next.descriptor
            made.append(next.name)
        }
        for number in 1... {
            let candidate = Self.numbered(name, number, room: suffix.utf8.count) + Array(suffix.utf8)
            let descriptor = openat(
                folder, Self.text(candidate), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if descriptor >= 0 { return (descriptor, Array((made + [candidate]).joined(separator: [Self.slash]))) }
            guard errno == EEXIST else { throw Self.failure(candidate) }
        }
        fatalError("unreachable: the loop above has no end")
    }

    /// Opens or creates the subfolder of this name; uses another name if a file has this one.
    private func enter(_ name: [UInt8], in folder: Int32) throws(DaemonError) -> (descriptor: Int32, name: [UInt8]) {
        for number in 1... {
            let candidate = Self.numbered(name, number, room: 0)
            guard mkdirat(folder, Self.text(candidate), 0o700) == 0 || errno == EEXIST else {
                throw Self.failure(candidate)
            }
            let descriptor = openat(folder, Self.text(candidate), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if descriptor >= 0 { return (descriptor, candidate) }
            guard errno == ENOTDIR || errno == ELOOP else { throw Self.failure(candidate) }
        }
        fatalError("unreachable: the loop above has no end")
    }

    private static let slash = UInt8(ascii: "/")

    /// The components of a path below this folder: no `..`, no NUL, no absolute path.
    static func components(_ path: [UInt8]) -> [[UInt8]] {
        path.split(separator: slash).compactMap { part in
            let name = part.map { $0 == 0 ? UInt8(ascii: "_") : $0 }
            if name == [UInt8(ascii: ".")] { return nil }
            if name == Array("..".utf8) { return Array("_.._".utf8) }
            return Array(name.prefix(255))
        }
    }

    /// `name (2).ext`, of at most 255 bytes.
    private static func numbered(_ name: [UInt8], _ number: Int, room: Int) -> [UInt8] {
        let number = number == 1 ? "" : " (\(number))"
        var (stem, ending) = (name[...], ArraySlice<UInt8>())
        if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.count - dot <= 32 {
            (stem, ending) = (name[..<dot], name[dot...])
        }
        let kept = stem.prefix(max(1, 255 - room - number.utf8.count - ending.count))
        return Array(kept) + Array(number.utf8) + Array(ending)
    }

    private static func text(_ name: [UInt8]) -> [CChar] { name.map { CChar(bitPattern: $0) } + [0] }

    private static func failure(_ name: [UInt8]) -> DaemonError {
        DaemonError("\(String(decoding: name, as: UTF8.self)): \(String(cString: strerror(errno)))")
    }
}
