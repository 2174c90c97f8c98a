import Foundation
import Surroundings
import SyncEngine
import Synchronization
import Trees

/// Which pictures a domain has put into the user's cache: so that they go when they are old, and with the domain. A file of lines, the
/// last of each document counts.
final class ThumbnailLedger: Sendable {
    struct Entry: Codable, Sendable, Equatable {
        /// The document.
        var inode: Int64
        var uri: String
        /// Of the document, in seconds since 1970.
        var modified: Int64
        /// The same, in nanoseconds; and its size in bytes: two versions within one second are told apart.
        var nanoseconds: Int64
        var size: Int64
        /// Nil: an earlier release did not say.
        var contents: Contents?
        /// In the cache.
        var bytes: Int64
        /// By a thumbnailer of this machine's; nil: no.
        var isMade: Bool?
        /// No picture can be made of it.
        var hasFailed = false
        /// Of a line: it is there no more.
        var isGone = false
    }

    /// Which bytes a document had, for dates and sizes can be the same.
    struct Contents: Codable, Sendable, Equatable {
        /// See ``InodeRecord/generation``.
        var generation: Int64
        /// Of the item (``GivenThumbnails/Contents``); empty without one.
        var mark: String

        init(_ inode: InodeRecord, _ item: ItemRecord?) {
            generation = inode.generation
            mark = item.map { GivenThumbnails.Contents($0).text } ?? ""
        }

        /// Whether the same bytes are there now. (What is sent gets a version of the store's; what is evicted, or comes again, another
        /// generation.)
        func are(_ now: Contents) -> Bool {
            mark == now.mark || generation == now.generation && mark.hasPrefix("r") && now.mark.hasPrefix("v")
        }
    }

    private struct State {
        /// By inode.
        var entries: [Int64: Entry] = [:]
        /// In which order they came.
        var order: [Int64: Int] = [:]
        /// Whose picture is at a URI: one document's.
        var holders: [String: Int64] = [:]
        var bytes: Int64 = 0
        var lines = 0
        var next = 0
        var file: FileHandle?

        /// - Returns: the one of the document before.
        mutating func take(_ entry: Entry) -> Entry? {
            let old = drop(entry.inode)
            if entry.isGone { return old }
            // (What another document had there is overwritten.)
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
    /// When there are more, the oldest go.
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

    /// Whose picture is there.
    func entry(at uri: String) -> Entry? {
        state.withLock { state in state.holders[uri].flatMap { state.entries[$0] } }
    }

    /// - Returns: what is to go from the cache for it.
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

    /// A line that is lost is a picture that stays in the cache: nothing is synced for it.
    private func append(_ entries: [Entry], _ state: inout State) {
        state.lines += entries.count
        if state.lines > 1_000, state.lines > 2 * state.entries.count { return rewrite(&state) }
        if state.file == nil {
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            if file >= 0 { state.file = FileHandle(fileDescriptor: file, closeOnDealloc: true) }
            // (The last line may be half of one.)
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

    /// All that the domain has put into the cache goes.
    func removeAll(from cache: ThumbnailCache?) {
        for entry in all {
            cache?.remove(entry.uri)
            remove(entry)
        }
    }
}
