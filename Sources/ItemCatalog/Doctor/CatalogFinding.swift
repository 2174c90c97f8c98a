import FileProvider
package import Trees

/// A violation of a rule in the catalog, and the repair that it needs.
package struct CatalogFinding: Sendable, Equatable {
    package enum Rule: String, Sendable, CaseIterable {
        /// SQLite's own integrity_check and foreign_key_check.
        case database, reference
        /// A file's link count is the number of its names.
        case linkCount
        /// A folder's link count is 2 plus the number of its subfolders.
        case folderLinkCount
        /// A folder has one name.
        case folderNames
        /// Every name is in a folder that exists, and means an inode that exists.
        case nameWithoutFolder, nameWithoutInode
        /// Every name leads up to the root.
        case unreachable
        /// An item's local place is one of its inode's names, in a folder that is an item.
        case itemPlace
        /// Every inode that the store can hold has an item; otherwise it would never be sent.
        case inodeWithoutItem
        /// The extents lie within the base size, and the base size within the document.
        case extents
    }
    package var rule: Rule
    /// The inode, item or name, for people.
    package var place: String
    package var what: String
    package var repair: Repair?

    package enum Repair: Sendable, Equatable {
        case setLinkCount(InodeID, Int64)
    }

    package init(rule: Rule, place: String, what: String, repair: Repair? = nil) {
        self.rule = rule
        self.place = place
        self.what = what
        self.repair = repair
    }
}

extension CatalogFinding.Rule {
    /// The consequence for users of the mount.
    package var meaning: String {
        switch self {
        case .database: "the database file is damaged: any answer from it may be wrong"
        case .reference: "rows refer to rows that are gone"
        case .linkCount: "stat shows a wrong link count; at 0 the file would be removed"
        case .folderLinkCount: "programs such as find may skip folders, or look for folders that do not exist"
        case .folderNames: "a folder is in two places, or in none"
        case .nameWithoutFolder: "the name does not show in any folder"
        case .nameWithoutInode: "the name cannot be opened"
        case .unreachable: "it does not show in the mount"
        case .itemPlace: "the store may get another place for it than it has here"
        case .inodeWithoutItem: "it is never sent to the store"
        case .extents: "it is not certain which of its bytes are here"
        }
    }
}
