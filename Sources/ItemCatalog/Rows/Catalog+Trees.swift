package import FileProvider
package import Trees

/// Implements ``TreeReading`` in SQL, with the rows of items, inodes and names: an index answers these questions of the
/// rules faster than rows would.
extension Catalog.Reader: TreeReading {
    private static let localChildrenOfFolder = itemQuery("t.local_parent = ? AND t.id <> 1")

    package func localChildren(of folder: ItemID) throws -> [ItemRecord] {
        try items(Self.localChildrenOfFolder) { $0.add(folder.rawValue) }
    }

    private static let basedAt = itemQuery(
        """
        ((t.own_base_parent = ?1 AND t.own_base_name = ?2) OR (\(isLocal(in: "?1", as: "?2")) AND t.alike & 1))
        AND t.ready_at > ?3
        """)

    package func items(basedAt place: TreePlace, readyAfter moment: FileTime) throws -> [ItemRecord] {
        try items(Self.basedAt) { bindings in
            bindings.add(place)
            bindings.add(moment.nanoseconds)
        }
    }

    private static let tombstonesInFolder = itemQuery(
        """
        t.own_base_parent = ? AND t.local_parent IS NULL AND t.identifier IS NOT NULL AND t.remote_parent IS NOT NULL
        ORDER BY t.id
        """)

    package func tombstones(in folder: ItemID) throws -> [ItemRecord] {
        try items(Self.tombstonesInFolder) { $0.add(folder.rawValue) }
    }

    // Not by the index of identifiers: in it all new documents are under NULL.
    private static let attemptsAtPlace = itemQuery(
        "t.attempted_parent = ? AND t.attempted_name = ? AND +t.identifier IS NULL")
    private static let attemptsInFolder = itemQuery("t.attempted_parent = ? AND +t.identifier IS NULL")

    package func attempts(at place: TreePlace) throws -> [ItemRecord] {
        try items(Self.attemptsAtPlace) { $0.add(place) }
    }

    package func attempts(in folder: ItemID) throws -> [ItemRecord] {
        try items(Self.attemptsInFolder) { $0.add(folder.rawValue) }
    }

    private static let remoteCount = Query(
        """
        SELECT (SELECT COUNT(*) FROM item WHERE own_remote_parent IS NOT NULL)
            + (SELECT COUNT(*) FROM item WHERE local_parent IS NOT NULL AND alike & 2)
        """)

    package func remoteItemCount() throws -> Int { try first(Self.remoteCount, { _ in }) { Int($0.int(0)) } ?? 0 }

    private static let notInPlace = Query(
        """
        SELECT id FROM item WHERE own_remote_parent IS NOT NULL AND (
            (inode IS NULL AND local_parent IS NULL AND base_parent IS NULL)
            OR (inode IS NOT NULL AND alike & 1
                AND (own_remote_parent <> local_parent OR own_remote_name <> local_name)))
        """)

    package func itemsNotInPlace() throws -> [ItemID] {
        try all(Self.notInPlace, { _ in }) { ItemID(rawValue: $0.int(0)) }
    }

    // MARK: Listings

    private static let knownColumns = """
        remote_name, remote_content, remote_metadata, remote_size, alike = 7 OR (
            base_parent IS remote_parent AND base_name IS remote_name AND base_content IS remote_content
            AND base_metadata IS remote_metadata)
        """

    private static func knownChild(_ row: Columns, from first: Int) -> KnownChild {
        KnownChild(
            name: row.bytes(first) ?? [], content: row.bytes(first + 1) ?? [], metadata: row.bytes(first + 2) ?? [],
            size: row.int(first + 3), isSettled: row.bool(first + 4))
    }

    private static let knownInFolder = Query(
        """
        SELECT t.id, t.identifier, \(knownColumns) FROM item t
        WHERE \(isRemote(in: "?1")) AND t.id <> 1 AND t.identifier IS NOT NULL
        """
    )
    private static let knownByIdentifier = Query(
        "SELECT id, remote_parent, \(knownColumns) FROM item WHERE identifier = ? AND id <> 1")

    package func knownChildren(
        of folder: ItemID, otherThan others: Set<ItemID>
    ) throws -> [ItemIdentifier: KnownChild] {
        var known: [ItemIdentifier: KnownChild] = [:]
        try forEach(Self.knownInFolder) {
            $0.add(folder.rawValue)
        } _: {
            if others.contains(ItemID(rawValue: $0.int(0))) { return }
            known[ItemIdentifier($0.text(1) ?? "")] = Self.knownChild($0, from: 2)
        }
        return known
    }

    package func knownChild(_ identifier: ItemIdentifier) throws -> (item: ItemID, folder: ItemID?, known: KnownChild)?
    {
        try first(Self.knownByIdentifier) {
            $0.add(identifier.rawValue)
        } _: {
            (ItemID(rawValue: $0.int(0)), $0.intOrNil(1).map(ItemID.init(rawValue:)), Self.knownChild($0, from: 2))
        }
    }

    private static let identifiersAtPlace = Query(
        "SELECT t.id, t.identifier FROM item t WHERE \(isRemote(in: "?1", as: "?2")) ORDER BY t.id")

    package func remoteIdentifiers(at place: TreePlace) throws -> [(item: ItemID, identifier: ItemIdentifier?)] {
        try all(Self.identifiersAtPlace) {
            $0.add(place)
        } _: {
            (ItemID(rawValue: $0.int(0)), $0.text(1).map { ItemIdentifier($0) })
        }
    }

    private static let otherName = Query(
        """
        SELECT 1 FROM name n LEFT JOIN item t ON t.inode = n.inode
        WHERE n.folder = ?1 AND (t.id IS NULL OR t.pending <> 0 OR t.local_parent IS NOT ?2 OR t.remote_parent IS NOT ?2
            OR t.local_name IS NOT n.name OR t.remote_name IS NOT n.name OR t.held_at IS NOT NULL)
        LIMIT 1
        """)
    private static let notShown = Query(
        "SELECT 1 FROM item WHERE own_remote_parent = ?1 AND local_parent IS NOT ?1 AND id <> 1 LIMIT 1")

    package func showsOnlyRemoteChildren(_ folder: InodeID, of item: ItemID) throws -> Bool {
        let holdsOther = try exists(Self.otherName) { bindings in
            bindings.add(folder.rawValue)
            bindings.add(item.rawValue)
        }
        return try !holdsOther && !exists(Self.notShown) { $0.add(item.rawValue) }
    }
}
