import FileProvider

/// The items of a ``MemoryStore`` that changed, and the revision of each change.
struct ChangeLog: Sendable {
    private struct Entry: Sendable {
        var revision: Int
        var identifier: ItemIdentifier
    }
    /// In the order of their revisions, each higher than the one before.
    private var entries: [Entry] = []
    /// Changes up to this revision are forgotten.
    private var oldest = 0
    /// Distinguishes the anchors of different stores.
    private let name = "memory-\(UInt64.random(in: 0 ... .max))"

    mutating func append(_ identifier: ItemIdentifier, at revision: Int) {
        entries.append(Entry(revision: revision, identifier: identifier))
    }

    mutating func forget(before revision: Int) {
        oldest = revision
        entries.removeAll { $0.revision <= revision }
    }

    func anchor(at revision: Int) -> SyncAnchor { SyncAnchor("\(name) \(revision)") }

    /// At most `count` items that changed after `anchor`, each once, and the next anchor.
    func page(
        from anchor: SyncAnchor, count: Int, newest: Int
    ) throws(FileProviderError) -> (identifiers: [ItemIdentifier], next: SyncAnchor, hasMore: Bool) {
        let parts = String(decoding: anchor.bytes, as: UTF8.self).split(separator: " ")
        guard parts.count == 2, parts[0] == name, let start = Int(parts[1]), start >= oldest else {
            throw FileProviderError(.syncAnchorExpired, "the store does not remember changes that far back")
        }
        var identifiers: [ItemIdentifier] = []
        var seen: Set<ItemIdentifier> = []
        var last = start
        for entry in entries[position(after: start)...] {
            if !seen.contains(entry.identifier) {
                if identifiers.count == count { return (identifiers, self.anchor(at: last), true) }
                seen.insert(entry.identifier)
                identifiers.append(entry.identifier)
            }
            last = entry.revision
        }
        return (identifiers, self.anchor(at: newest), false)
    }

    /// The index of the first entry after this revision.
    private func position(after revision: Int) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
