package import FileProvider

/// What the rules write: whole rows and names, in one transaction. `Catalog.Writer` fills it with SQLite, tests with
/// dictionaries.
///
/// The rules are extensions of this protocol, in the folders Programs (what programs do to the local tree), Remote (what
/// the provider says), Sending (what is sent, and what the provider answered) and Conflicts (both versions kept, and what
/// people decide).
package protocol TreeStore: TreeReading {
    /// What time it is for everything that this transaction does.
    var now: FileTime { get }
    /// Names that stay on this machine.
    var exclusions: Exclusions { get }
    /// Which deletions in the store wait for a person.
    var hold: DeletionHold { get }
    /// What the transaction gathers for those who are told of its commit, and for its own rules.
    var transaction: TreeTransaction { get }
    var waiting: WaitingItems { get }
    var reopened: ReopenedFolders { get }

    // MARK: Rows

    /// Adds a row; the record's id is ignored and given out anew.
    func insert(_ inode: InodeRecord) throws -> InodeRecord
    func insert(_ item: ItemRecord) throws -> ItemRecord
    /// Writes what differs from the row with the record's id; no such row: nothing.
    func update(_ inode: InodeRecord) throws
    func update(_ item: ItemRecord) throws
    /// Deletes an item with its conflicts and delayed deletions.
    func deleteItem(_ id: ItemID) throws
    /// Deletes an inode that has no name, with its conflicts; the caller removes its bytes after the commit.
    func deleteInode(_ id: InodeID) throws
    /// In the remote tree, what is in `old` is in `new` from now on.
    func moveRemoteChildren(of old: ItemID, to new: ItemID) throws

    // MARK: Names

    /// - Parameter number: its place in the folder's listing; nil: behind all others.
    func link(_ inode: InodeID, in folder: InodeID, as name: Filename, number: Int64?) throws
    /// Gives a name up for another one that is free. It keeps its number, also in another folder: whoever lists the folder
    /// meanwhile sees it once, under one of its names.
    func moveName(_ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID) throws
    /// Makes an existing name mean another inode, in the same place of the listing.
    func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws
    func unlinkName(_ name: Filename, in folder: InodeID) throws
    /// A number before all others; nil: there are no more.
    func numberInFront() throws -> Int64?
    /// The folder's own times after an entry came or went; `links`: how its count of subfolders changed.
    func touch(folder id: InodeID, links: Int64) throws
    func addLinks(_ links: Int64, to id: InodeID) throws

    // MARK: Extended attributes

    func writeAttribute(_ name: [UInt8], _ value: [UInt8], of inode: InodeID) throws
    func deleteAttribute(_ name: [UInt8], of inode: InodeID) throws
    /// Deletes all in the `user.` namespace.
    func deleteUserAttributes(of inode: InodeID) throws
    func copyAttributes(of inode: InodeID, to other: InodeID) throws

    // MARK: Conflicts, deletions, notes

    /// Replaces one that the two have already.
    func insertConflict(original: ItemID, copy: InodeID, _ reason: ConflictReason) throws
    func moveConflicts(from old: InodeID, to new: InodeID) throws
    func forgetConflict(_ id: Int64) throws
    /// The deletion of `item` is not sent before the bytes of `original` are in the store.
    func delayDeletion(of item: ItemID, until original: ItemID) throws
    func moveDelayedDeletions(from old: ItemID, to new: ItemID) throws
    func forgetDelayedDeletions(for original: ItemID) throws
    /// So many items more are gone from the store at this moment; fewer, where the number is negative.
    func countVanished(_ items: Int, at moment: FileTime) throws
    /// Forgets what was counted at moments in the range.
    func forgetVanished(_ moments: ClosedRange<FileTime>) throws
    func takeNote(_ key: String, _ value: String) throws
    func forgetNote(_ key: String) throws
}

/// What one transaction gathers beside its rows.
package final class TreeTransaction {
    /// What the kernel must forget once this is committed.
    package var changes: [CatalogChange] = []
    /// Places in the local tree that were given up, where something of the provider's may wait.
    package var freedPlaces: [TreePlace] = []
    /// How many items this transaction began to hold, and how many came back by themselves.
    package var held = 0
    package var returned = 0
    /// Folders that came back: the store may have all of what is held in them.
    package var returnedFolders: [ItemIdentifier] = []
    /// The provider told or confirmed something, also where the kernel need not forget anything.
    package var concernsStore = false
    /// The numbers of names that are on their way from one place to another.
    package var movingNumbers: [InodeID: Int64] = [:]
    /// Whether the caller brings missing bytes when asked with ``CatalogError/Code/incomplete(_:)``.
    package var bringsBytes: ((InodeID) -> Bool)?
    /// Gives the bytes of one generation of an inode to the first generation of another, as a second name.
    package var linkContents: ((_ from: InodeID, _ generation: Int64, _ to: InodeID) throws -> Void)?
    /// The inodes that were given bytes like that; none of them is there when the transaction fails.
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

    /// The number of a change. Not counted: where a document's bytes go over to another inode counting would begin
    /// anew, and an upload of the old ones would be taken for one of the new ones.
    func nextRevision(after last: Int64) -> Int64 { max(last + 1, now.nanoseconds) }

    func link(_ inode: InodeID, in folder: InodeID, as name: Filename) throws {
        try link(inode, in: folder, as: name, number: nil)
    }

    func touch(folder id: InodeID) throws { try touch(folder: id, links: 0) }

    /// An item of the provider's appeared. A first listing only shows what was there all along: it leaves the
    /// folder's date alone.
    func noteArrival(in id: InodeID, links: Int64) throws {
        if try inode(id).isEnumerated { return try touch(folder: id, links: links) }
        if links != 0 { try addLinks(links, to: id) }
    }
}
