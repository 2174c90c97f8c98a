import ContentStore
import Foundation

/// A content store in a folder of its own.
final class TestStore {
    let directory = NSTemporaryDirectory() + "content-\(UUID().uuidString)"
    let store: ContentStore

    init() throws { store = try ContentStore(directory: directory) }
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func open(
        _ inode: Int64 = 5, _ generation: Int64 = 1, size: Int64, base: Int64? = nil,
        present: RangeSet<Int64>? = RangeSet()
    ) throws -> ContentFile {
        let path = path(inode, generation)
        if present.map({ !$0.isEmpty }) ?? true, !FileManager.default.fileExists(atPath: path) {
            // Bytes that are said to be here must have a file.
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            _ = FileManager.default.createFile(
                atPath: path, contents: Data(count: Int(size)), attributes: [.posixPermissions: 0o600])
        }
        return try store.open(
            GenerationID(inode: inode, number: generation), size: size, baseSize: base ?? size, present: present)
    }

    func path(_ inode: Int64 = 5, _ generation: Int64 = 1) -> String {
        "\(directory)/storage/0\(String(inode, radix: 16))/\(inode).\(generation)"
    }
}

extension ContentFile {
    func store(_ bytes: [UInt8], at offset: Int64) throws {
        try bytes.withUnsafeBytes { try self.store($0, at: offset) }
    }

    @discardableResult
    func write(_ bytes: [UInt8], at offset: Int64) throws -> Bool {
        try bytes.withUnsafeBytes { try self.write($0, at: offset) }
    }

    func bytes(_ range: Range<Int64>) throws -> [UInt8] {
        var found = [UInt8](repeating: 0xee, count: Int(range.upperBound - range.lowerBound))
        let count = try found.withUnsafeMutableBytes { try read(into: $0, at: range.lowerBound) }
        return Array(found[..<count])
    }
}

/// Whether it is so, within a minute: a process that another test starts holds every open file for a moment (between
/// fork and exec).
func soon(_ condition: () -> Bool) -> Bool {
    for _ in 0..<60_000 {
        if condition() { return true }
        usleep(1_000)
    }
    return false
}
