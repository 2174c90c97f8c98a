import Glibc
import Surroundings

/// Lists the files of a content store from outside: for `hydrant rescue` and `hydrant doctor`, which must not change
/// anything (``ContentStore`` makes folders, and sweeps).
package struct ContentInventory: Sendable {
    package let directory: String

    package init(directory: String) { self.directory = directory }

    package struct Entry: Sendable {
        /// Nil: not a name of the store's form.
        package var id: GenerationID?
        package var path: String
        /// In `lost+found`, because no catalog named it.
        package var isLost: Bool
    }

    /// Files of generations, sorted by name; first those in use, then those in `lost+found`.
    package func entries() -> [Entry] {
        var all: [Entry] = []
        let storage = directory + "/storage"
        for shard in (SystemFile.names(in: storage) ?? []).sorted() {
            for name in (SystemFile.names(in: "\(storage)/\(shard)") ?? []).sorted() {
                all.append(Entry(id: GenerationID(name: name), path: "\(storage)/\(shard)/\(name)", isLost: false))
            }
        }
        let lost = directory + "/" + Self.lostAndFound
        for name in (SystemFile.names(in: lost) ?? []).sorted() {
            all.append(Entry(id: GenerationID(name: name), path: "\(lost)/\(name)", isLost: true))
        }
        return all
    }

    package func path(of id: GenerationID) -> String { "\(directory)/storage/\(id.shard)/\(id)" }

    /// fstat(2) of a regular file, never through a link; nil: not a regular file.
    package func status(of path: String) -> ContentStat? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return ContentStat(
            size: Int64(status.st_size), modified: status.st_mtim.nanoseconds,
            changed: status.st_ctim.nanoseconds, blocks: Int64(status.st_blocks))
    }

    package func label(of path: String) -> ContentLabel? { FileLabel(path: path).read() }

    /// Moves a file to `lost+found`, under a free name; its bytes and its label stay as they are.
    ///
    /// - Returns: its new path.
    package func putAside(_ path: String) throws(ContentError) -> String {
        let folder = directory + "/" + Self.lostAndFound
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .last(folder) }
        let name = path.split(separator: "/").last.map(String.init) ?? "file"
        var target = "\(folder)/\(name)"
        var number = 1
        // link(2) and unlink(2) rather than rename(2), so that no file is ever replaced.
        while Glibc.link(path, target) != 0 {
            guard errno == EEXIST else { throw .last(path) }
            number += 1
            target = "\(folder)/\(name).\(number)"
        }
        guard Glibc.unlink(path) == 0 else { throw .last(path) }
        return target
    }

    /// The folder for files that no catalog names.
    package static let lostAndFound = "lost+found"
}

extension GenerationID {
    /// From `INODE.GENERATION`, or `INODE.GENERATION.NUMBER` for a file moved to `lost+found` twice.
    init?(name: String) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, let inode = Int64(parts[0]), let number = Int64(parts[1]), inode > 0
        else { return nil }
        self.init(inode: inode, number: number)
    }

    /// The folder of its file below `storage`.
    var shard: String {
        let number = String(inode & 0xff, radix: 16)
        return number.count == 1 ? "0" + number : number
    }
}
