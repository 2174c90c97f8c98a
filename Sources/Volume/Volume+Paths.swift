import ContentStore
package import FileProvider
package import ItemCatalog
import SyncEngine

/// For people, who name paths.
extension Volume {
    /// The inode at a path from the root; folders that were never looked at are listed on the way.
    package func resolve(_ names: [Filename]) async throws(VolumeError) -> InodeRecord {
        try refuseSignedOut()
        while true {
            do { return try catalog.read { try $0.resolve(names) } } catch {
                guard let folder = VolumeError.needsListing(error) else { throw VolumeError(error) }
                do { try await engine.enumerate(folder) } catch { throw VolumeError(error) }
            }
        }
    }

    /// A row and its item, as they are now.
    package func inspect(_ inode: InodeID) throws(VolumeError) -> (InodeRecord, ItemRecord?) {
        do {
            var (record, item) = try catalog.read { (try $0.inode(inode), try $0.item(of: inode)) }
            if let node = table.current(inode) { record = attributes(record, node).record }
            // A download under way is ahead of the catalog.
            if let content = context.store.opened(
                GenerationID(inode: inode.rawValue, number: record.generation))
            {
                record.extents = content.present
                record.baseSize = content.baseSize
            }
            return (record, item)
        } catch {
            throw VolumeError(error)
        }
    }
}
