import FileProvider

/// Favourites: the store's marks, and the wishes of programs that the store has not taken yet.
///
/// A wish is an attribute of the inode outside the namespaces that programs can use: it is kept, sent again and
/// discarded as other metadata.
extension TreeReading {
    /// The mark that a program has set or taken away, while the store has not confirmed it; nil: none.
    package func favoriteWish(of inode: InodeID) throws -> Bool? {
        try extendedAttribute(FavoriteWish.name, of: inode).map { $0 == FavoriteWish.marked }
    }
}

package enum FavoriteWish {
    /// Not in a namespace: no program can name it, and no store is told of it.
    package static let name = Array("hydrant.favorite".utf8)
    fileprivate static let marked: [UInt8] = [1]
    fileprivate static let unmarked: [UInt8] = [0]
}

extension TreeStore {
    /// Records that a program wants an item to have the mark, or not to have it. A wish for what the store already has
    /// is none.
    package func wishFavorite(_ isFavorite: Bool, of id: InodeID, settle: Double) throws {
        guard let item = try item(of: id), !item.isExcluded, id != .root else {
            throw CatalogError(.noAttribute, "an item that is not in the store is no favourite")
        }
        if try favoriteWish(of: id) ?? item.remoteFacts.isFavorite == isFavorite { return }
        try writeAttribute(FavoriteWish.name, isFavorite ? FavoriteWish.marked : FavoriteWish.unmarked, of: id)
        try bumpMetadata(of: id, settle: settle)
    }

    /// The store has the mark that was wished for, or never will: shows the store's.
    func endFavoriteWish(of id: InodeID?) throws {
        guard let id, try favoriteWish(of: id) != nil else { return }
        try deleteAttribute(FavoriteWish.name, of: id)
    }
}
