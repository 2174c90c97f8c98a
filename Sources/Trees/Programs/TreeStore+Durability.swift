package import FileProvider

/// Records for a power loss (a killed daemon loses nothing): the changed documents whose bytes were synced (fsync(2))
/// after their last change, and the boot in which the domain was in use.
extension TreeReading {
    /// The boot in which a daemon used the catalog without a clean shutdown; nil when there was none.
    package func bootInUse() throws -> String? { try note("boot").flatMap { $0.isEmpty ? nil : $0 } }

    /// Documents whose bytes were durable after their last change.
    package func synced() throws -> [InodeID: SyncedContents] {
        var found: [InodeID: SyncedContents] = [:]
        for (key, value) in try notes(beginningWith: "synced.") {
            if let inode = Int64(key.dropFirst(7)) { found[InodeID(rawValue: inode)] = SyncedContents(text: value) }
        }
        return found
    }

    /// Recorded downloads whose bytes may not be durable yet.
    package func undurable() throws -> [UndurableContents] {
        try notes(beginningWith: "undurable.").compactMap { UndurableContents(key: $0.key, note: $0.value) }
    }

    package func undurable(_ id: InodeID) throws -> UndurableContents? {
        let key = "undurable.\(id.rawValue)"
        return try note(key).flatMap { UndurableContents(key: key, note: $0) }
    }

    /// Whether the change was not durable at a power loss, and has not been separated from its document yet.
    package func mayBeDamaged(_ id: InodeID) throws -> Bool { try note("doubt.\(id.rawValue)") != nil }

    /// The note of the last sync, if the document has not been changed since.
    package func synced(_ id: InodeID) throws -> SyncedContents? {
        try note("synced.\(id.rawValue)").flatMap { SyncedContents(text: $0) }
    }

    func isNotedSynced(_ id: InodeID, size: Int64, modified: Int64) throws -> Bool {
        guard let known = try synced(id) else { return false }
        return known.size == size && known.modified == modified
    }
}

/// A generation that received downloaded bytes.
package struct UndurableContents: Sendable, Equatable {
    package let inode: InodeID
    package let number: Int64
    /// The bytes that were here at the last fsync(2) of an unsent change, and so are durable; nil: there was none.
    package let durable: DurableRanges?
    /// The note in the catalog: it differs once more bytes have come.
    fileprivate let note: String

    fileprivate init?(key: String, note: String) {
        let parts = note.split(separator: " ")
        guard let inode = Int64(key.dropFirst(10)), let number = parts.first.flatMap({ Int64($0) }) else { return nil }
        self.inode = InodeID(rawValue: inode)
        self.number = number
        durable = parts.count > 2 ? DurableRanges(text: parts[2]) : nil
        self.note = note
    }

    fileprivate static func note(_ number: Int64, at now: FileTime, durable: DurableRanges?) -> String {
        "\(number) \(now.nanoseconds)" + (durable.map { " " + $0.text } ?? "")
    }
}

/// The provider's bytes that a sync of the local file made durable.
package enum DurableRanges: Sendable, Equatable {
    case all
    case some(RangeSet<Int64>)

    /// - Parameter present: as ``InodeRecord/extents``: nil means all.
    package init(_ present: RangeSet<Int64>?) { self = present.map { .some($0) } ?? .all }

    /// `all`, `none`, or `0-96,200-300`.
    fileprivate init?(text: Substring) {
        switch text {
        case "all": self = .all
        case "none": self = .some(RangeSet())
        default:
            var ranges = RangeSet<Int64>()
            for piece in text.split(separator: ",") {
                let ends = piece.split(separator: "-").compactMap { Int64($0) }
                guard ends.count == 2, ends[0] < ends[1] else { return nil }
                ranges.insert(contentsOf: ends[0]..<ends[1])
            }
            self = .some(ranges)
        }
    }

    fileprivate func covers(_ other: DurableRanges) -> Bool {
        switch (self, other) {
        case (.all, _): true
        case (.some, .all): false
        case (.some(let these), .some(let others)): these.isSuperset(of: others)
        }
    }

    fileprivate var text: String {
        guard case .some(let ranges) = self else { return "all" }
        if ranges.isEmpty { return "none" }
        return ranges.ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }
}

/// The state of a local file when fsync(2) made it durable. If the file still has this state after a power loss, nobody
/// has written to it since, or the later bytes did not reach the disk either.
package struct SyncedContents: Sendable, Equatable {
    package var generation: Int64
    package var size: Int64
    /// The file's modification time, in ns since 1970.
    package var modified: Int64
    /// The provider's bytes that were here; nil: a note of a version of Hydrant that did not record them.
    package var durable: DurableRanges?
    /// The note was made before the sync, and is true only of a file with this mark (`ContentStore.setSyncMark`); nil:
    /// the note was made after the sync.
    package var mark: UInt64?

    package init(
        generation: Int64, size: Int64, modified: Int64, durable: DurableRanges?, mark: UInt64? = nil
    ) {
        self.generation = generation
        self.size = size
        self.modified = modified
        self.durable = durable
        self.mark = mark
    }

    init?(text: String) {
        let parts = text.split(separator: " ")
        let numbers = parts.prefix(3).compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        var mark: UInt64?
        if parts.count > 4 {
            mark = UInt64(parts[4], radix: 16)
            if mark == nil { return nil }
        }
        self.init(
            generation: numbers[0], size: numbers[1], modified: numbers[2],
            durable: parts.count > 3 ? DurableRanges(text: parts[3]) : nil, mark: mark)
    }

    var text: String {
        var text = "\(generation) \(size) \(modified)"
        if let durable { text += " " + durable.text }
        // (A note with a mark says which bytes were here.)
        if durable != nil, let mark { text += " " + String(mark, radix: 16) }
        return text
    }
}

extension TreeReading {
    /// Whether the document has bytes that the provider has not confirmed.
    package func hasUnsentContents(_ id: InodeID) throws -> Bool {
        guard let item = try item(of: id) else { return false }
        return item.identifier == nil || item.contentRevision != 0
    }
}

extension TreeStore {
    /// A daemon uses the catalog from now on; nil: everything in it is durable, even over a power loss.
    package func noteBoot(_ boot: String?) throws { try takeNote("boot", boot ?? "") }

    /// The bytes of a changed document are durable.
    ///
    /// - Parameter contents: the file's state, the same before and after the sync. Older bytes are not recorded.
    package func noteSynced(_ id: InodeID, _ contents: SyncedContents) throws {
        guard try hasUnsentContents(id), try inodeIfPresent(id)?.generation == contents.generation else { return }
        try takeNote("synced.\(id.rawValue)", contents.text)
        // (Otherwise the document would lack bytes after a power loss that only our own upload has replaced.)
        if contents.durable == .all { try recordExtents(id, generation: contents.generation, extents: nil) }
        if let durable = contents.durable {
            try noteDurable(id, generation: contents.generation, durable)
        }
    }

    /// A sync has made these bytes durable, whatever has been written since.
    package func noteDurable(_ id: InodeID, generation: Int64, _ durable: DurableRanges) throws {
        guard let before = try undurable(id), before.number == generation else { return }
        let present = DurableRanges(try inodeIfPresent(id)?.extents)
        if durable.covers(present) { return try forgetUndurable([before]) }
        try takeNote("undurable.\(id.rawValue)", UndurableContents.note(generation, at: now, durable: durable))
    }

    /// Bytes have come into this generation, from the store or a program, that are not synced yet.
    package func noteUndurable(_ id: InodeID, generation: Int64) throws {
        let synced = try synced(id)
        var durable: DurableRanges?
        if let synced, synced.generation == generation { durable = synced.durable }
        // Nothing was missing at that sync, so these bytes came before it.
        if durable == .all { return }
        if durable == nil, let before = try undurable(id), before.number == generation { durable = before.durable }
        try takeNote(
            "undurable.\(id.rawValue)", UndurableContents.note(generation, at: now, durable: durable))
    }

    /// These bytes are durable; bytes that came later are not.
    package func forgetUndurable(_ contents: [UndurableContents]) throws {
        for one in contents {
            let key = "undurable.\(one.inode.rawValue)"
            if try note(key) == one.note { try forgetNote(key) }
        }
    }

    /// The bytes are about to change: what was synced stays known to be durable.
    package func outdateSynced(_ id: InodeID) throws {
        if let synced = try synced(id), case .some = synced.durable,
            try inodeIfPresent(id)?.generation == synced.generation
        {
            try noteUndurable(id, generation: synced.generation)
        }
        try forgetSynced(id)
    }

    /// The bytes have changed since, or are gone.
    package func forgetSynced(_ id: InodeID) throws {
        try forgetNote("synced.\(id.rawValue)")
    }

    /// Notes on documents that have been sent since are not needed.
    package func forgetSyncedThatWereSent() throws {
        for id in try synced().keys where try !hasUnsentContents(id) { try forgetSynced(id) }
    }

    // MARK: After a power loss

    /// The bytes of a change were not durable at a power loss: they may be older bytes, or zeros. The provider's
    /// version keeps the name; the local bytes become a conflicted copy.
    ///
    /// - Returns: the copy's name; nil when the provider has no such document.
    package func partUnsynced(_ id: ItemID, defaults: PlaceholderDefaults) throws -> Filename? {
        guard let row = try item(id), row.identifier != nil, row.remote != nil else { return nil }
        if let inode = row.inode {
            try forgetNote("doubt.\(inode.rawValue)")
        }
        return try keepBoth(id, current: nil, .powerLoss, defaults: defaults)
    }

    /// Only these of the provider's bytes are here: the others were downloaded after the last sync, and may be zeros.
    /// They are downloaded again.
    package func keepDurable(_ id: InodeID, _ durable: DurableRanges) throws {
        try forgetNote("undurable.\(id.rawValue)")
        guard var inode = try inodeIfPresent(id) else { return }
        let base = RangeSet(0..<inode.baseSize)
        inode.extents = nil
        if case .some(let ranges) = durable, !ranges.isSuperset(of: base) { inode.extents = ranges.intersection(base) }
        try update(inode)
    }

    /// For a change that lacks bytes of the provider: it is separated once all bytes are here.
    package func markMaybeDamaged(_ id: InodeID) throws { try takeNote("doubt.\(id.rawValue)", "power loss") }

    /// Not even the file of a change is left: shows the provider's version again, if there is one.
    package func giveUpLost(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        guard let inode = try item(id)?.inode else { return }
        _ = try partUnsynced(id, defaults: defaults)
        try removeEveryName(of: inode)
    }
}
