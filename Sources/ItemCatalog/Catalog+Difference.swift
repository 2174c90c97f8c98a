package import FileProvider

/// How a folder's listing differs from what the catalog has of it.
package struct ListingDifference: Sendable {
    /// New, changed, or not yet brought to the local tree.
    package var changed: [Item] = []
    /// In the catalog and not in the listing.
    package var missing: [ItemIdentifier] = []
    /// Entries that cannot be shown, and why.
    package var refused: [(name: Filename, reason: String)] = []

    package var isEmpty: Bool { changed.isEmpty && missing.isEmpty }
}

extension Catalog.Reader {
    /// Compares a complete listing with the remote tree; reads few columns, for listings are long and
    /// mostly unchanged.
    ///
    /// - Parameter others: rows that are in the listing besides `items`, as the catalog has them
    ///   (``unchangedItem(_:in:)``).
    package func difference(
        of folder: ItemID, _ items: [Item], besides others: Set<ItemID> = [], ignoring: Set<ItemIdentifier>
    ) throws -> ListingDifference {
        var known = try knownChildren(of: folder, otherThan: others)
        for identifier in ignoring { known[identifier] = nil }
        var difference = ListingDifference()
        var names: Set<Filename> = []
        var identifiers: Set<ItemIdentifier> = []
        // From the last one: of a file that is renamed while the pages come, what came later is right.
        for item in items.reversed() where !ignoring.contains(item.identifier) {
            if let problem = Self.problem(item, in: folder, isKnown: known[item.identifier] != nil) {
                difference.refused.append((item.filename, problem))
            } else if try !names.insert(item.filename).inserted || isName(of: item, in: folder, amongst: others) {
                difference.refused.append((item.filename, "another item has the same name"))
            } else if !identifiers.insert(item.identifier).inserted {
                difference.refused.append((item.filename, "another item has the same identifier"))
            } else {
                let row = known.removeValue(forKey: item.identifier)
                if row != KnownChild(item) { difference.changed.append(item) }
            }
        }
        difference.changed.reverse()
        difference.missing = Array(known.keys)
        return difference
    }

    /// Why an item of a listing cannot be shown, whatever else is in it.
    static func problem(_ item: Item, in folder: ItemID, isKnown: Bool) -> String? {
        let isForeignTrash = folder == .root && Exclusions.isTrash(item.filename) && !isKnown
        return item.problem ?? (isForeignTrash ? trashProblem : nil)
    }

    private static let byIdentifier = Query(
        """
        SELECT id, remote_name, remote_content, remote_metadata, remote_size,
            base_parent IS remote_parent AND base_name IS remote_name AND base_content IS remote_content
            AND base_metadata IS remote_metadata, remote_parent
        FROM item WHERE identifier = ? AND id <> 1
        """)

    /// The row of an item of a listing that is shown as the listing says; nil: there is something to do.
    package func unchangedItem(_ item: Item, in folder: ItemID) throws -> ItemID? {
        if item.problem != nil { return nil }
        let found = try first(Self.byIdentifier) {
            $0.add(item.identifier.rawValue)
        } _: { row in
            row.int(6) == folder.rawValue && KnownChild(row) == KnownChild(item) ? ItemID(rawValue: row.int(0)) : nil
        }
        return found ?? nil
    }

    private static let byName = Query("SELECT id, identifier FROM item WHERE remote_parent = ? AND remote_name = ?")

    /// Whether another one of `rows` has the name.
    private func isName(of item: Item, in folder: ItemID, amongst rows: Set<ItemID>) throws -> Bool {
        if rows.isEmpty { return false }
        var isTaken = false
        try forEach(Self.byName) {
            $0.add(folder.rawValue)
            $0.add(item.filename.bytes)
        } _: { row in
            if rows.contains(ItemID(rawValue: row.int(0))), row.text(1) != item.identifier.rawValue { isTaken = true }
        }
        return isTaken
    }

    /// What a file manager deletes here, and there, are two matters.
    private static let trashProblem = "a file manager's trash is each machine's own"

    private struct KnownChild: Equatable {
        var name: [UInt8]
        var content: [UInt8]
        var metadata: [UInt8]
        var size: Int64
        var isSettled: Bool

        init(_ item: Item) {
            name = item.filename.bytes
            content = item.version.content.bytes
            metadata = item.version.metadata.bytes
            size = item.kind.isDocument ? item.size : 0
            isSettled = true
        }

        init(_ row: Columns) {
            name = row.bytes(1) ?? []
            content = row.bytes(2) ?? []
            metadata = row.bytes(3) ?? []
            size = row.int(4)
            isSettled = row.bool(5)
        }
    }

    private static let children = Query(
        """
        SELECT identifier, remote_name, remote_content, remote_metadata, remote_size,
            base_parent IS remote_parent AND base_name IS remote_name AND base_content IS remote_content
            AND base_metadata IS remote_metadata, id
        FROM item WHERE remote_parent = ? AND id <> 1 AND identifier IS NOT NULL
        """)

    private func knownChildren(
        of folder: ItemID, otherThan others: Set<ItemID>
    ) throws -> [ItemIdentifier: KnownChild] {
        var known: [ItemIdentifier: KnownChild] = [:]
        try forEach(Self.children) {
            $0.add(folder.rawValue)
        } _: {
            if others.contains(ItemID(rawValue: $0.int(6))) { return }
            known[ItemIdentifier($0.text(0) ?? "")] = KnownChild($0)
        }
        return known
    }
}
