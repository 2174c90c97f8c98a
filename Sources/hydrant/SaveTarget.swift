import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

/// A file that does not exist yet, and appears whole or not at all.
struct SaveTarget {
    let path: String
    private let folder: String

    init(_ named: String, named name: String) throws {
        var status = stat()
        let isFolder = stat(named, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        let wanted = isFolder ? (named as NSString).appendingPathComponent(name) : named
        let above = (wanted as NSString).deletingLastPathComponent
        guard let resolved = realpath(above.isEmpty ? "." : above, nil) else { throw fail("\(above): \(reason())") }
        defer { free(resolved) }
        folder = String(cString: resolved)
        path = (folder as NSString).appendingPathComponent((wanted as NSString).lastPathComponent)
        if let mount = MountTable.hydrantMount(containing: path) {
            throw fail("\(named): in the mount \(mount.mountPoint); choose a place outside")
        }
        if lstat(path, &status) == 0 { throw fail("\(path): exists already; nothing is overwritten") }
    }

    /// - Parameter body: writes the bytes, and returns their number.
    func fill(_ body: (Int32) async throws -> Int64) async throws -> Int64 {
        let draft = folder + "/.hydrant-save-\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fail("\(folder): \(reason())") }
        defer {
            close(descriptor)
            unlink(draft)
        }
        let count = try await body(descriptor)
        // link(2) does not overwrite. Without hard links, checking first is the best that we can do.
        if link(draft, path) != 0 {
            var status = stat()
            guard errno != EEXIST, lstat(path, &status) != 0 else {
                throw fail("\(path): exists already; nothing is overwritten")
            }
            guard rename(draft, path) == 0 else { throw fail("\(path): \(reason())") }
        }
        return count
    }
}

func reason() -> String { String(cString: strerror(errno)) }

/// - Returns: false: errno says why.
func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { SmallFile.writeAll($0, to: descriptor) }
}
