import Foundation
import Surroundings
import SyncEngine
import Synchronization
import Trees

/// Records the pictures that a domain has put into the user's cache, so that old ones can be removed, and all of them
/// with the domain. The file has one JSON line for each change; the last line of a document counts.
final class ThumbnailLedger: Sendable {
    struct Entry: Codable, Sendable, Equatable {
        /// The document's inode.
        var inode: Int64
        var uri: String
        /// The document's modification date, in seconds since 1970.
        var modified: Int64
        /// The same in nanoseconds, and the document's size in bytes: they distinguish two versions within one second.
        var nanoseconds: Int64
        var size: Int64
        /// Nil: written by an earlier release.
        var contents: Contents?
        /// Bytes in the cache.
        var bytes: Int64
        /// A thumbnailer of this machine made the picture; nil: no.
        var isMade: Bool?
        /// No picture can be made of the document.
        var hasFailed = false
        /// The line removes the entry.
        var isGone = false
    }

    /// Identifies a document's bytes, because dates and sizes can coincide.
    struct Contents: Codable, Sendable, Equatable {
        /// See ``InodeRecord/generation``.
        var generation: Int64
        /// The item's mark (``GivenThumbnails/Contents``); empty without an item.
        var mark: String

        init(_ inode: InodeRecord, _ item: ItemRecord?) {
            generation = inode.generation
            mark = item.map { GivenThumbnails.Contents($0).text } ?? ""
        }

        /// Whether the document still has the same bytes. (An upload gives the document a version of the store's; an
        /// eviction or a new download gives it another generation.)
        func are(_ now: Contents) -> Bool {
            mark == now.mark || generation == now.generation && mark.hasPrefix("r") && now.mark.hasPrefix("v")
        }
    }

    private struct State {
        /// The entries by inode.
        var entries: [Int64: Entry] = [:]
        /// The order in which the entries were added, by inode.
        var order: [Int64: Int] = [:]
        /// The inode whose picture is at a URI; each URI has one.
        var holders: [String: Int64] = [:]
        var bytes: Int64 = 0
        var lines = 0
        var next = 0
        var file: FileHandle?

        /// - Returns: the document's previous entry.
        mutating func take(_ entry: Entry) -> Entry? {
            let old = drop(entry.inode)
            if entry.isGone { return old }
            // (The new picture has overwritten the one of another document.)
            if let other = holders[entry.uri] { _ = drop(other) }
            entries[entry.inode] = entry
            holders[entry.uri] = entry.inode
            order[entry.inode] = next
            next += 1
            bytes += entry.bytes
            return old
        }

        private mutating func drop(_ inode: Int64) -> Entry? {
            guard let old = entries.removeValue(forKey: inode) else { return nil }
            order[inode] = nil
            holders[old.uri] = nil
            bytes -= old.bytes
            return old
        }
    }
    private let path: String
    private let state: Mutex<State>
    /// Beyond these limits, the oldest entries are removed.
    static let most = 20_000
    static let mostBytes: Int64 = 512 << 20

    init(stateDirectory: String) {
        path = stateDirectory + "/thumbnails.jsonl"
        var state = State()
        let decoder = JSONDecoder()
        let text = FileManager.default.contents(atPath: path) ?? Data()
        for line in text.split(separator: UInt8(ascii: "\n")) {
            state.lines += 1
            if let entry = try? decoder.decode(Entry.self, from: line) { _ = state.take(entry) }
        }
        self.state = Mutex(state)
    }

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }
    var all: [Entry] { state.withLock { Array($0.entries.values) } }

    subscript(inode: InodeID) -> Entry? { state.withLock { $0.entries[inode.rawValue] } }

    /// The entry whose picture is at the URI.
    func entry(at uri: String) -> Entry? {
        state.withLock { state in state.holders[uri].flatMap { state.entries[$0] } }
    }

    /// - Returns: the entries whose pictures must be removed from the cache.
    func put(_ entry: Entry) -> [Entry] {
        state.withLock { state in
            var gone: [Entry] = []
            if let old = state.take(entry), old.uri != entry.uri { gone.append(old) }
            append([entry], &state)
            guard state.entries.count > Self.most || state.bytes > Self.mostBytes else { return gone }
            let byAge = state.order.sorted { $0.value < $1.value }.map(\.key)
            for inode in byAge {
                guard state.entries.count > Self.most * 9 / 10 || state.bytes > Self.mostBytes * 9 / 10,
                    var oldest = state.entries[inode]
                else { break }
                gone.append(oldest)
                oldest.isGone = true
                _ = state.take(oldest)
                append([oldest], &state)
            }
            return gone
        }
    }

    func remove(_ entry: Entry) {
        state.withLock { state in
            guard state.entries[entry.inode] != nil else { return }
            var entry = entry
            entry.isGone = true
            _ = state.take(entry)
            append([entry], &state)
        }
    }

    /// Does not sync: the price of a lost line is one picture that stays in the cache.
    private func append(_ entries: [Entry], _ state: inout State) {
        state.lines += entries.count
        if state.lines > 1_000, state.lines > 2 * state.entries.count { return rewrite(&state) }
        if state.file == nil {
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            if file >= 0 { state.file = FileHandle(fileDescriptor: file, closeOnDealloc: true) }
            // (Start a new line: the last line may be incomplete.)
            try? state.file?.write(contentsOf: Data("\n".utf8))
        }
        try? state.file?.write(contentsOf: Self.lines(entries))
    }

    private static func lines(_ entries: [Entry]) -> Data {
        let encoder = JSONEncoder()
        return entries.reduce(into: Data()) { data, entry in
            guard let line = try? encoder.encode(entry) else { return }
            data += line + [UInt8(ascii: "\n")]
        }
    }

    private func rewrite(_ state: inout State) {
        let entries = state.order.sorted { $0.value < $1.value }.compactMap { state.entries[$0.key] }
        state.file = nil
        guard (try? SmallFile.replace(path, with: Self.lines(entries), isDurable: false)) != nil else { return }
        state.lines = entries.count
    }

    /// Removes all pictures of the domain from the cache.
    func removeAll(from cache: ThumbnailCache?) {
        for entry in all {
            cache?.remove(entry.uri)
            remove(entry)
        }
    }
}
