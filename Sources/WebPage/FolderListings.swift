import ControlAPI
import Foundation
import NIOHTTP1
import Synchronization

/// The names in one folder, in the order in which the page shows them: folders first, then by name.
final class FolderNames: Sendable {
    struct Entry: Sendable {
        var offset: Int
        var length: Int
        var isFolder: Bool
    }
    /// Each name ends with a 0.
    private let text: [CChar]
    let entries: [Entry]
    let modified: Int64

    init(_ folder: MountFolder, _ path: WebPath) throws {
        modified = try folder.modified(path)
        var (text, entries): ([CChar], [Entry]) = ([], [])
        try folder.list(path) { name, length, isFolder in
            entries.append(Entry(offset: text.count, length: length, isFolder: isFolder))
            text.append(contentsOf: UnsafeBufferPointer(start: name, count: length + 1))
        }
        text.withUnsafeBufferPointer { text in
            guard let base = text.baseAddress else { return }
            entries.sort { one, other in
                if one.isFolder != other.isFolder { return one.isFolder }
                let order = strcasecmp(base + one.offset, base + other.offset)
                return order != 0 ? order < 0 : strcmp(base + one.offset, base + other.offset) < 0
            }
        }
        (self.text, self.entries) = (text, entries)
    }

    func name(_ index: Int) -> [UInt8] {
        let entry = entries[index]
        return text[entry.offset..<entry.offset + entry.length].map { UInt8(bitPattern: $0) }
    }

    /// The first entry from `start` on, around the end, whose name begins with this text, whatever the case.
    func find(_ prefix: String, from start: Int) -> Int? {
        let wanted = prefix.utf8CString
        return text.withUnsafeBufferPointer { text in
            (0..<entries.count).lazy.map { (start + $0) % self.entries.count }.first { index in
                guard let base = text.baseAddress else { return false }
                return wanted.withUnsafeBufferPointer {
                    strncasecmp(base + entries[index].offset, $0.baseAddress!, $0.count - 1) == 0
                }
            }
        }
    }
}

/// The folders that the page has shown lately, so that scrolling reads no folder again.
final class FolderListings: Sendable {
    private struct Key: Hashable {
        var mountPoint: String
        var path: WebPath
    }
    private struct State {
        var names: [Key: FolderNames] = [:]
        var order: [Key] = []
    }
    private let state = Mutex(State())
    private static let most = 8

    /// Blocks.
    ///
    /// - Parameter isFresh: read it again, whatever its date says.
    func names(_ folder: MountFolder, _ path: WebPath, isFresh: Bool) throws -> FolderNames {
        let key = Key(mountPoint: folder.mountPoint, path: path)
        if !isFresh, let known = state.withLock({ $0.names[key] }), try folder.modified(path) == known.modified {
            return known
        }
        let names = try FolderNames(folder, path)
        state.withLock { state in
            state.order.removeAll { $0 == key }
            state.order.append(key)
            state.names[key] = names
            if state.order.count > Self.most { state.names[state.order.removeFirst()] = nil }
        }
        return names
    }
}

/// Runs calls that block at mounts. A store that hangs takes its own places only, so the others' folders still open.
final class MountWork: Sendable {
    private let running = Mutex<[String: Int]>([:])
    private let pool: BlockingPool
    private static let mostOfOne = 6

    init() { pool = BlockingPool(threads: 24) }

    /// - Throws: `busy` when the mount has all its places.
    func run<Result: Sendable>(
        _ mountPoint: String, _ body: @escaping @Sendable (MountFolder) throws -> Result
    ) async throws -> Result {
        let hasPlace = running.withLock { running in
            guard running[mountPoint, default: 0] < Self.mostOfOne else { return false }
            running[mountPoint, default: 0] += 1
            return true
        }
        guard hasPlace else {
            throw WebProblem(.serviceUnavailable, "\(mountPoint): does not answer yet", code: "busy")
        }
        defer {
            running.withLock { running in
                running[mountPoint, default: 1] -= 1
                if running[mountPoint] == 0 { running[mountPoint] = nil }
            }
        }
        return try await goOn(mountPoint, body)
    }

    /// For the next part of what has begun.
    func goOn<Result: Sendable>(
        _ mountPoint: String, _ body: @escaping @Sendable (MountFolder) throws -> Result
    ) async throws -> Result {
        try await pool.run { try body(MountFolder(mountPoint: mountPoint)) }
    }
}
