package import FileProvider
import Foundation
import Logging
import Surroundings
import Synchronization
package import Trees

/// Thumbnails that programs have given to documents they saved, kept until the store has them or is known to keep none.
/// Files, so that they survive a restart.
///
/// A thumbnail belongs to certain contents: a local change, by its revision (``ItemRecord/contentRevision``), and after
/// the upload a version of the store. It is useless for other contents.
package final class GivenThumbnails: Sendable {
    /// The contents that a thumbnail shows.
    package enum Contents: Hashable, Sendable {
        /// The contents of a local change.
        case revision(Int64)
        /// The contents of a version in the store, by its digest.
        case version(String)

        package init(_ item: ItemRecord) {
            let version = item.contentRevision == 0 ? item.baseVersion?.content : nil
            self = version.map { .version(VersionDigest.text($0)) } ?? .revision(item.contentRevision)
        }

        /// For file names: `r` and a number, or `v` and a digest.
        package var text: String {
            switch self {
            case .revision(let number): "r\(number)"
            case .version(let digest): "v\(digest)"
            }
        }
    }

    struct Entry: Hashable, Sendable {
        var item: ItemID
        var contents: Contents
        /// The inode of the contents when the thumbnail came: the item may have another inode now, and the contents
        /// another item.
        var inode: InodeID
        var size: Int64
        var modified: FileTime

        fileprivate var name: String {
            "\(item.rawValue).\(contents.text).\(inode.rawValue).\(size).\(modified.nanoseconds)"
        }

        fileprivate init?(name: String) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 5, let item = Int64(parts[0]), let mark = parts[1].first, let inode = Int64(parts[2]),
                let size = Int64(parts[3]), let modified = Int64(parts[4])
            else { return nil }
            let value = parts[1].dropFirst()
            switch mark {
            case "r":
                guard let number = Int64(value) else { return nil }
                contents = .revision(number)
            case "v": contents = .version(String(value))
            default: return nil
            }
            self.item = ItemID(rawValue: item)
            self.inode = InodeID(rawValue: inode)
            self.size = size
            self.modified = FileTime(nanoseconds: modified)
        }

        init(_ item: ItemRecord, _ inode: InodeRecord) {
            (self.item, contents) = (item.id, Contents(item))
            (self.inode, size, modified) = (inode.id, inode.size, inode.modified)
        }
    }

    private struct Kept: Sendable {
        var entry: Entry
        var bytes: Int
        var number: Int
    }
    private struct State {
        var all: [ItemID: Kept] = [:]
        var number = 0
    }
    private let folder: String
    private let logger: Logger
    private let state: Mutex<State>
    /// Beyond this number the oldest are dropped, with a warning.
    private static let most = 10_000
    /// The same limit in bytes.
    private static let mostBytes = 512 << 20

    init(directory: String, logger: Logger) {
        folder = directory + "/thumbnails-given"
        self.logger = logger
        var state = State()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names {
            guard let entry = Entry(name: name) else {
                // Half written at a power loss.
                unlink("\(folder)/\(name)")
                continue
            }
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            // (Of two thumbnails of one item, the one with the later contents counts.)
            if let other = state.all[entry.item], other.entry.modified > entry.modified { continue }
            state.all[entry.item] = Kept(entry: entry, bytes: attributes?[.size] as? Int ?? 0, number: 0)
        }
        self.state = Mutex(state)
    }

    var all: [Entry] { state.withLock { state in state.all.values.map(\.entry) } }
    var isEmpty: Bool { state.withLock { $0.all.isEmpty } }

    /// Keeps a thumbnail of the item's present contents. It survives a restart on return.
    func put(_ thumbnail: Thumbnail, _ item: ItemRecord, _ inode: InodeRecord) throws {
        let entry = Entry(item, inode)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(thumbnail.bytes, to: entry.name)
        let gone = state.withLock { state -> [Entry] in
            var gone: [Entry] = []
            state.number += 1
            let kept = Kept(entry: entry, bytes: thumbnail.bytes.count, number: state.number)
            if let old = state.all.updateValue(kept, forKey: entry.item), old.entry != entry { gone.append(old.entry) }
            var bytes = state.all.values.reduce(0) { $0 + $1.bytes }
            while state.all.count > Self.most || bytes > Self.mostBytes,
                let oldest = state.all.values.min(by: { $0.number < $1.number })
            {
                state.all[oldest.entry.item] = nil
                bytes -= oldest.bytes
                gone.append(oldest.entry)
                logger.warning(
                    "too many thumbnails wait for the store; the oldest is dropped",
                    metadata: ["item": "\(oldest.entry.item)"])
            }
            return gone
        }
        for entry in gone { remove(entry) }
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        do throws(SmallFile.Failure) {
            try SmallFile.replace("\(folder)/\(name)", with: bytes, draft: "\(folder)/draft-\(UUID().uuidString)")
        } catch { throw POSIXError(POSIXErrorCode(rawValue: error.number) ?? .EIO) }
    }

    /// Nil: there is no thumbnail of the item's present contents.
    package func thumbnail(of item: ItemRecord) -> Thumbnail? {
        guard let entry = state.withLock({ $0.all[item.id]?.entry }), entry.contents == Contents(item) else {
            return nil
        }
        return picture(entry)
    }

    func picture(_ entry: Entry) -> Thumbnail? {
        (try? Data(contentsOf: URL(filePath: "\(folder)/\(entry.name)", directoryHint: .notDirectory)))
            .map { Thumbnail(bytes: Array($0)) }
    }

    /// The store now has this revision's contents as this version.
    func confirmed(_ item: ItemID, _ revision: Int64, as version: ContentVersion) {
        guard let entry = state.withLock({ $0.all[item]?.entry }), entry.contents == .revision(revision) else { return }
        var confirmed = entry
        confirmed.contents = .version(VersionDigest.text(version))
        replace(entry, with: confirmed)
    }

    /// Renames a thumbnail's entry.
    func replace(_ entry: Entry, with other: Entry) {
        guard rename("\(folder)/\(entry.name)", "\(folder)/\(other.name)") == 0 else { return }
        state.withLock { state in
            guard var kept = state.all[entry.item], kept.entry == entry else { return }
            state.all[entry.item] = nil
            kept.entry = other
            state.all[other.item] = kept
        }
    }

    func remove(_ entry: Entry) {
        state.withLock { state in
            if state.all[entry.item]?.entry == entry { state.all[entry.item] = nil }
        }
        unlink("\(folder)/\(entry.name)")
    }
}
