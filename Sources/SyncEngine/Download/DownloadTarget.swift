package import FileProvider
package import Trees

/// The document and version that a download brings.
package struct DownloadTarget: Sendable {
    package var inode: InodeID
    package var identifier: ItemIdentifier
    package var version: ContentVersion
    /// For people: the document's path or name.
    package var name: String
    package init(inode: InodeID, identifier: ItemIdentifier, version: ContentVersion, name: String) {
        self.inode = inode
        self.identifier = identifier
        self.version = version
        self.name = name
    }
}
