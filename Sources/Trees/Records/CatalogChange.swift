package import FileProvider

/// What a change from the provider's side made stale in the kernel's caches.
package enum CatalogChange: Sendable, Equatable {
    /// This name in this folder now means something else, or nothing; or, `isNew`, something where there was nothing.
    case entry(folder: InodeID, name: Filename, isNew: Bool = false)
    /// The attributes of this inode.
    case attributes(InodeID)
    /// The inode's bytes are another generation now; the old one is whatever its openers hold.
    case contents(InodeID)
    /// The inode has no name any more.
    case removed(InodeID)
    /// Whoever has this inode open for writing goes on with that one; see ``TreeStore/split(_:_:)``.
    case split(InodeID, to: InodeID)
    /// A conflicted copy was made of what a program wrote: this inode.
    case conflict(InodeID)
}
