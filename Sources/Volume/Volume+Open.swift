import ContentStore
package import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// How the kernel is to handle an open file.
package enum OpenedAs: Sendable, Equatable {
    /// Through us, with its page cache, which stays valid over opens.
    case cached
    /// Straight to the local file that has this backing id.
    case passthrough(backing: Int32)
    /// As `passthrough` for mappings, while others may have the file open as `passthrough`; reads and writes come to
    /// us, past the page cache.
    case direct(backing: Int32)
}

/// What a program's open means for the kernel.
package struct OpenTraits: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The file is open with flags that change how it is read and written, and that may be taken away later (fcntl(2):
    /// O_APPEND, O_DIRECT). A passthrough handle would keep them: the kernel opens the local file with the same flags, and
    /// does not pass the change on.
    package static let mayDropFlags = OpenTraits(rawValue: 1)
    /// The volume's own mount is told of every change through this handle, and gives up what it keeps of size and times: a
    /// program of that mount, not a scope's, opened it for writing only (what may be read may be mapped, mmap(2)).
    package static let showsChanges = OpenTraits(rawValue: 2)
}

package struct Opened: Sendable {
    package var handle: HandleID
    package var mode: OpenedAs
    /// The kernel need not send a FLUSH when it is closed.
    package var isReadOnly: Bool
}

extension Volume {
    /// open(2) without O_CREAT. An open for writing leaves a durable dirty mark before it returns.
    ///
    /// - Parameter killsPrivileges: an open that truncates takes setuid and the like away (open(2), O_TRUNC).
    package func open(
        _ id: NodeID, flags: Int32, killsPrivileges: Bool = false, traits: OpenTraits = [], thread: Int32? = nil
    ) throws(VolumeError) -> Opened {
        try refuseSignedOut()
        let node = try node(id)
        let truncates = flags & O_TRUNC != 0
        let writes = flags & O_ACCMODE != O_RDONLY || truncates
        let reads = flags & O_ACCMODE != O_WRONLY
        // The writer's mark, and what the writer syncs, must come after the download's record.
        if writes { engine.recordDownload(of: node.inode) }
        return try sparingly { () throws(VolumeError) in
            try open(node, truncates, reads, writes, killsPrivileges, traits, thread)
        }
    }

    /// Files of downloads stay open until the download is recorded: when there are too many, they are recorded first.
    func sparingly<T>(_ body: () throws(VolumeError) -> T) throws(VolumeError) -> T {
        do { return try body() } catch {
            guard error.errno == EMFILE else { throw error }
            engine.recordAllDownloads()
            return try body()
        }
    }

    private func open(
        _ node: Node, _ truncates: Bool, _ reads: Bool, _ writes: Bool, _ killsPrivileges: Bool, _ traits: OpenTraits,
        _ thread: Int32?
    ) throws(VolumeError) -> Opened {
        // Counted first, so that an eviction either sees this open or is over before it.
        table.opened(node)
        do {
            let mode = try changing(node) { state in
                do {
                    let entry = try begin(
                        node, &state, reads: reads, writes: writes, downloader: truncates || !reads ? nil : thread)
                    if truncates {
                        try cut(node, &state, entry.content, to: 0, killsPrivileges: killsPrivileges)
                    }
                    return enter(&state, isPassable: entry.isPassable, writes: writes, traits)
                } catch {
                    notOpened(node, &state)
                    throw error
                }
            }
            engine.wasOpened(node.inode)
            let handle = handles.add(HandleTable.Handle(node: node, isWritable: writes))
            return Opened(handle: handle, mode: mode, isReadOnly: !writes)
        } catch {
            if let inode = table.closed(node) { reclaim(inode) }
            throw error
        }
    }

    /// open(2) with O_CREAT of a name that is free.
    package func create(
        _ name: Filename, in folder: NodeID, mode: UInt32, uid: UInt32, gid: UInt32, traits: OpenTraits = []
    ) throws(VolumeError) -> Outcome<(Lookup, Opened)> {
        let parent = try checkedParent(folder, name)
        try refuseTrash(name, in: parent)
        let file = NewFile(kind: .document, mode: mode & 0o7777, uid: uid, gid: gid)
        return try sparingly { () throws(VolumeError) in try create(file, named: name, in: parent, traits) }
    }

    private func create(
        _ file: NewFile, named name: Filename, in parent: Node, _ traits: OpenTraits
    ) throws(VolumeError) -> Outcome<(Lookup, Opened)> {
        try answer {
            let isExcluded = try isSidecar(name, in: parent.inode)
            let record = try saving {
                try $0.requireListing(parent.inode)
                try $0.requireMayAdd(name, to: parent.inode, staysHere: isExcluded)
                return try $0.create(
                    file, in: parent.inode, named: name, settle: times.settle, isExcluded: isExcluded)
            }
            let lookup = reference(record)
            let node = try node(lookup.node)
            // The document is not uploaded before its writer has closed it: its item is not ready.
            table.opened(node)
            let openMode: OpenedAs
            do { openMode = try beginNew(node, record, traits) } catch {
                // There is no room for its file, or no folder to put it in: the document is taken back.
                if let record = try? catalog.write({ try $0.unlink(name, in: parent.inode, settle: 0) }) {
                    lostName(record)
                }
                if let inode = table.closed(node) { reclaim(inode) }
                forget(node.id, count: 1)
                throw error
            }
            let handle = handles.add(HandleTable.Handle(node: node, isWritable: true))
            return .ready((lookup, Opened(handle: handle, mode: openMode, isReadOnly: false)))
        }
    }

    private func beginNew(_ node: Node, _ record: InodeRecord, _ traits: OpenTraits) throws -> OpenedAs {
        try node.withLock { state in
            state.isKnownToKernel = false
            let content = try mount.store.open(
                GenerationID(inode: record.id.rawValue, number: record.generation), size: 0, baseSize: 0, present: nil,
                forProgram: true)
            _ = try catalog.peek { try mount.labels.update(record, in: $0, isNew: true) }
            state.isSetID = record.mode & 0o6000 != 0
            var open = state.open ?? Node.Open(content: content)
            var writing = open.writing ?? Node.Writing(stamp: .none)
            (writing.stamp, writing.isMarkedModified) = (.none, true)
            // (The answer's attributes, of an empty file.)
            writing.shown = Node.ShownTimes(record)
            open.writing = writing
            state.open = open
            return enter(&state, isPassable: true, writes: true, traits)
        }
    }

    /// Does everything for an open but counting it.
    private func begin(
        _ node: Node, _ state: inout Node.State, reads: Bool, writes: Bool, downloader: Int32?
    ) throws -> (content: ContentFile, isPassable: Bool) {
        // (Its last writer may have closed it just now.)
        if closedWriters.isWaiting(node.inode) { catalog.settle() }
        let record = try catalog.peek { try $0.inode(node.inode) }
        switch record.kind {
        case .document: break
        case .folder: throw VolumeError(EISDIR, "a folder")
        case .link: throw VolumeError(ELOOP, "a symbolic link")
        default: throw VolumeError(ENXIO, "not a document")
        }
        // ESTALE makes the kernel look the name up again, which finds the new generation.
        guard record.generation == state.generation, !state.isPast, record.splitFrom == nil else {
            throw VolumeError(ESTALE, "the document was replaced")
        }
        try refuseDeleted(record, state)
        // Checked for the superuser too, whom the kernel allows everything whatever the mode says.
        if reads, !record.capabilities.contains(.reading) {
            throw VolumeError(EACCES, "the store does not permit reading it")
        }
        if writes, !record.capabilities.contains(.writing) {
            throw VolumeError(EACCES, "the store does not permit changing it")
        }
        let content = try state.content ?? openContent(record)
        // Asked once: a download may end meanwhile.
        let isWhole = content.isComplete
        if !isWhole, let downloader { try refuseDownload(of: node.inode, by: downloader) }
        state.isSetID = record.mode & 0o6000 != 0
        if state.open == nil { state.open = Node.Open(content: content) }
        if writes {
            let capability = Array("security.capability".utf8)
            state.hasCapabilities = try attribute(capability, of: record.id) != nil
            if !state.isMarked { try mark(node, &state, record, content, isWhole: isWhole) }
        }
        if !content.isComplete {
            let edition = catalog.edition
            if let target = try downloadTarget(of: node.inode, generation: record.generation) {
                state.open?.target = target
                state.open?.targetEdition = edition
            } else if try catalog.read({ try $0.inode(node.inode) }).generation != record.generation {
                // Since the record was read. (The kernel repeats an open that gets ESTALE, but not a read.)
                throw VolumeError(ESTALE, "the document was replaced")
            }
        }
        return (content, isWhole && (writes || backing.paysForReaders(of: record.size)))
    }

    /// Called before a program opens a document that is not (all) here: reading it would download it.
    private func refuseDownload(of inode: InodeID, by thread: Int32) throws {
        let verdict = engine.reports.policy.verdict(onThread: thread)
        guard verdict.decision != .allow else { return }
        engine.reports.refusal(verdict, of: inode)
        throw VolumeError(
            DownloadPolicy.refusal, "\(verdict.program ?? "this program") may not download documents")
    }

    /// A writer could not begin: its mark is taken away like that of a writer whose end nobody saw.
    private func notOpened(_ node: Node, _ state: inout Node.State) {
        guard state.open?.handles == 0 else { return }
        let isMarked = state.isMarked
        state.open = nil
        guard isMarked else { return }
        watchMappingLater(of: node.inode, generation: state.generation)
    }

    /// The store deleted the document, and the kernel has not been told yet: what a program would write was lost.
    /// ESTALE makes the kernel look the name up again.
    func refuseDeleted(_ record: InodeRecord, _ state: Node.State) throws {
        guard record.linkCount > 0 || state.isUnlinked else {
            throw VolumeError(ESTALE, "the store deleted the document")
        }
    }

    /// Writes the durable dirty mark, before a writer's first byte.
    private func mark(
        _ node: Node, _ state: inout Node.State, _ record: InodeRecord, _ content: ContentFile, isWhole: Bool
    ) throws {
        mappingWatches.withLock { $0.end(node.inode) }
        var closed: ClosedWriters.Closed?
        do { try mark(node, &state, record, content, isWhole: isWhole, &closed) } catch {
            if closed != nil {
                closedWriters.restore(node.inode, closed)
                seeToItLater()
            } else if record.writing != nil {
                watchMappingLater(of: node.inode, generation: record.generation)
            }
            throw error
        }
    }

    /// - Parameter closed: the end of the last writer, if nobody has seen to that yet. This writer has taken it over.
    private func mark(
        _ node: Node, _ state: inout Node.State, _ record: InodeRecord, _ content: ContentFile, isWhole: Bool,
        _ closed: inout ClosedWriters.Closed?
    ) throws {
        if record.writing != nil, let stamp = try takeOver(node.inode, record.generation, content, &closed) {
            state.open?.writing = Node.Writing(stamp: stamp)
            state.open?.mayBeMapped = true
            return
        }
        if isWhole { try content.setModified(record.modified.nanoseconds) }
        // Nobody sees writes past us. Before the first, the catalog must know that all bytes are here, and the disk
        // must have them.
        let isNew = isWhole && !content.isRecorded
        if isNew { try content.synchronize() }
        // A download changes the file as well: time stamps tell of a writer only if the document is whole. Programs
        // write to a partial document through us, which marks it modified. The stamp is taken inside the transaction,
        // because only in transactions labels change, and with them the file's ctime. The last writer's mark may be
        // taken away at any moment (`ClosedWriters`), so that is cancelled inside as well.
        let (stamp, isModified) = try catalog.write { writer in
            closed = closedWriters.cancel(node.inode) ?? closed
            if isNew { try writer.recordExtents(node.inode, generation: record.generation, extents: nil) }
            let stamp = isWhole ? BackingStamp(try content.status()) ?? .none : BackingStamp.none
            try writer.beginWriting(node.inode, generation: record.generation, mark: .maybeModified(stamp))
            let marked = try writer.inode(node.inode)
            try refuseDeleted(marked, state)
            return (stamp, marked.writing == .modified)
        }
        if isNew { content.noteRecorded(nil) }
        state.open?.writing = Node.Writing(stamp: stamp, isMarkedModified: isModified)
        if closed?.mapped != nil { state.open?.mayBeMapped = true }
    }

    /// Takes over the mark of a document that was closed a moment ago, or that a program may still have mapped. What the
    /// program changed since the last look is recorded, and the stamp of that is returned: later changes show against it.
    /// Nil: nobody is known to have the document mapped.
    ///
    /// If the last writer's close could not be recorded, what that writer wrote is recorded now.
    private func takeOver(
        _ inode: InodeID, _ generation: Int64, _ content: ContentFile, _ closed: inout ClosedWriters.Closed?
    ) throws -> BackingStamp? {
        try catalog.write { writer in
            closed = closedWriters.cancel(inode) ?? closed
            if let mapped = closed?.mapped { _ = try recordSinceClose(inode, mapped.id, mapped.stamp, writer) }
            let record = try writer.inode(inode)
            guard record.generation == generation, let mark = record.writing,
                let now = BackingStamp(try content.status())
            else { return nil }
            guard case .maybeModified(let seen) = mark, seen != .none else {
                if mark == .modified, now.size != record.size {
                    try writer.recordWritten(
                        inode, generation: generation, size: now.size, modified: now.modified, mark: mark, settle: nil)
                }
                return nil
            }
            if now != seen {
                try writer.recordWritten(
                    inode, generation: generation, size: now.size, modified: now.modified, mark: .maybeModified(now),
                    settle: nil)
            }
            return now
        }
    }

    /// Cached or passthrough, as it is open already; otherwise passthrough when all bytes are here and it pays. If a
    /// write may have to take something away (setuid), we must see the write, so it is cached.
    private func enter(
        _ state: inout Node.State, isPassable: Bool, writes: Bool, _ traits: OpenTraits
    ) -> OpenedAs {
        let isFirst = state.open?.handles == 0
        if isFirst, isPassable, !state.isPrivileged, let content = state.content,
            let id = backing.register(content.descriptor)
        {
            state.open?.mode = .passthrough(backing: id, wasDirect: false)
        }
        state.open?.handles += 1
        if writes {
            state.open?.writing?.writers += 1
            if !traits.contains(.showsChanges) { state.open?.writing?.changesUnseen = true }
            state.wasWritten = true
        }
        guard case .passthrough(let id, let wasDirect) = state.open?.mode else { return .cached }
        guard traits.contains(.mayDropFlags) else { return .passthrough(backing: id) }
        // (Who only writes splices nothing from it.)
        state.open?.mode = .passthrough(backing: id, wasDirect: wasDirect || !traits.contains(.showsChanges))
        return .direct(backing: id)
    }

    /// The local file of a document's current generation.
    func openContent(_ record: InodeRecord) throws -> ContentFile {
        let id = GenerationID(inode: record.id.rawValue, number: record.generation)
        // A download may have been recorded since the record was read, and its file closed: by the old record its bytes
        // would be downloaded again.
        if record.extents != nil, mount.store.opened(id) == nil,
            let current = try? mount.openCurrent(record.id, forProgram: true),
            current.inode.generation == record.generation
        {
            return current.content
        }
        do {
            return try mount.open(record, forProgram: true)
        } catch {
            guard error.code == .missing else { throw error }
            try lostContent(record, id)
        }
    }

    /// Somebody removed a file from the content store. The provider's bytes can come again; ours cannot.
    private func lostContent(_ record: InodeRecord, _ id: GenerationID) throws -> Never {
        // The kernel is not told: it looks the name up again because of the ESTALE.
        let comesAgain = try catalog.write { writer in
            let now = try writer.inode(record.id)
            // (Another generation has another file.)
            guard now.generation == record.generation else { return true }
            guard let item = try writer.item(of: now.id), !item.isModified, !item.isExcluded, now.writing == nil else {
                return false
            }
            _ = try writer.evict(now.id)
            return true
        }
        guard comesAgain else {
            throw VolumeError(EIO, "the local bytes (storage/\(id)) are missing and were not in the store yet")
        }
        mount.logger.warning("local bytes are missing: they are downloaded again", metadata: ["file": "\(id)"])
        throw VolumeError(ESTALE, "the local bytes are missing; open the document again to download them")
    }
}
