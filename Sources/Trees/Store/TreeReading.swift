package import FileProvider

/// The data that the rules read: rows of inodes, names and items, and the few questions that a store answers faster
/// from an index than the rules could from rows.
///
/// `Catalog.Reader` answers from SQLite; tests answer from dictionaries. A reader sees one state: nothing changes
/// during its lifetime, except by its own writer.
package protocol TreeReading: AnyObject {
    // MARK: Items

    func item(_ id: ItemID) throws -> ItemRecord?
    func item(of inode: InodeID) throws -> ItemRecord?
    func item(identifiedBy identifier: ItemIdentifier) throws -> ItemRecord?
    /// The items with this parent in the local tree; not the root.
    func localChildren(of folder: ItemID) throws -> [ItemRecord]
    /// The items that the provider last reported in this folder.
    func remoteChildren(of folder: ItemID) throws -> [ItemRecord]
    /// The item, other than `id`, that the provider last reported under this name.
    func remoteOccupant(of place: TreePlace, otherThan id: ItemID) throws -> ItemRecord?
    /// The items with this base place whose changes are not sent before a moment after `moment`.
    func items(basedAt place: TreePlace, readyAfter moment: FileTime) throws -> [ItemRecord]
    /// The items that were deleted in this folder here and are still in the store, by row id.
    func tombstones(in folder: ItemID) throws -> [ItemRecord]
    /// Unconfirmed items that the provider was asked to create at this place, or in this folder.
    func attempts(at place: TreePlace) throws -> [ItemRecord]
    func attempts(in folder: ItemID) throws -> [ItemRecord]
    /// Held items among an item and all its local descendants; a folder comes before its content.
    func heldItems(within item: ItemID) throws -> [ItemRecord]
    /// Whether an item directly in the folder is held.
    func holdsSomething(_ folder: ItemID) throws -> Bool
    /// How many items the provider has, as far as is known here; including the root.
    func remoteItemCount() throws -> Int
    /// Items of the provider that are not shown where it has them.
    func itemsNotInPlace() throws -> [ItemID]

    // MARK: Listings

    /// The known facts about the items, other than `others`, that the provider last reported in this folder.
    func knownChildren(of folder: ItemID, otherThan others: Set<ItemID>) throws -> [ItemIdentifier: KnownChild]
    func knownChild(_ identifier: ItemIdentifier) throws -> (item: ItemID, folder: ItemID?, known: KnownChild)?
    /// The items that the provider last reported under this name.
    func remoteIdentifiers(at place: TreePlace) throws -> [(item: ItemID, identifier: ItemIdentifier?)]
    /// Whether the folder's names and items are exactly as the provider last reported, without anything else.
    func showsOnlyRemoteChildren(_ folder: InodeID, of item: ItemID) throws -> Bool

    // MARK: Inodes and names

    func inodeIfPresent(_ id: InodeID) throws -> InodeRecord?
    /// The inode that `name` means in `folder`, or nil when there is no such name. ``InodeRecord/isEnumerated`` of the
    /// folder tells whether nil is also true of the store.
    func child(of folder: InodeID, named name: Filename) throws -> InodeRecord?
    /// Entries of a folder with a cookie above `cookie` (0: from the beginning), at most `limit`, in the order of their
    /// cookies.
    func children(of folder: InodeID, after cookie: Int64, limit: Int) throws -> [FolderEntry]
    func hasChildren(_ folder: InodeID) throws -> Bool
    /// Every name of an inode, oldest first.
    func places(of inode: InodeID) throws -> [(folder: InodeID, name: Filename)]
    func firstPlace(of inode: InodeID) throws -> (folder: InodeID, name: Filename)?
    /// The number of a name: its position in the folder's listing.
    func number(of name: Filename, in folder: InodeID) throws -> Int64?
    func extendedAttribute(_ name: [UInt8], of inode: InodeID) throws -> [UInt8]?
    /// The attributes in the `user.` namespace whose names are UTF-8.
    func userAttributes(of inode: InodeID) throws -> [String: [UInt8]]
    /// The sum of the lengths of all names and values in the `user.` namespace except `name`, in bytes.
    func userAttributeBytes(of inode: InodeID, besides name: [UInt8]) throws -> Int

    // MARK: Pending changes

    /// Pending items that may be sent at `moment`, each with its parent's identifier, oldest first, at most `limit`. An
    /// item whose folder is not confirmed waits for the folder; a delayed deletion waits for its original.
    func pendingItems(at moment: FileTime, limit: Int) throws -> [(item: ItemRecord, parent: ItemIdentifier?)]
    /// Whether an item in the folder will be sent soon (``PendingItem/hasUnsentChildren``).
    func hasUnsentChildren(_ folder: ItemID, at moment: FileTime, lasting: [String]) throws -> Bool
    /// Nil: the provider has no item in the folder; true: it has one that was never shown here, or that the provider
    /// has moved into the folder and nobody here has touched.
    func hasNewRemoteChildren(_ folder: ItemID) throws -> Bool?
    /// The next moment after `moment` at which a pending change becomes ready or is tried again.
    func nextMoment(after moment: FileTime) throws -> FileTime?

    // MARK: Conflicts, deletions, notes

    /// Conflicts in which this inode is the original or the copy.
    func conflicts(of inode: InodeID) throws -> [ConflictRecord]
    /// The items whose deletion waits until the bytes of `original` are in the store.
    func delayedDeletions(for original: ItemID) throws -> [ItemID]
    /// How many items the provider deleted after `moment`, as counted by ``TreeStore/countVanished(_:at:)``.
    func vanished(after moment: FileTime) throws -> Int
    func note(_ key: String) throws -> String?
    func notes(beginningWith prefix: String) throws -> [(key: String, value: String)]
}

extension TreeReading {
    /// The inode; throws ``CatalogError/Code/notFound`` when there is none.
    package func inode(_ id: InodeID) throws -> InodeRecord {
        guard let inode = try inodeIfPresent(id) else { throw CatalogError(.notFound, "\(id) is gone") }
        return inode
    }

    /// The folder and name of an inode; of several names the primary one.
    package func place(of inode: InodeID) throws -> (folder: InodeID, name: Filename)? {
        let all = try places(of: inode)
        if all.count > 1, let local = try item(of: inode)?.local, let folder = try item(local.parent)?.inode,
            let primary = all.first(where: { $0.folder == folder && $0.name == local.name })
        {
            return primary
        }
        return all.first
    }

    /// The names from the root to the inode; nil when it has none (unlinked).
    package func path(of inode: InodeID) throws -> [Filename]? {
        var names: [Filename] = []
        var current = inode
        while current != .root {
            guard let place = try place(of: current), names.count < 4_096 else { return nil }
            names.append(place.name)
            current = place.folder
        }
        return names.reversed()
    }

    /// Follows `names` from the root, without following links.
    package func resolve(_ names: [Filename]) throws -> InodeRecord {
        var inode = try inode(.root)
        for name in names {
            guard inode.isFolder else { throw CatalogError(.notFolder, "a component of the path is not a folder") }
            guard let next = try child(of: inode.id, named: name) else {
                throw inode.isEnumerated
                    ? CatalogError(.notFound, "no such file or directory")
                    : CatalogError(.notEnumerated(inode.id), "the folder has not been listed yet")
            }
            inode = next
        }
        return inode
    }

    /// Whether `inner` is `outer` or below it, in the local tree.
    func isInside(_ inner: InodeID, _ outer: InodeID) throws -> Bool {
        var current = inner
        while current != .root {
            if current == outer { return true }
            guard let place = try place(of: current) else { return false }
            current = place.folder
        }
        return false
    }

    /// Whether `inner` is `outer` or below it, in the remote tree.
    package func isRemotelyInside(_ inner: ItemID, _ outer: ItemID) throws -> Bool {
        var current: ItemID? = inner
        var steps = 0
        while let id = current, id != .root, steps < 4_096 {
            if id == outer { return true }
            current = try item(id)?.remote?.parent
            steps += 1
        }
        return false
    }
}
