package import FileProvider

/// One entry of a folder.
package struct FolderEntry: Sendable {
    /// Where the listing continues after this entry; stable for the lifetime of the entry, through every rename. Above
    /// 0.
    package var cookie: Int64
    package var name: Filename
    package var inode: InodeRecord

    package init(cookie: Int64, name: Filename, inode: InodeRecord) {
        self.cookie = cookie
        self.name = name
        self.inode = inode
    }

    /// A cookie is the name's number plus this: names that programs make are numbered downwards from 0. Not larger,
    /// because some programs have 31 bits for a position in a listing.
    package static let origin: Int64 = 1 << 30
}
