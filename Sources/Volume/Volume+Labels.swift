import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Labels of modified content (``ContentLabels``). Writing one changes the file's ctime, by which writes past us
/// (passthrough) are known: so stamps are taken after labels.
extension Volume {
    /// What a writer did, as it goes into the catalog.
    struct Written {
        var inode: InodeID
        var generation: Int64
        var size: Int64
        var modified: FileTime
        var stamp: BackingStamp
        var isMarkedModified: Bool
        var killsPrivileges = false

        var mark: WritingMark { isMarkedModified ? .modified : .maybeModified(stamp) }
    }

    /// Records what a writer did, and labels the bytes. Returns the stamp that stands for what was recorded, and whether
    /// there is another label, which the disk may not have yet.
    func record(
        _ written: Written, _ content: ContentFile, isPassedThrough: Bool, _ writer: Catalog.Writer
    ) throws -> (stamp: BackingStamp, isRelabelled: Bool) {
        var written = written
        func write() throws -> InodeRecord {
            try writer.recordWritten(
                written.inode, generation: written.generation, size: written.size, modified: written.modified,
                mark: written.mark, settle: nil, killsPrivileges: written.killsPrivileges)
        }
        guard try context.labels.update(try write(), in: writer) else { return (written.stamp, false) }
        written.stamp = BackingStamp(try content.status()) ?? .none
        // What was written past us while the label was, is recorded as well: the new stamp hides it.
        if isPassedThrough, (written.size, written.modified) != (written.stamp.size, written.stamp.modified) {
            (written.size, written.modified) = (written.stamp.size, written.stamp.modified)
            _ = try write()
        } else if !written.isMarkedModified {
            try writer.remark(written.inode, written.mark)
        }
        return (written.stamp, true)
    }

    /// The document is called otherwise now, or has another date or mode, or its bytes changed without a writer.
    func label(_ inode: InodeID) {
        if let node = table.current(inode) {
            node.withLock { state in
                let before = try? state.content?.status()
                context.relabel(inode)
                // Only the label made the difference: not a write.
                guard let before, BackingStamp(before) == state.open?.writing?.stamp,
                    let now = try? state.content?.status(), let stamp = BackingStamp(now), now.size == before.size,
                    now.modified == before.modified
                else { return }
                state.open?.writing?.stamp = stamp
            }
        } else {
            context.relabel(inode)
        }
    }
}
