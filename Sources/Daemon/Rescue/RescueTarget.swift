import Foundation

/// The folder that rescued documents go to. Nothing is ever written outside of it, or over something in it, whatever
/// the paths say that it is given: they come from labels, which anyone who could write the files could make.
final class RescueTarget {
    let path: String
    private let root: Int32

    /// Makes the folder where it is missing; it must be empty.
    init(path: String) throws(DaemonError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw DaemonError("\(path): cannot be made: \(String(cString: strerror(errno)))")
        }
        root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw DaemonError("\(path): \(String(cString: strerror(errno)))") }
        // This very folder: since the path was looked at, somebody may have put a link in it, to where root would not write.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(root)") else {
            throw DaemonError("\(path): cannot be read")
        }
        guard names.isEmpty else { throw DaemonError("\(path): \(Self.notEmpty)") }
    }

    private static let notEmpty = "is not empty; name a directory that is, or one that does not exist"

    deinit { close(root) }

    /// Why nothing may be rescued to this path; nil when it may. Makes nothing.
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
        // Where it would come to lie.
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

    /// Makes a new file at a path from here, and the folders above it; a name that is taken gets a number.
    ///
    /// - Parameter suffix: goes behind the name, number included.
    /// - Returns: open for writing; and its path from here, as it was made.
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

    /// The subfolder of this name, made where it is missing; another name where a file has it.
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

    /// What a path names below this folder, and nothing else: no `..`, no NUL, nothing absolute.
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
