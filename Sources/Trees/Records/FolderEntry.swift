package import FileProvider

/// One entry of a folder.
package struct FolderEntry: Sendable {
    /// Where the listing goes on after this entry; stable for as long as the entry exists, whatever it is renamed to.
    /// Above 0.
    package var cookie: Int64
    package var name: Filename
    package var inode: InodeRecord

    package init(cookie: Int64, name: Filename, inode: InodeRecord) {
        self.cookie = cookie
        self.name = name
        self.inode = inode
    }

    /// A cookie is the name's number plus this: names that programs make have numbers from 0 downwards.
    /// Not more, for the sake of programs to which a place in a listing has 31 bits.
    package static let origin: Int64 = 1 << 30
}
