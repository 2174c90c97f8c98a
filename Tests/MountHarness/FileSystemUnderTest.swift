import Glibc

/// A path below the root of the tested file system, as bytes.
package struct FSPath: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible {
    package var names: [[UInt8]]
    package init(names: [[UInt8]]) { self.names = names }
    package init(_ text: String) { names = text.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) } }
    package init(stringLiteral value: String) { self.init(value) }
    package static let root = FSPath(names: [])
    package func appending(_ name: [UInt8]) -> FSPath { FSPath(names: names + [name]) }
    package var parent: FSPath { FSPath(names: names.dropLast()) }
    package var bytes: [UInt8] { Array(names.joined(separator: [UInt8(ascii: "/")])) }
    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// A failed call, with its errno.
package struct FSError: Error, Equatable, CustomStringConvertible {
    package var errno: Int32
    package var call: String
    package init(_ errno: Int32, _ call: String) {
        self.errno = errno
        self.call = call
    }
    package var description: String { "\(call): \(String(cString: strerror(errno)))" }
}

/// The result of stat(2).
package struct FSStat: Sendable, Equatable {
    package enum Kind: Sendable { case document, folder, link, special }
    package var inode: UInt64
    package var kind: Kind
    package var mode: UInt32
    package var links: UInt64
    package var size: Int64
    package var blocks: Int64
    /// In nanoseconds since 1970.
    package var modified: Int64

    package init(
        inode: UInt64, kind: Kind, mode: UInt32, links: UInt64, size: Int64, blocks: Int64, modified: Int64
    ) {
        self.inode = inode
        self.kind = kind
        self.mode = mode
        self.links = links
        self.size = size
        self.blocks = blocks
        self.modified = modified
    }
}

/// The file system calls of programs: one scenario runs over a mount and over a Volume in this process. Every call
/// blocks, and throws an ``FSError`` on failure.
package protocol FileSystemUnderTest: Sendable {
    /// Without `.` and `..`, in the file system's order.
    func list(_ folder: FSPath) throws(FSError) -> [[UInt8]]
    func stat(_ path: FSPath) throws(FSError) -> FSStat
    func read(_ path: FSPath, at offset: Int64, _ count: Int) throws(FSError) -> [UInt8]
    /// Opens with these flags and write access, writes, closes. Nil `offset`: append.
    func write(_ path: FSPath, _ bytes: [UInt8], at offset: Int64?, flags: Int32) throws(FSError)
    /// Opens for writing, calls fsync, closes.
    func synchronize(_ path: FSPath) throws(FSError)
    func truncate(_ path: FSPath, to size: Int64) throws(FSError)
    func chmod(_ path: FSPath, _ mode: UInt32) throws(FSError)
    func setModified(_ path: FSPath, _ nanoseconds: Int64) throws(FSError)
    func rename(_ path: FSPath, to newPath: FSPath, noReplace: Bool) throws(FSError)
    func unlink(_ path: FSPath) throws(FSError)
    func mkdir(_ path: FSPath, _ mode: UInt32) throws(FSError)
    func rmdir(_ path: FSPath) throws(FSError)
    func symlink(_ path: FSPath, to target: [UInt8]) throws(FSError)
    func readlink(_ path: FSPath) throws(FSError) -> [UInt8]
    func hardLink(_ path: FSPath, to newPath: FSPath) throws(FSError)
    func setAttribute(_ name: String, to value: [UInt8], of path: FSPath) throws(FSError)
    /// The length of the longest name, and the number of blocks.
    func limits() throws(FSError) -> (longestName: Int, blocks: UInt64)
}

extension FileSystemUnderTest {
    package func readAll(_ path: FSPath) throws(FSError) -> [UInt8] {
        try read(path, at: 0, Int(try stat(path).size) + 1)
    }

    package func text(_ path: FSPath) throws(FSError) -> String { String(decoding: try readAll(path), as: UTF8.self) }

    /// Like a shell's `>`.
    package func put(_ path: FSPath, _ bytes: [UInt8]) throws(FSError) {
        try write(path, bytes, at: 0, flags: O_CREAT | O_TRUNC)
    }
    package func put(_ path: FSPath, _ text: String) throws(FSError) { try put(path, Array(text.utf8)) }
    package func append(_ path: FSPath, _ text: String) throws(FSError) {
        try write(path, Array(text.utf8), at: nil, flags: O_CREAT | O_APPEND)
    }
    package func createExclusively(_ path: FSPath) throws(FSError) {
        try write(path, [], at: 0, flags: O_CREAT | O_EXCL)
    }
    package func rename(_ path: FSPath, to newPath: FSPath) throws(FSError) {
        try rename(path, to: newPath, noReplace: false)
    }
    package func mkdir(_ path: FSPath) throws(FSError) { try mkdir(path, 0o755) }
    package func names(_ folder: FSPath = .root) throws(FSError) -> [String] {
        try list(folder).map { String(decoding: $0, as: UTF8.self) }.sorted()
    }
    package func exists(_ path: FSPath) throws(FSError) -> Bool {
        do { _ = try stat(path) } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
        return true
    }
}

/// The errno of a failing call; 0 if it succeeds.
package func errnoOf(_ call: () throws(FSError) -> Void) -> Int32 {
    do { try call() } catch { return error.errno }
    return 0
}

extension FSStat {
    init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .folder
            case S_IFLNK: .link
            case S_IFREG: .document
            default: .special
            }
        self.init(
            inode: UInt64(status.st_ino), kind: kind, mode: status.st_mode & 0o7777, links: UInt64(status.st_nlink),
            size: Int64(status.st_size), blocks: Int64(status.st_blocks),
            modified: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    }
}
