package import FileProvider

/// The data that the rules write: whole rows and names, in one transaction. `Catalog.Writer` implements it with SQLite,
/// tests with dictionaries.
///
/// The rules are extensions of this protocol, in the folders Programs (local changes by programs), Remote (reports of
/// the provider), Sending (sent changes and the provider's answers) and Conflicts (both versions kept, and people's
/// decisions).
package protocol TreeStore: TreeReading {
    /// The current time, the same for everything that this transaction does.
    var now: FileTime { get }
    /// Names that stay on this machine.
    var exclusions: Exclusions { get }
    /// Rules for holding deletions of the store until a person decides.
    var hold: DeletionHold { get }
    /// State that the transaction collects for observers of its commit, and for its own rules.
    var transaction: TreeTransaction { get }
    var waiting: WaitingItems { get }
    var reopened: ReopenedFolders { get }

    // MARK: Rows

    /// Adds a row; the record's id is ignored and a new one assigned.
    func insert(_ inode: InodeRecord) throws -> InodeRecord
    func insert(_ item: ItemRecord) throws -> ItemRecord
    /// Adds rows, in this order.
    func insert(_ inodes: [InodeRecord]) throws -> [InodeRecord]
    func insert(_ items: [ItemRecord]) throws -> [ItemRecord]
    /// Writes the differences to the row with the record's id; does nothing when there is no such row.
    func update(_ inode: InodeRecord) throws
    func update(_ item: ItemRecord) throws
    /// Deletes an item with its conflicts and delayed deletions.
    func deleteItem(_ id: ItemID) throws
    /// Deletes an inode that has no name, with its conflicts; the caller removes its bytes after the commit.
    func deleteInode(_ id: InodeID) throws
    /// In the remote tree, moves the children of `old` to `new`.
    func moveRemoteChildren(of old: ItemID, to new: ItemID) throws

    // MARK: Names

    /// - Parameter number: its position in the folder's listing; nil: after all others.
    func link(_ inode: InodeID, in folder: InodeID, as name: Filename, number: Int64?) throws
    /// Adds names after all others, in this order.
    func link(_ names: [(inode: InodeID, name: Filename)], in folder: InodeID) throws
    /// Changes a name to another one that is free. The name keeps its number, even in another folder, so that a program
    /// that is listing the folder sees it once, under either name.
    func moveName(_ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID) throws
    /// Makes an existing name mean another inode, at the same position of the listing.
    func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws
    func unlinkName(_ name: Filename, in folder: InodeID) throws
    /// A number before all others; nil when there are no more.
    func numberInFront() throws -> Int64?
    /// Updates the folder's own times after an entry came or went; `links`: the change of its number of subfolders.
    func touch(folder id: InodeID, links: Int64) throws
    func addLinks(_ links: Int64, to id: InodeID) throws

    // MARK: Extended attributes

    func writeAttribute(_ name: [UInt8], _ value: [UInt8], of inode: InodeID) throws
    func deleteAttribute(_ name: [UInt8], of inode: InodeID) throws
    /// Deletes all attributes in the `user.` namespace.
    func deleteUserAttributes(of inode: InodeID) throws
    func copyAttributes(of inode: InodeID, to other: InodeID) throws

    // MARK: Conflicts, deletions, notes

    /// Replaces an existing conflict of the two.
    func insertConflict(original: ItemID, copy: InodeID, _ reason: ConflictReason) throws
    func moveConflicts(from old: InodeID, to new: InodeID) throws
    func forgetConflict(_ id: Int64) throws
    /// Delays the deletion of `item` until the bytes of `original` are in the store.
    func delayDeletion(of item: ItemID, until original: ItemID) throws
    func moveDelayedDeletions(from old: ItemID, to new: ItemID) throws
    func forgetDelayedDeletions(for original: ItemID) throws
    /// Counts this many items as deleted from the store at this moment; a negative number subtracts.
    func countVanished(_ items: Int, at moment: FileTime) throws
    /// Forgets the counts at moments in the range.
    func forgetVanished(_ moments: ClosedRange<FileTime>) throws
    func takeNote(_ key: String, _ value: String) throws
    func forgetNote(_ key: String) throws
}

/// State that one transaction collects besides its rows.
package final class TreeTransaction {
    /// Kernel caches to invalidate after the commit.
    package var changes: [CatalogChange] = []
    /// Places in the local tree that have become free, and that items of the provider may wait for.
    package var freedPlaces: [TreePlace] = []
    /// How many items this transaction began to hold, and how many came back by themselves.
    package var held = 0
    package var returned = 0
    /// Folders that came back: the store may have all held items in them.
    package var returnedFolders: [ItemIdentifier] = []
    /// The provider reported or confirmed something, even if no kernel cache is affected.
    package var concernsStore = false
    /// The listing numbers of names that are being moved.
    package var movingNumbers: [InodeID: Int64] = [:]
    /// Whether the caller downloads missing bytes when asked with ``CatalogError/Code/incomplete(_:)``.
    package var canDownload: ((InodeID) -> Bool)?
    /// Gives the bytes of one generation of an inode to the first generation of another inode, as a hard link.
    package var linkContents: ((_ from: InodeID, _ generation: Int64, _ to: InodeID) throws -> Void)?
    /// The inodes that got bytes in this way; if the transaction fails, none of them exists.
    package var linked: [InodeID] = []

    package init() {}
}

extension TreeStore {
    package var changes: [CatalogChange] {
        get { transaction.changes }
        _modify { yield &transaction.changes }
    }
    var freedPlaces: [TreePlace] {
        get { transaction.freedPlaces }
        _modify { yield &transaction.freedPlaces }
    }

    /// The number of a change. Not a counter: when a document's bytes pass to another inode a counter would start
    /// again, and an upload of the old bytes would be taken for one of the new bytes.
    func nextRevision(after last: Int64) -> Int64 { max(last + 1, now.nanoseconds) }

    func link(_ inode: InodeID, in folder: InodeID, as name: Filename) throws {
        try link(inode, in: folder, as: name, number: nil)
    }

    package func insert(_ inodes: [InodeRecord]) throws -> [InodeRecord] { try inodes.map { try insert($0) } }
    package func insert(_ items: [ItemRecord]) throws -> [ItemRecord] { try items.map { try insert($0) } }
    package func link(_ names: [(inode: InodeID, name: Filename)], in folder: InodeID) throws {
        for entry in names { try link(entry.inode, in: folder, as: entry.name) }
    }

    func touch(folder id: InodeID) throws { try touch(folder: id, links: 0) }

    /// An item of the provider appeared. A first listing only shows what was there all along, and leaves the folder's
    /// date alone.
    func noteArrival(in id: InodeID, links: Int64) throws {
        if try inode(id).isEnumerated { return try touch(folder: id, links: links) }
        if links != 0 { try addLinks(links, to: id) }
    }
}
