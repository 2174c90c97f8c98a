import ContentStore
import FileProvider
import ItemCatalog
import Locking
import SyncEngine
package import Trees

/// What stat(2) shows of a node.
package struct NodeAttributes: Sendable {
    package var record: InodeRecord
    /// Whether the kernel may keep the attributes until it is told otherwise, or a program writes; not while a program may
    /// write through a mapping.
    package var isStable: Bool
    /// The room that a large local file takes on the disk, which may be less than its size (holes).
    package var allocated: Int64?

    /// Permission bits, 0o7777, without those that the store does not allow.
    package var mode: UInt32 { record.shownMode }

    /// In units of 512 bytes. At least one for a document that is not empty, although nothing of it may
    /// be here: `tar -S` takes 0 for "all holes" and would archive zeros.
    package var blocks: Int64 {
        guard record.kind == .document, record.size > 0 else { return 0 }
        return max(1, allocated ?? (min(record.bytesPresent, record.size) + 511) / 512)
    }
}

extension NodeAttributes {
    /// The attributes of a folder or link. The first listing of a folder changes its link count; the program that caused
    /// the listing goes on before the kernel has been told, so the kernel asks again until then.
    fileprivate init(of record: InodeRecord) {
        self.init(record: record, isStable: !record.isFolder || record.isEnumerated)
    }
}

extension Volume {
    /// stat(2).
    package func attributes(of id: NodeID) throws(VolumeError) -> NodeAttributes {
        do {
            if table.made(id) == nil, let inode = table.inode(of: id) {
                let closed = closedWriters.waiting
                var record = try catalog.peek { try $0.inode(inode) }
                closed.show(in: &record)
                let attributes = attributes(ofUnused: record)
                if table.made(id) == nil { return attributes }
            }
            let node = try node(id)
            if let past = node.withLock({ $0.past }) {
                return NodeAttributes(record: past, isStable: false)
            }
            let closed = closedWriters.waiting
            var record = try catalog.peek { try $0.inode(node.inode) }
            closed.show(in: &record)
            return attributes(record, node)
        } catch {
            throw VolumeError(error)
        }
    }

    /// The attributes of an inode that no program has opened since the kernel knows it.
    func attributes(ofUnused record: InodeRecord) -> NodeAttributes {
        guard record.kind == .document else { return NodeAttributes(of: record) }
        var record = record
        let id = GenerationID(inode: record.id.rawValue, number: record.generation)
        // A download under way is ahead of the catalog.
        if record.extents != nil, let content = mount.store.opened(id) {
            record.extents = content.present
            record.baseSize = content.baseSize
        }
        var attributes = NodeAttributes(record: record, isStable: true)
        if record.extents == nil, record.size >= Self.leastMeasured {
            attributes.allocated = mount.store.status(id)?.blocks
        }
        return attributes
    }

    /// The attributes of an inode that may be open: a writer at work may be ahead of the catalog.
    func attributes(_ record: InodeRecord, _ node: Node) -> NodeAttributes {
        guard record.kind == .document else { return NodeAttributes(of: record) }
        return node.withLock { state in
            var record = state.past ?? record
            // A writer's work is recorded under this lock: changes that were ahead of the row when it was read may be
            // in the row now, and nowhere else. (An older size would cut what other programs have in the kernel's
            // cache.)
            if !state.isPast, state.wasWritten {
                let closed = closedWriters.waiting
                if let now = try? catalog.peek({ try $0.inode(node.inode) }) { record = now }
                closed.show(in: &record)
            }
            // (Before the stamp: a label in between counts as a change, and not the label's ctime as a writer's.)
            let own = BackingStamp(try? state.content?.status())
            let stamp = stamp(node, &state)
            let isBehind = !state.isPast && record.generation != state.generation
            if isBehind, let content = state.content, let status = try? content.status() {
                // The catalog has a new version, and the node, which stands for the old one, has not been told yet: the
                // new size would cut the old bytes that programs read.
                record.generation = state.generation
                record.size = status.size
                record.extents = content.present
                record.baseSize = content.baseSize
            }
            // A download under way is ahead of the catalog as well.
            let id = GenerationID(inode: record.id.rawValue, number: record.generation)
            if !state.isPast, record.extents != nil, let content = state.content ?? mount.store.opened(id) {
                record.extents = content.present
                record.baseSize = content.baseSize
            }
            if let writing = state.open?.writing {
                record.accessed = writing.dates.accessed ?? record.accessed
                if state.isPassedThrough, let now = own {
                    record.size = now.size
                    if now != stamp, !writing.isUntouched(now) {
                        if state.isPrivileged { record.mode &= ~0o6000 }
                        record.modified = now.modified
                        record.changed = max(record.changed, now.changed)
                    }
                } else if let unrecorded = writing.unrecorded {
                    record.size = unrecorded.size
                    record.modified = unrecorded.modified
                    record.changed = max(record.changed, unrecorded.changed)
                }
            }
            var attributes = NodeAttributes(record: record, isStable: !isBehind && !state.mayChangeUnseen)
            if attributes.isStable {
                if let writing = state.open?.writing {
                    let shown = Node.ShownTimes(record)
                    // Without a new date this was no write but a label, and a scope's mount may be the one that asks.
                    if let before = writing.shown, before != shown, before.modified == shown.modified {
                        state.open?.writing?.isShownOutdated = true
                    }
                    state.open?.writing?.shown = shown
                } else {
                    state.isKnownToKernel = true
                }
            }
            if record.extents == nil, record.size >= Self.leastMeasured {
                attributes.allocated = (state.content.flatMap { try? $0.status() } ?? mount.store.status(id))?.blocks
            }
            return attributes
        }
    }

    /// In bytes. From this size on it is worth a system call to ask how much room a file takes on the disk.
    private static let leastMeasured: Int64 = 1 << 20
}
