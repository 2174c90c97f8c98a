import Foundation

/// Creates files in a directory, without a mount.
package struct Seeding: Sendable {
    package let root: String
    package init(_ root: String) { self.root = root }

    /// Creates missing folders of the path.
    package func file(_ path: String, _ bytes: [UInt8], modified: Int? = nil) throws {
        let full = root + "/" + path
        try folder(full.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }, isAbsolute: true)
        // In place: FileManager would write another file and rename it.
        try RealFileSystem(root: root).put(FSPath(path), bytes)
        if let modified {
            var times = [timespec(tv_sec: modified, tv_nsec: 0), timespec(tv_sec: modified, tv_nsec: 0)]
            try Self.check(utimensat(AT_FDCWD, full, &times, 0) == 0, full)
        }
    }

    package func file(_ path: String, _ text: String, modified: Int? = nil) throws {
        try file(path, Array(text.utf8), modified: modified)
    }

    package func folder(_ path: String) throws { try folder(root + "/" + path, isAbsolute: true) }

    private func folder(_ path: String, isAbsolute: Bool) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    package func link(_ path: String, to target: String) throws {
        try Self.check(symlink(target, root + "/" + path) == 0, path)
    }

    package func read(_ path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: root + "/" + path) else {
            throw HarnessError("\(path): cannot be read")
        }
        return Array(data)
    }

    package func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

    package func names(_ path: String = "") throws -> [String] {
        // (Apache's own folder in each folder that it serves is not a document.)
        try FileManager.default.contentsOfDirectory(atPath: root + "/" + path).filter { $0 != ".DAV" }.sorted()
    }

    private static func check(_ condition: Bool, _ path: String) throws {
        if !condition { throw HarnessError("\(path): \(String(cString: strerror(errno)))") }
    }
}

/// Pseudo-random bytes, which do not repeat and do not compress.
package func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { raw in
        for index in 0..<raw.count {
            if index & 7 == 0 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
            }
            raw[index] = UInt8(truncatingIfNeeded: state >> (UInt64(index & 7) * 8))
        }
    }
    return bytes
}
