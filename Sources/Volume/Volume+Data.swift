import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
package import Trees

/// The changes that setattr asks for; nil: the value stays.
package struct AttributeRequest: Sendable {
    package var attributes: AttributeChange
    package var size: Int64?
    /// Setuid and the like are to be taken away (inode(7)).
    package var killsPrivileges: Bool
    package init(attributes: AttributeChange, size: Int64?, killsPrivileges: Bool = false) {
        self.attributes = attributes
        self.size = size
        self.killsPrivileges = killsPrivileges
    }
}

extension Volume {
    /// pread(2) into `buffer`; ready with the count of bytes, 0 at the end.
    ///
    /// - Parameter thread: of the program that reads, which is named as the cause of a download.
    package func read(
        _ id: HandleID, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, thread: Int32? = nil
    ) throws(VolumeError) -> Outcome<Int> {
        guard let handle = handles[id] else { throw VolumeError(EBADF, "not open") }
        return try answer {
            let content = try content(of: handle.node)
            // (No file has a byte at such an offset.)
            guard offset >= 0, offset <= Int64.max - Int64(buffer.count) else { return .ready(0) }
            let range = offset..<offset + Int64(buffer.count)
            guard let first = content.missing(in: range).first else {
                return .ready(try content.read(into: buffer, at: offset))
            }
            return .wait(try hydration(of: handle.node, content, first.lowerBound..<range.upperBound, thread))
        }
    }

    func content(of node: Node) throws -> ContentFile {
        try node.withLock { state in
            try state.content ?? openContent(try catalog.read { try $0.inode(node.inode) })
        }
    }

    /// Waits for a range to come from the provider.
    func hydration(
        of node: Node, _ content: ContentFile, _ range: Range<Int64>, _ thread: Int32? = nil
    ) throws -> Wait {
        let edition = catalog.edition
        let (known, knownAt) = node.withLock { ($0.open?.target, $0.open?.targetEdition) }
        let isKnown = known != nil && knownAt == edition
        let current = isKnown ? known : try downloadTarget(of: node.inode, generation: content.id.number)
        guard let target = current ?? known else {
            if standsForAnotherVersion(node, than: content) { return Wait {} }
            throw VolumeError(ESTALE, "the document is not in the store any more")
        }
        let wanted = range.clamped(to: 0..<content.baseSize)
        // (With a bandwidth limit it takes as long as the limit makes it.)
        let limit = engine.transfers.downloadLimit.rate == nil ? times.longestRead : Wait.longest
        return Wait(limit: limit) { [engine, node, self] in
            do { try await engine.provide(wanted, of: content, for: target, thread: thread) } catch {
                if case SyncError.superseded = error, standsForAnotherVersion(node, than: content) { return }
                throw VolumeError(error)
            }
        }
    }

    /// The store replaced the document before a byte of it was handed out, so that a reader can go on with the new
    /// version. The thread that committed that version may not have told the volume yet: then the node is rebased here,
    /// because the kernel does not repeat a read that gets ESTALE.
    private func standsForAnotherVersion(_ node: Node, than content: ContentFile) -> Bool {
        if let record = try? catalog.read({ try $0.inodeIfPresent(node.inode) }) { rebase(node, on: record) }
        return node.withLock { $0.generation } != content.id.number
    }

    /// Where the missing bytes of an inode's generation come from. Nil when its item is gone, or has another version by
    /// now, whose bytes would be wrong among the bytes of this one.
    func downloadTarget(of inode: InodeID, generation: Int64) throws -> DownloadTarget? {
        let (record, item, path) = try catalog.read { reader in
            (try reader.inodeIfPresent(inode), try reader.item(of: inode), try reader.path(of: inode))
        }
        guard record?.generation == generation, let item, let identifier = item.identifier,
            let version = item.baseVersion
        else { return nil }
        let name = path.map { $0.map(\.string).joined(separator: "/") } ?? identifier.description
        return DownloadTarget(inode: inode, identifier: identifier, version: version.content, name: name)
    }

    /// Downloads all of a document that lost its last name while a program has it open, before the deletion, or another
    /// version, reaches the store.
    func downloadWhole(_ inode: InodeID) {
        guard let node = table.current(inode) else { return }
        node.withLock { state in
            guard let content = state.content, let target = state.open?.target, state.open?.rescue == nil,
                !content.isComplete
            else { return }
            mount.hold(target.identifier)
            state.open?.rescue = Task(executorPreference: mount.workers) { [engine, mount] in
                defer {
                    mount.release(target.identifier)
                    engine.changed()
                }
                var pause = mount.times.firstRetry
                while !Task.isCancelled {
                    do {
                        return try await engine.downloader.provide(0..<content.baseSize, of: content, for: target)
                    } catch {
                        if case SyncError.superseded = error { return }
                        mount.logger.warning(
                            "a deleted document that is still open cannot be downloaded whole",
                            metadata: ["item": "\(target.name)", "error": "\(error)"])
                    }
                    try? await Task.sleep(for: .seconds(pause))
                    pause = min(pause * 2, mount.times.longestRetry)
                }
            }
        }
    }

    /// pwrite(2). When it returns the bytes are in the local file; they are pending at the latest when close(2)
    /// returns.
    ///
    /// - Parameters:
    ///   - appends: at the end instead of at `offset`: the end that the kernel knows may be older, because another
    ///     mount of the document (scoped access) has appended as well.
    ///   - killsPrivileges: the writer may not keep setuid and the like (inode(7)).
    package func write(
        _ id: HandleID, _ bytes: UnsafeRawBufferPointer, at offset: Int64, appends: Bool = false,
        killsPrivileges: Bool = false
    ) throws(VolumeError) {
        guard let handle = handles[id], handle.isWritable else { throw VolumeError(EBADF, "not open for writing") }
        let node = handle.node
        try changing(node) { state in
            try write(node, &state) { content, size in
                let start = appends ? size : offset
                try Self.refuseTooLarge(start, Int64(bytes.count))
                return (try content.write(bytes, at: start), max(size, start + Int64(bytes.count)))
            }
            try killPrivileges(of: node, &state, mayNotKeep: killsPrivileges)
        }
    }

    /// A write beyond the largest size that a store's document may have is refused (EFBIG), as on a disk where files
    /// end there.
    ///
    /// Writes of a program with a passthrough handle do not come here: the disk below sets the limit for them. Sums of
    /// sizes bear any size.
    static func refuseTooLarge(_ offset: Int64, _ count: Int64) throws(VolumeError) {
        guard count > Item.largestSize || offset > Item.largestSize - count else { return }
        throw VolumeError(EFBIG, "no file may have more than \(Item.largestSize) bytes")
    }

    /// The bytes were changed: any change takes capabilities away, and a change by somebody without CAP_FSETID takes
    /// setuid away too.
    func killPrivileges(of node: Node, _ state: inout Node.State, mayNotKeep: Bool) throws {
        if mayNotKeep && state.isSetID {
            try catalog.write { try $0.killPrivileges(of: node.inode) }
            state.isSetID = false
            // (The kernel gives up size and times at a write, and keeps the mode.)
            state.open?.writing?.isShownOutdated = true
        } else if state.hasCapabilities {
            try catalog.write { try $0.dropCapabilities(of: node.inode) }
        }
        state.hasCapabilities = false
    }

    /// Changes bytes through us. `body` gets the size before. It returns whether bytes became present that were not,
    /// and the size of the document afterwards (nil: the local file's size).
    func write(
        _ node: Node, _ state: inout Node.State,
        _ body: (ContentFile, Int64) throws -> (extended: Bool, size: Int64?)
    ) throws {
        guard let content = state.content, !state.isPast else {
            throw VolumeError(ESTALE, "the document was replaced")
        }
        // An error may leave the file longer, and after an error the kernel keeps the size that it has.
        var isDone = false
        defer { if !isDone { state.open?.writing?.isShownOutdated = true } }
        if state.isPassedThrough {
            // The file's own time stamps tell of it, as of all writes past us.
            _ = try body(content, try content.status().size)
            isDone = true
            return
        }
        try markModified(node, &state, content)
        let before = try state.open?.writing?.unrecorded?.size ?? content.status().size
        let (extended, size) = try body(content, before)
        if extended {
            // The catalog must know before the writer does, or a download after a crash would overwrite the bytes.
            let extents = content.present
            let isOurs = try catalog.write {
                try $0.recordExtents(node.inode, generation: state.generation, extents: extents)
            }
            if isOurs { content.noteRecorded(extents) }
            mount.extentsGrew()
        }
        let now = FileTime.now
        state.open?.writing?.unrecorded = Node.Writing.Unrecorded(
            size: try size ?? content.status().size, modified: now, changed: now)
        isDone = true
    }

    private func markModified(
        _ node: Node, _ state: inout Node.State, _ content: ContentFile
    ) throws {
        guard state.open?.writing?.isMarkedModified != true else { return }
        let generation = state.generation
        let extents = content.present
        try catalog.write { writer in
            try writer.beginWriting(node.inode, generation: generation, mark: .modified)
            // The store may have another version by the time that these bytes would have to be downloaded again.
            try writer.recordExtents(node.inode, generation: generation, extents: extents)
        }
        content.noteRecorded(extents)
        if extents != nil { mount.extentsGrew() }
        state.open?.writing?.isMarkedModified = true
    }

    /// Cuts or grows the bytes. Growing may fail (EFBIG, ENOSPC), so the file comes first; cutting takes bytes away, so
    /// the catalog comes first.
    func cut(
        _ node: Node, _ state: inout Node.State, _ content: ContentFile, to size: Int64, killsPrivileges: Bool
    ) throws {
        // After a crash the bytes count that a file marked modified has beyond the catalog's size. In a partial
        // document they may be holes, so it is not marked modified here; the next write through us does that.
        let isWhole = content.isComplete
        let after = content.presence(truncatedTo: size)
        let mark: WritingMark? = !state.isMarked ? nil : isWhole ? .modified : .maybeModified(.none)
        let grows = try size > content.status().size
        var isDone = false
        defer { if !isDone || killsPrivileges { state.open?.writing?.isShownOutdated = true } }
        if grows { try content.truncate(to: size) }
        let record = try catalog.write { writer in
            try writer.truncate(
                node.inode, generation: state.generation, to: size, baseSize: after.baseSize, extents: after.present,
                mark: mark, settle: times.settle, killsPrivileges: killsPrivileges)
        }
        content.noteRecorded(after.present)
        if !grows { try content.truncate(to: size) }
        state.open?.writing?.isMarkedModified = isWhole
        state.open?.writing?.unrecorded = Node.Writing.Unrecorded(
            size: size, modified: record.modified, changed: record.changed)
        isDone = true
    }

    /// chmod(2), chown(2), utimensat(2), truncate(2), in one.
    ///
    /// - Parameter handle: through which a file is truncated; what was allowed when it was opened is still allowed.
    package func setAttributes(
        _ id: NodeID, to request: AttributeRequest, through handle: HandleID? = nil
    ) throws(VolumeError) -> NodeAttributes {
        let node = try node(id)
        do {
            let isWriter = handle.flatMap { handles[$0] }.map { $0.isWritable && $0.node === node } ?? false
            if request.isForStore && !isWriter { try catalog.peek { try $0.requireMayWrite(node.inode) } }
            if let size = request.size { try truncate(node, to: size, request.killsPrivileges) }
            let change = request.attributes
            if request.killsPrivileges && request.size == nil {
                try catalog.write { try $0.killPrivileges(of: node.inode) }
            }
            let record: InodeRecord
            if change.isEmpty {
                record = try catalog.read { try $0.inode(node.inode) }
                if record.kind == .document { label(node.inode) }
            } else if !request.killsPrivileges, request.size == nil, let row = try setDates(node, change) {
                record = row
            } else {
                record = try setAttributes(node, change)
            }
            engine.changed()
            return attributes(record, node)
        } catch {
            throw VolumeError(error)
        }
    }

    private func truncate(_ node: Node, to size: Int64, _ killsPrivileges: Bool) throws {
        guard size >= 0 else { throw VolumeError(EINVAL, "negative size") }
        try Self.refuseTooLarge(0, size)
        try changing(node) { state in
            guard !state.isPast else { throw VolumeError(ESTALE, "the document was replaced") }
            let record = try catalog.read { try $0.inode(node.inode) }
            guard record.kind == .document else {
                throw VolumeError(record.isFolder ? EISDIR : EINVAL, "not a document")
            }
            guard record.generation == state.generation else {
                throw CatalogError(.replaced, "the document was replaced")
            }
            if state.writers == 0 { try refuseDeleted(record, state) }
            let content = try state.content ?? openContent(record)
            try cut(node, &state, content, to: size, killsPrivileges: killsPrivileges)
            if let stamp = BackingStamp(try content.status()) { closedWriters.renew(node.inode, stamp) }
        }
    }

    /// Sets the dates of a document that has unrecorded changes, to be recorded with those. A killed daemon does not lose
    /// the date of modification, because the local file has it.
    ///
    /// - Returns: its row; nil: the change must be recorded now.
    private func setDates(_ node: Node, _ change: AttributeChange) throws -> InodeRecord? {
        try changing(node) { state in
            let closed = closedWriters.waiting
            let recorded = try catalog.peek { try $0.inode(node.inode) }
            var row = recorded
            closed.show(in: &row)
            guard row.kind == .document, change.setsDatesOnly(of: row), row.mode & 0o6000 == 0, !state.isPast,
                row.generation == state.generation, row.splitFrom == nil, row.linkCount > 0,
                change.modified.map({ $0.exactNanoseconds != nil }) ?? true
            else { return nil }
            let now = BackingStamp(try state.content?.status())
            let stamp = stamp(node, &state)
            if let content = state.content, let writing = state.open?.writing, let now,
                writing.isMarkedModified || writing.stamp != .none, content.isRecorded, content.isComplete,
                !state.hasCapabilities,
                state.isPassedThrough ? now != stamp && !writing.isUntouched(now) : writing.unrecorded != nil
            {
                // (The date that it has already gives the file another ctime.)
                let date = change.modified ?? writing.unrecorded?.modified ?? now.modified
                guard try self.date(content, date) != nil else { return nil }
                if let modified = change.modified { state.open?.writing?.unrecorded?.modified = modified }
                state.open?.writing?.unrecorded?.changed = .now
                state.open?.writing?.dates.add(change)
                return row
            }
            // Closed, and not recorded yet.
            let amended = try catalog.peekInTurn { _ in
                try closedWriters.amend(node.inode) { changes in
                    let date = change.modified ?? changes.written.modified
                    guard let now = try self.date(changes.content, date) else {
                        try changes.content.setModified(changes.written.modified.nanoseconds)
                        return false
                    }
                    changes.written.stamp = now
                    if changes.isPassedThrough { changes.written.size = now.size }
                    changes.written.modified = date
                    changes.written.dates.add(change)
                    changes.written.changed = row.changed(after: .now, now: .now)
                    return true
                }
            }
            guard let amended else { return nil }
            if state.open?.writing?.stamp == stamp { state.open?.writing?.stamp = amended }
            row = recorded
            closedWriters.waiting.show(in: &row)
            return row
        }
    }

    /// Gives the file this date.
    ///
    /// - Returns: its state now; nil: its file system cannot keep the date, or somebody has written past us since.
    private func date(_ content: ContentFile, _ date: FileTime) throws -> BackingStamp? {
        try content.setModified(date.nanoseconds)
        return BackingStamp(try content.status()).flatMap { $0.modified == date ? $0 : nil }
    }

    /// Under the node's lock: what a writer did before this change is recorded before it, with its date, or not at all.
    private func setAttributes(_ node: Node, _ change: AttributeChange) throws -> InodeRecord {
        try changing(node) { state in
            if let mode = change.mode, mode & 0o6000 != 0 { try recordWrittenBefore(node, &state) }
            let isDated = state.content != nil && state.open?.writing != nil
            let record = try catalog.write { writer in
                let record = try writer.setAttributes(node.inode, to: change, settle: times.settle)
                try relabel(record, isDated: isDated, in: writer)
                return record
            }
            if change.mode != nil { state.isSetID = record.mode & 0o6000 != 0 }
            if change.accessed != nil { state.open?.writing?.dates.accessed = nil }
            guard let modified = change.modified, record.kind == .document else { return record }
            // While a program writes, the local file gets the date as well; setting the date alone is no change of the
            // contents.
            guard let content = state.content, let stamp = stamp(node, &state) else { return record }
            let untouched = BackingStamp(try content.status()) == stamp
            try content.setModified(modified.nanoseconds)
            if untouched, let now = BackingStamp(try content.status()) { state.open?.writing?.stamp = now }
            state.open?.writing?.unrecorded?.modified = modified
            return record
        }
    }
}

extension AttributeRequest {
    /// Owner and access time are of this machine only.
    fileprivate var isForStore: Bool { size != nil || attributes.mode != nil || attributes.modified != nil }
}
