import ContentStore
import FileProvider
package import ItemCatalog
import Synchronization

/// What stat(2) shows of a node.
package struct NodeAttributes: Sendable {
    package var record: InodeRecord
    /// Whether the kernel may keep them until it is told otherwise. Not while a program writes past us.
    package var isStable: Bool

    /// In units of 512 bytes. At least one for a document that is not empty, although nothing of it may
    /// be here: `tar -S` takes 0 for "all holes" and would archive zeros.
    package var blocks: Int64 {
        guard record.kind == .document, record.size > 0 else { return 0 }
        return max(1, (min(record.bytesPresent, record.size) + 511) / 512)
    }
}

extension Volume {
    /// stat(2).
    package func attributes(of id: NodeID) throws(VolumeError) -> NodeAttributes {
        let node = try node(id)
        do {
            if let frozen = node.state.withLock({ $0.frozen }) {
                return NodeAttributes(record: frozen, isStable: false)
            }
            return attributes(try catalog.read { try $0.inode(node.inode) }, node)
        } catch {
            throw VolumeError(error)
        }
    }

    /// A row as it is seen now: a writer at work may be ahead of the catalog.
    func attributes(_ record: InodeRecord, _ node: Node) -> NodeAttributes {
        guard record.kind == .document else { return NodeAttributes(record: record, isStable: true) }
        return node.state.withLock { state in
            var record = state.frozen ?? record
            if state.frozen == nil, let content = state.content, state.writers > 0 {
                record.extents = content.present
                record.baseSize = content.baseSize
                if case .passthrough = state.mode, let now = BackingStamp(try? content.status()) {
                    record.size = now.size
                    if now != state.stamp {
                        record.modified = now.modified
                        record.changed = max(record.changed, now.changed)
                    }
                } else if let unrecorded = state.unrecorded {
                    record.size = unrecorded.size
                    record.modified = unrecorded.modified
                    record.changed = max(record.changed, unrecorded.modified)
                }
            }
            return NodeAttributes(record: record, isStable: state.writers == 0)
        }
    }
}
