package import FileProvider

/// The difference between a folder's listing and the catalog.
package struct ListingDifference: Sendable {
    /// Items that are new, changed, or not yet in the local tree.
    package var changed: [Item] = []
    /// Items in the catalog that are not in the listing.
    package var missing: [ItemIdentifier] = []
    /// Entries that cannot be shown, and why.
    package var refused: [(name: Filename, reason: String)] = []

    package var isEmpty: Bool { changed.isEmpty && missing.isEmpty }
}

extension TreeReading {
    /// Compares a complete listing with the remote tree; reads few columns, because listings are long and mostly
    /// unchanged.
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
        // From the last one: when a file is renamed while the pages come, the later entry is right.
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

    /// Why an item of a listing cannot be shown, regardless of the other items.
    static func problem(_ item: Item, in folder: ItemID, isKnown: Bool) -> String? {
        let isForeignTrash = folder == .root && Exclusions.isTrash(item.filename) && !isKnown
        return item.problem ?? (isForeignTrash ? trashProblem : nil)
    }

    /// The row of an item that is already shown as the listing says; nil: the item has changes.
    package func unchangedItem(_ item: Item, in folder: ItemID) throws -> ItemID? {
        if item.problem != nil { return nil }
        guard let found = try knownChild(item.identifier), found.folder == folder, found.known == KnownChild(item)
        else {
            return nil
        }
        return found.item
    }

    /// Whether another of `rows` has the name.
    private func isName(of item: Item, in folder: ItemID, amongst rows: Set<ItemID>) throws -> Bool {
        if rows.isEmpty { return false }
        return try remoteIdentifiers(at: TreePlace(parent: folder, name: item.filename)).contains {
            rows.contains($0.item) && $0.identifier != item.identifier
        }
    }

    /// The trash on this machine and the trash in the store are unrelated.
    private static var trashProblem: String { "a file manager's trash folder is not synced" }
}

/// The facts that show whether an item of a listing is unchanged.
package struct KnownChild: Equatable {
    package var name: [UInt8]
    package var content: [UInt8]
    package var metadata: [UInt8]
    package var size: Int64
    /// The base tree and the remote tree agree on the item.
    package var isSettled: Bool

    package init(name: [UInt8], content: [UInt8], metadata: [UInt8], size: Int64, isSettled: Bool) {
        self.name = name
        self.content = content
        self.metadata = metadata
        self.size = size
        self.isSettled = isSettled
    }

    init(_ item: Item) {
        self.init(
            name: item.filename.bytes, content: item.version.content.bytes, metadata: item.version.metadata.bytes,
            size: item.kind.isDocument ? item.size : 0, isSettled: true)
    }
}
