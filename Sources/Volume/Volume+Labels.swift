import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Labels of modified content (``ContentLabels``). Writing a label changes the file's ctime, by which writes past us
/// (passthrough) are known, so stamps are taken after labels.
extension Volume {
    /// A writer's changes, as the catalog records them.
    struct Written {
        var inode: InodeID
        var generation: Int64
        var size: Int64
        var modified: FileTime
        var changed: FileTime
        var stamp: BackingStamp
        var isMarkedModified: Bool
        var killsPrivileges = false
        var dates = Node.SetDates()

        var mark: WritingMark { isMarkedModified ? .modified : .maybeModified(stamp) }
    }

    /// Records a writer's changes, and labels the bytes. Returns the row, the stamp of the file as it was recorded, and
    /// whether it has another label, which the disk may not have yet.
    ///
    /// - Parameter ends: the last writer has closed it, and nobody has it mapped: the mark is taken away as well.
    func record(
        _ written: Written, _ content: ContentFile, isPassedThrough: Bool, ends: Bool = false, _ writer: Catalog.Writer
    ) throws -> (row: InodeRecord, stamp: BackingStamp, isRelabelled: Bool) {
        var written = written
        func write() throws -> InodeRecord {
            try writer.recordWritten(
                written.inode, generation: written.generation, size: written.size, modified: written.modified,
                changed: written.changed, mark: ends ? nil : written.mark, settle: ends ? times.settle : nil,
                killsPrivileges: written.killsPrivileges)
        }
        var row = try write()
        if !written.dates.isEmpty {
            // (The date may be one at which other bytes were synced.)
            if written.dates.modified != nil { try writer.outdateSynced(written.inode) }
            let change = AttributeChange(accessed: written.dates.accessed, modified: written.dates.modified)
            row = try writer.setAttributes(written.inode, to: change, changed: row.changed, settle: times.settle)
        }
        if ends { try writer.takeWaitingChange(of: written.inode, defaults: mount.defaults) }
        let isDated = written.stamp.modified == written.modified
        let isRelabelled = try mount.labels.update(row, in: writer, isDated: isDated)
        let now = BackingStamp(try content.status()) ?? .none
        // (A transaction that was rolled back may have labelled it.)
        guard isRelabelled || now != written.stamp && now.hasSameBytes(as: written.stamp) else {
            return (row, written.stamp, false)
        }
        let isWritten = !now.hasSameBytes(as: written.stamp)
        written.stamp = now
        // Bytes that were written past us while the label was written are recorded as well: the new stamp hides them.
        if isPassedThrough, !ends, isWritten {
            (written.size, written.modified) = (written.stamp.size, written.stamp.modified)
            written.changed = written.stamp.changed
            row = try write()
            writer.changes.append(.attributes(written.inode))
        } else if !written.isMarkedModified, !ends {
            try writer.remark(written.inode, written.mark)
        }
        return (row, written.stamp, true)
    }

    /// Labels a document anew in the transaction that makes its label wrong.
    ///
    /// - Parameter isDated: the file has the document's date, or is about to get it.
    func relabel(_ record: InodeRecord, isDated: Bool = false, in writer: Catalog.Writer) throws {
        guard record.kind == .document else { return }
        let id = GenerationID(inode: record.id.rawValue, number: record.generation)
        let before = table.isOpen(record.id) ? BackingStamp(mount.store.status(id)) : nil
        _ = try mount.labels.updateMarked(record, in: writer, isDated: isDated)
        // If only the label made the difference, nobody has written.
        guard let before, let now = BackingStamp(mount.store.status(id)), now != before,
            now.hasSameBytes(as: before)
        else { return }
        closedWriters.wasLabelled(record.id, from: before, to: now)
    }

    /// Labels a document anew: it has another name, date or mode, or its bytes changed without a writer.
    func label(_ inode: InodeID) {
        if let node = table.current(inode) {
            node.withLock { state in
                let before = try? state.content?.status()
                mount.relabel(inode)
                // If only the label made the difference, nobody has written.
                guard let before, BackingStamp(before) == stamp(node, &state),
                    let now = try? state.content?.status(), let stamp = BackingStamp(now), now.size == before.size,
                    now.modified == before.modified
                else { return }
                state.open?.writing?.stamp = stamp
            }
        } else {
            mount.relabel(inode)
        }
    }
}
