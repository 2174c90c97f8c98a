package import FileProvider
import ItemCatalog
package import Trees

extension SyncEngine {
    /// Shows an item of the provider in a folder, listed or not. The item is in the catalog on return.
    ///
    /// - Throws: the errors of ``Catalog/Writer/writePlaceholder(_:in:defaults:)``;
    ///   ``FileProviderError/Code/busy`` while a change of the item is on its way to the provider.
    package func writePlaceholder(_ item: Item, in folder: InodeID) throws(SyncError) {
        let moment = remote.ownChanges.ask()
        defer { remote.ownChanges.answered() }
        do {
            try mount.catalog.write { writer in
                if remote.ownChanges.since(moment).contains(item.identifier) {
                    throw CatalogError(
                        .notPermitted, "\(item.filename): this machine is changing it in the store; try again")
                }
                try writer.writePlaceholder(item, in: folder, defaults: mount.defaults)
            }
        } catch {
            throw SyncError(error)
        }
    }

    /// A program copied a document to a new one: the store may copy it too.
    package func copied(_ source: InodeID, to copy: InodeID) {
        if client.copiesItems { uploads.copies.note(copy, from: source) }
    }
}
