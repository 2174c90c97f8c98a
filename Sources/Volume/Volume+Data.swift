import ContentStore
import FileProvider
import Glibc
package import ItemCatalog
import Logging
import SyncEngine
import Synchronization

/// What setattr changes; nil: stays.
package struct AttributeRequest: Sendable {
    package var attributes: AttributeChange
    package var size: Int64?
    package init(attributes: AttributeChange, size: Int64?) {
        self.attributes = attributes
        self.size = size
    }
}

extension Volume {
    /// pread(2) into `buffer`; ready with the count of bytes, 0 at the end.
    package func read(_ id: HandleID, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
        throws(VolumeError) -> Outcome<Int>
    {
        guard let handle = handles[id] else { throw VolumeError(EBADF, "not open") }
        return try answer {
            let content = try content(of: handle.node)
            let range = offset..<offset + Int64(buffer.count)
            guard let first = content.missing(in: range).first else {
                return .ready(try content.read(into: buffer, at: offset))
            }
            return .wait(try hydration(of: handle.node, content, first.lowerBound..<range.upperBound))
        }
    }

    private func content(of node: Node) throws -> ContentFile {
        try node.state.withLock { state in
            if let content = state.content { return content }
            let content = try openContent(try catalog.read { try $0.inode(node.inode) })
            state.content = content
            return content
        }
    }

    /// Waiting for a range to come from the provider.
    private func hydration(of node: Node, _ content: ContentFile, _ range: Range<Int64>) throws -> Wait {
        guard let target = try downloadTarget(of: node.inode) ?? node.state.withLock({ $0.target }) else {
            throw VolumeError(ESTALE, "the document is not in the store any more")
        }
        let wanted = range.clamped(to: 0..<content.baseSize)
        return Wait { [engine, node] in
            do { try await engine.hydrator.provide(wanted, of: content, for: target) } catch {
                // Replaced before a byte of it was handed out: the node stands for the new version now.
                if case SyncError.superseded = error, node.state.withLock({ $0.generation }) != content.id.number {
                    return
                }
                throw VolumeError(error)
            }
        }
    }

    /// Where an inode's missing bytes come from; nil when its item is gone.
    func downloadTarget(of inode: InodeID) throws -> DownloadTarget? {
        let (item, path) = try catalog.read { (try $0.item(of: inode), try $0.path(of: inode)) }
        guard let item, let identifier = item.identifier, let version = item.baseVersion else { return nil }
        let name = path.map { $0.map(\.string).joined(separator: "/") } ?? identifier.description
        return DownloadTarget(inode: inode, identifier: identifier, version: version.content, name: name)
    }

    /// A document that lost its last name while a program has it open: its bytes are brought here before the
    /// deletion reaches the store.
    func bringWhole(_ inode: InodeID) {
        guard let node = table.current(inode) else { return }
        let (content, target) = node.state.withLock { ($0.content, $0.target) }
        guard let content, let target, !content.isComplete else { return }
        Task(executorPreference: context.workers) { [engine, context] in
            do { try await engine.hydrator.provide(0..<content.baseSize, of: content, for: target) } catch {
                context.logger.warning(
                    "a deleted document that is still open cannot be downloaded whole",
                    metadata: ["item": "\(target.name)", "error": "\(error)"])
            }
        }
    }

    /// pwrite(2). When it returns the bytes are in the local file; they are pending at the latest when
    /// close(2) returns.
    package func write(_ id: HandleID, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(VolumeError) {
        guard let handle = handles[id], handle.isWritable else { throw VolumeError(EBADF, "not open for writing") }
        let node = handle.node
        try node.state.withLock { state throws(VolumeError) in
            do { try write(node, &state, bytes, at: offset) } catch { throw VolumeError(error) }
        }
    }

    private func write(_ node: Node, _ state: inout Node.State, _ bytes: UnsafeRawBufferPointer, at offset: Int64)
        throws
    {
        guard let content = state.content, state.frozen == nil else {
            throw VolumeError(ESTALE, "the document was replaced")
        }
        try markModified(node, &state)
        if try content.write(bytes, at: offset) {
            // The catalog must know before the writer does, or a download after a crash would overwrite it.
            let extents = content.present
            try catalog.write {
                try $0.recordExtents(node.inode, generation: content.id.number, extents: extents)
            }
        }
        let end = offset + Int64(bytes.count)
        let size = try state.unrecorded?.size ?? content.status().size
        state.unrecorded = Node.State.Unrecorded(size: max(size, end), modified: .now)
    }

    private func markModified(_ node: Node, _ state: inout Node.State) throws {
        guard !state.isMarkedModified else { return }
        try catalog.write { try $0.beginWriting(node.inode, generation: state.generation, mark: .modified) }
        state.isMarkedModified = true
    }

    /// Cuts or grows the bytes: the catalog first, then the file.
    func cut(_ node: Node, _ state: inout Node.State, _ content: ContentFile, to size: Int64) throws {
        let after = content.presence(truncatedTo: size)
        let mark: WritingMark? = state.writers > 0 || state.stamp != nil ? .modified : nil
        let record = try catalog.write {
            try $0.truncate(
                node.inode, to: size, baseSize: after.baseSize, extents: after.present, mark: mark,
                settle: times.settle)
        }
        try content.truncate(to: size)
        if mark != nil {
            state.isMarkedModified = true
            state.unrecorded = Node.State.Unrecorded(size: size, modified: record.modified)
        }
    }

    /// chmod(2), chown(2), utimensat(2), truncate(2), in one.
    package func setAttributes(_ id: NodeID, to request: AttributeRequest) throws(VolumeError) -> NodeAttributes {
        let node = try node(id)
        do {
            if let size = request.size { try truncate(node, to: size) }
            let change = request.attributes
            var record = try catalog.read { try $0.inode(node.inode) }
            if change.isEmpty == false {
                record = try catalog.write {
                    try $0.setAttributes(node.inode, to: change, settle: times.settle)
                }
                if let modified = change.modified, record.kind == .document { try setModified(node, modified) }
            }
            engine.changed()
            return attributes(record, node)
        } catch {
            throw VolumeError(error)
        }
    }

    private func truncate(_ node: Node, to size: Int64) throws {
        guard size >= 0 else { throw VolumeError(EINVAL, "negative size") }
        try node.state.withLock { state in
            guard state.frozen == nil else { throw VolumeError(ESTALE, "the document was replaced") }
            let record = try catalog.read { try $0.inode(node.inode) }
            guard record.kind == .document else {
                throw VolumeError(record.isFolder ? EISDIR : EINVAL, "not a document")
            }
            guard record.generation == state.generation else { throw VolumeError(ESTALE, "the document was replaced") }
            try cut(node, &state, try state.content ?? openContent(record), to: size)
        }
    }

    /// A date that a program sets while somebody writes: the local file has it as well, and setting it
    /// alone is no change of the contents.
    private func setModified(_ node: Node, _ modified: FileTime) throws {
        try node.state.withLock { state in
            guard let content = state.content, state.writers > 0 else { return }
            let untouched = BackingStamp(try content.status()) == state.stamp
            try content.setModified(modified.nanoseconds)
            if untouched { state.stamp = BackingStamp(try content.status()) }
            state.unrecorded?.modified = modified
        }
    }
}

extension AttributeChange {
    fileprivate var isEmpty: Bool {
        mode == nil && uid == nil && gid == nil && accessed == nil && modified == nil
    }
}
