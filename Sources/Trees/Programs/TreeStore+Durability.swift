package import FileProvider

/// What survives the machine going off, where a killed daemon loses nothing: of which changed documents the bytes were
/// synced (fsync(2)) after their last change, and in which boot the domain was in use.
extension TreeReading {
    /// The boot in which a daemon used the catalog and did not put everything away; nil: there is none.
    package func bootInUse() throws -> String? { try note("boot").flatMap { $0.isEmpty ? nil : $0 } }

    /// Documents whose bytes were durable when they were changed last.
    package func synced() throws -> [InodeID: SyncedContents] {
        var found: [InodeID: SyncedContents] = [:]
        for (key, value) in try notes(beginningWith: "synced.") {
            if let inode = Int64(key.dropFirst(7)) { found[InodeID(rawValue: inode)] = SyncedContents(text: value) }
        }
        return found
    }

    /// Downloads that are recorded, and whose bytes may not be durable yet.
    package func undurable() throws -> [UndurableContents] {
        try notes(beginningWith: "undurable.").compactMap { UndurableContents(key: $0.key, note: $0.value) }
    }

    package func undurable(_ id: InodeID) throws -> UndurableContents? {
        let key = "undurable.\(id.rawValue)"
        return try note(key).flatMap { UndurableContents(key: key, note: $0) }
    }

    /// Whether a change was not durable when the machine went off, and has not been parted from its document yet.
    package func mayBeDamaged(_ id: InodeID) throws -> Bool { try note("doubt.\(id.rawValue)") != nil }

    package func isNotedSynced(_ id: InodeID) throws -> Bool { try note("synced.\(id.rawValue)") != nil }

    func isNotedSynced(_ id: InodeID, size: Int64, modified: Int64) throws -> Bool {
        guard let known = try note("synced.\(id.rawValue)").flatMap({ SyncedContents(text: $0) }) else { return false }
        return known.size == size && known.modified == modified
    }
}

/// A generation that bytes were downloaded into.
package struct UndurableContents: Sendable, Equatable {
    package let inode: InodeID
    package let number: Int64
    /// What is in the catalog: it is another one when more bytes have come since.
    fileprivate let note: String

    fileprivate init?(key: String, note: String) {
        guard let inode = Int64(key.dropFirst(10)), let number = note.split(separator: " ").first.flatMap({ Int64($0) })
        else { return nil }
        self.inode = InodeID(rawValue: inode)
        self.number = number
        self.note = note
    }
}

/// What a local file was when fsync(2) made it durable. If it is that after a power loss, nobody has begun to write
/// into it since, or what he wrote has not come to the disk either.
package struct SyncedContents: Sendable, Equatable {
    package var generation: Int64
    package var size: Int64
    /// The file's own, in ns since 1970.
    package var modified: Int64

    package init(generation: Int64, size: Int64, modified: Int64) {
        self.generation = generation
        self.size = size
        self.modified = modified
    }

    init?(text: String) {
        let numbers = text.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 3 else { return nil }
        self.init(generation: numbers[0], size: numbers[1], modified: numbers[2])
    }

    var text: String { "\(generation) \(size) \(modified)" }
}

extension TreeReading {
    /// Whether the provider has not confirmed the bytes of this document.
    package func hasUnsentContents(_ id: InodeID) throws -> Bool {
        guard let item = try item(of: id) else { return false }
        return item.identifier == nil || item.contentRevision != 0
    }
}

extension TreeStore {
    /// A daemon uses the catalog from now on; nil: all that it has is durable, whatever happens to the machine.
    package func noteBoot(_ boot: String?) throws { try takeNote("boot", boot ?? "") }

    /// The bytes of a changed document are durable as they are.
    ///
    /// - Parameter contents: the file's state, before and after it was synced. Of older bytes nothing is noted.
    package func noteSynced(_ id: InodeID, _ contents: SyncedContents) throws {
        guard try hasUnsentContents(id), try inodeIfPresent(id)?.generation == contents.generation else { return }
        try takeNote("synced.\(id.rawValue)", contents.text)
    }

    /// Bytes were downloaded into this generation, and not synced yet.
    package func noteUndurable(_ id: InodeID, generation: Int64) throws {
        try takeNote("undurable.\(id.rawValue)", "\(generation) \(now.nanoseconds)")
    }

    /// They are durable as they were then; what came since is not.
    package func forgetUndurable(_ contents: [UndurableContents]) throws {
        for one in contents {
            let key = "undurable.\(one.inode.rawValue)"
            if try note(key) == one.note { try forgetNote(key) }
        }
    }

    /// They were changed since, or are gone.
    package func forgetSynced(_ id: InodeID) throws {
        try forgetNote("synced.\(id.rawValue)")
    }

    /// What has been sent since needs no note.
    package func forgetSyncedThatWereSent() throws {
        for id in try synced().keys where try !hasUnsentContents(id) { try forgetSynced(id) }
    }

    // MARK: After a power loss

    /// A change whose bytes were not durable when the machine went off: they may be older ones, or zeros. What the
    /// provider has stays under its name; what is here becomes a conflicted copy.
    ///
    /// - Returns: the copy's name; nil when the provider has no such document.
    package func partUnsynced(_ id: ItemID, defaults: PlaceholderDefaults) throws -> Filename? {
        guard let row = try item(id), row.identifier != nil, row.remote != nil else { return nil }
        if let inode = row.inode {
            try forgetNote("doubt.\(inode.rawValue)")
        }
        return try keepBoth(id, current: nil, .powerLoss, defaults: defaults)
    }

    /// The same of a change of which a part has to come from the provider first: it is parted when it is whole.
    package func markMaybeDamaged(_ id: InodeID) throws { try takeNote("doubt.\(id.rawValue)", "power loss") }

    /// A change of which not even a file is left: what the provider has is shown again, if it has anything.
    package func giveUpLost(_ id: ItemID, defaults: PlaceholderDefaults) throws {
        guard let inode = try item(id)?.inode else { return }
        _ = try partUnsynced(id, defaults: defaults)
        try removeEveryName(of: inode)
    }
}
