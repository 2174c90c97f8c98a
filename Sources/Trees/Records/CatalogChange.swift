package import FileProvider

/// Kernel caches that a change of the provider has made stale.
package enum CatalogChange: Sendable, Equatable {
    /// This name in this folder now means another inode, or none; `isNew`: the name did not exist before.
    case entry(folder: InodeID, name: Filename, isNew: Bool = false)
    /// The attributes of this inode.
    case attributes(InodeID)
    /// The inode has a new generation; programs that have the document open hold the old one.
    case contents(InodeID)
    /// The inode has no name any more.
    case removed(InodeID)
    /// Programs that have this inode open for writing go on with the other; see ``TreeStore/split(_:_:)``.
    case split(InodeID, to: InodeID)
    /// A conflicted copy was made of bytes that a program wrote: this inode.
    case conflict(InodeID)
}
