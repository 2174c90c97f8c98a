import ContentStore
import FileProvider
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// What writers did before they closed their documents, and has no commit of its own (``WaitingChanges``).
///
/// First come changes that FLUSH would have to record. A killed daemon does not lose them: the dirty mark is in the
/// catalog since the open, and the file has the bytes, their size and their date (`Volume.recover`). Then come the marks
/// of documents whose last writer has closed them: they are taken away a moment later, for many documents in one
/// transaction, because close(2) does not wait for RELEASE.
final class ClosedWriters: WaitingChanges {
    /// A writer's changes that the catalog does not have yet.
    struct Unrecorded {
        var written: Volume.Written
        var content: ContentFile
        var isPassedThrough: Bool
        /// The document's row without these changes.
        var before: Node.ShownTimes
        var number: UInt64 = 0
    }

    /// A document whose mark is to be taken away.
    struct Closed {
        /// Set where the file may still be mapped, with its state when it was recorded last.
        var mapped: (id: GenerationID, stamp: BackingStamp)?
        /// When the file was found in use after its close. The kernel lets go of the file behind a passthrough handle a
        /// moment after RELEASE.
        var usedSince: ContinuousClock.Instant?
        var number: UInt64 = 0
    }

    private struct State {
        var unrecorded: [InodeID: Unrecorded] = [:]
        var closed: [InodeID: Closed] = [:]
        /// Files whose ctime has changed by a label, not by a writer.
        var restamped: [InodeID: (from: BackingStamp, to: BackingStamp)] = [:]
        /// What transactions have failed on.
        var failures: [InodeID: (number: UInt64, error: CatalogError)] = [:]
        /// Could not be recorded, of documents that are still open.
        var failed: [InodeID: Unrecorded] = [:]
        /// A later entry of the same document has another number.
        var entries: UInt64 = 0
        var recorder: Recorder?
        /// Marks have been taken away since this was asked.
        var hasEnded = false

        mutating func restamp(_ inode: InodeID, _ from: BackingStamp, _ to: BackingStamp) {
            var (first, last) = (from, to)
            if let earlier = restamped[inode] {
                if earlier.to == from { first = earlier.from }
                // (What `make` did is told at the commit, after what the transaction did then.)
                if earlier.from == to { last = earlier.to }
            }
            restamped[inode] = (first, last)
            if closed[inode]?.mapped?.stamp == from { closed[inode]?.mapped?.stamp = last }
        }

        mutating func forget(_ ended: [InodeID: Closed]) {
            for (inode, closed) in ended where self.closed[inode]?.number == closed.number {
                (self.closed[inode], restamped[inode]) = (nil, nil)
            }
        }
    }
    private let state = AdaptiveMutex(State())

    struct Recorder: Sendable {
        /// Whether nobody can change the document's file any more, and it is as it was when it was closed.
        var isOver: @Sendable (Unrecorded, Closed) -> Bool
        /// Records a writer's changes, and returns the file's state afterwards.
        var record: @Sendable (Unrecorded, _ ends: Bool, Catalog.Writer) throws -> BackingStamp
        /// Changes could not be recorded. Must not block.
        var failed: @Sendable (Unrecorded, CatalogError, _ isClosed: Bool) -> Void
    }

    /// Set once.
    func start(_ recorder: Recorder) { state.withLock { $0.recorder = recorder } }

    // MARK: Changes that wait

    var isEmpty: Bool { state.withLock { $0.unrecorded.isEmpty } }

    func make(in writer: Catalog.Writer) throws -> (@Sendable () -> Void) {
        let (all, closed, recorder) = state.withLock { ($0.unrecorded, $0.closed, $0.recorder) }
        guard let recorder else { return {} }
        var ended: [InodeID: Closed] = [:]
        var restamped: [InodeID: (from: BackingStamp, to: BackingStamp)] = [:]
        for (inode, changes) in all {
            do {
                let over = closed[inode].flatMap { recorder.isOver(changes, $0) ? $0 : nil }
                let stamp = try recorder.record(changes, over != nil, writer)
                if let over { ended[inode] = over }
                if stamp != changes.written.stamp { restamped[inode] = (changes.written.stamp, stamp) }
            } catch {
                let failure = writer.failure(error)
                if failure.code != .diskFull { state.withLock { $0.failures[inode] = (changes.number, failure) } }
                throw failure
            }
        }
        return { [self, ended, restamped] in
            state.withLock { state in
                for (inode, changes) in all where state.unrecorded[inode]?.number == changes.number {
                    state.unrecorded[inode] = nil
                }
                for (inode, stamps) in restamped { state.restamp(inode, stamps.from, stamps.to) }
                if !ended.isEmpty { state.hasEnded = true }
                state.forget(ended)
            }
        }
    }

    func giveUp() {
        let (given, recorder) = state.withLock { state in
            var given: [(Unrecorded, CatalogError, Bool)] = []
            for (inode, failure) in state.failures {
                // (Not where another thread's transaction has recorded it since.)
                guard let changes = state.unrecorded[inode], changes.number == failure.number else { continue }
                state.unrecorded[inode] = nil
                // (The mark stays.)
                let isClosed = state.closed.removeValue(forKey: inode) != nil
                if !isClosed { state.failed[inode] = changes }
                given.append((changes, failure.error, isClosed))
            }
            state.failures = [:]
            return (given, state.recorder)
        }
        for (changes, failure, isClosed) in given { recorder?.failed(changes, failure, isClosed) }
    }

    /// The next transaction records these changes. Call it in the catalog's turn, so that no transaction that has begun
    /// goes without them.
    func add(_ changes: Unrecorded) {
        state.withLock { state in
            state.entries += 1
            var changes = changes
            changes.number = state.entries
            let earlier = state.unrecorded[changes.written.inode]?.written.dates.accessed
            changes.written.dates.accessed = changes.written.dates.accessed ?? earlier
            state.unrecorded[changes.written.inode] = changes
        }
    }

    func isWaiting(_ inode: InodeID) -> Bool { state.withLock { $0.unrecorded[inode] != nil } }

    /// The changes that wait. Ask before a row is read, and give the row to ``Waiting/show(in:)``.
    var waiting: Waiting { state.withLock { Waiting(unrecorded: $0.unrecorded) } }

    struct Waiting {
        fileprivate var unrecorded: [InodeID: Unrecorded]

        /// Gives a row that may be from before the changes what they make of it.
        func show(in record: inout InodeRecord) {
            guard let changes = unrecorded[record.id], changes.written.generation == record.generation,
                changes.before == Node.ShownTimes(record)
            else { return }
            let written = changes.written
            (record.size, record.modified, record.changed) = (written.size, written.modified, written.changed)
            record.accessed = written.dates.accessed ?? record.accessed
        }
    }

    /// Adds to the changes that wait. Call it in the catalog's turn.
    ///
    /// - Parameter body: returns false to leave all as it is.
    /// - Returns: the file's state now; nil: nothing waits, or `body` does not want it.
    func amend(_ inode: InodeID, _ body: (inout Unrecorded) throws -> Bool) throws -> BackingStamp? {
        guard var changes = state.withLock({ $0.unrecorded[inode] }) else { return nil }
        let before = changes.written.stamp
        guard try body(&changes) else { return nil }
        return state.withLock { state in
            state.entries += 1
            changes.number = state.entries
            state.unrecorded[inode] = changes
            if state.closed[inode]?.mapped?.stamp == before {
                state.closed[inode]?.mapped?.stamp = changes.written.stamp
            }
            return changes.written.stamp
        }
    }

    /// Changes of an open document that could not be recorded; they are the caller's from now on.
    func takeFailed(_ inode: InodeID) -> Unrecorded? { state.withLock { $0.failed.removeValue(forKey: inode) } }

    func hasFailed(_ changes: Unrecorded) { state.withLock { $0.failed[changes.written.inode] = changes } }

    /// A label gave the file of an open document another ctime.
    func wasLabelled(_ inode: InodeID, from: BackingStamp, to: BackingStamp) {
        state.withLock { $0.restamp(inode, from, to) }
    }

    /// The state that labels have made of this one. Told once.
    func takeRestamped(_ inode: InodeID, from stamp: BackingStamp) -> BackingStamp? {
        state.withLock { state in
            guard let stamps = state.restamped.removeValue(forKey: inode), stamps.from == stamp else { return nil }
            return stamps.to
        }
    }

    /// Nobody has the document open any more, and nothing waits for it.
    func forgetStamps(_ inode: InodeID) {
        state.withLock { if $0.closed[inode] == nil { $0.restamped[inode] = nil } }
    }

    // MARK: Marks

    /// - Returns: false if the document's changes could not be recorded: then the mark must stay.
    func close(_ inode: InodeID, mapped: (id: GenerationID, stamp: BackingStamp)?) -> Bool {
        state.withLock { state in
            if state.failed.removeValue(forKey: inode) != nil { return false }
            state.entries += 1
            state.closed[inode] = Closed(mapped: mapped, number: state.entries)
            return true
        }
    }

    /// A new writer has come, and owns the mark from now on. Called in the transaction that marks the document; if that
    /// fails, ``restore(_:_:)`` takes the call back.
    @discardableResult
    func cancel(_ inode: InodeID) -> Closed? {
        state.withLock { state in
            (state.restamped[inode], state.failed[inode]) = (nil, nil)
            return state.closed.removeValue(forKey: inode)
        }
    }

    func restore(_ inode: InodeID, _ closed: Closed?) {
        guard let closed else { return }
        state.withLock { if $0.closed[inode] == nil { $0.closed[inode] = closed } }
    }

    /// A call that has no handle changed the file of a closed document.
    func renew(_ inode: InodeID, _ stamp: BackingStamp) {
        state.withLock { if $0.closed[inode]?.mapped != nil { $0.closed[inode]?.mapped?.stamp = stamp } }
    }

    /// The documents whose marks are to be taken away; asked in the transaction that does it.
    var closed: [InodeID: Closed] { state.withLock { $0.closed } }

    /// The file of this document is still in use. Waits on for a moment.
    ///
    /// - Returns: false if that moment is over.
    func isUsed(_ inode: InodeID, _ closed: Closed) -> Bool {
        state.withLock { state in
            guard let now = state.closed[inode], now.number == closed.number else { return true }
            if let since = now.usedSince { return since.duration(to: .now) < Self.patience }
            state.closed[inode]?.usedSince = .now
            return true
        }
    }

    private static let patience = Duration.milliseconds(20)

    /// The marks of these documents have been taken away, durably; documents that were closed again since wait on.
    func ended(_ inodes: [InodeID: Closed]) { state.withLock { $0.forget(inodes) } }

    /// Whether transactions have taken away marks since the last call.
    func haveEnded() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = false }
            return state.hasEnded
        }
    }
}

extension Volume {
    func startRecordingClosedWriters() {
        closedWriters.start(
            ClosedWriters.Recorder { [weak self] changes, closed in
                guard let self, closed.mapped.map({ !self.mount.store.isWritable($0.id) }) ?? true else { return false }
                let now = try? changes.content.status()
                return now?.size == changes.written.size && now?.modified == changes.written.modified.nanoseconds
            } record: { [weak self] changes, ends, writer in
                guard let self else { return changes.written.stamp }
                return try self.record(
                    changes.written, changes.content, isPassedThrough: changes.isPassedThrough, ends: ends, writer
                ).stamp
            } failed: { [weak self] changes, failure, isClosed in
                guard let self else { return }
                self.notRecorded(changes.written.inode, failure)
                if !isClosed { return }
                // (The watch for changes through a mapping finds these.)
                self.watchMappingLater(of: changes.written.inode, generation: changes.written.generation)
            })
    }

    func notRecorded(_ inode: InodeID, _ error: any Error) {
        mount.logger.error(
            "cannot record a change; this is tried again at the next write and at the next mount",
            metadata: ["inode": "\(inode)", "error": "\(error)"])
    }

    /// Takes away the marks of all documents that nobody writes any more. Those that may still be mapped keep theirs, and
    /// are watched.
    package func endWritingNow() {
        catalog.settle()
        if closedWriters.haveEnded() { engine.changed() }
        let before = closedWriters.closed
        if before.isEmpty { return }
        // Asked first: writes until the lease is granted show in the file's date.
        let used = before.filter { inode, closed in closed.mapped.map { mount.store.isWritable($0.id) } ?? false }
        let young = used.filter { closedWriters.isUsed($0, $1) }
        if !young.isEmpty { seeToItLater() }
        do {
            let ended = try catalog.write { writer in
                // Asked inside: a writer that marks a document takes it off the list in its own transaction. (One that
                // was closed since `before` is looked at the next time.)
                let ended = closedWriters.closed.filter { before[$0]?.isSame($1) == true && young[$0] == nil }
                for (inode, closed) in ended {
                    let stamp = try closed.mapped.flatMap { try recordSinceClose(inode, $0.id, $0.stamp, writer) }
                    let isUsed = used[inode] != nil
                    try writer.endWriting(
                        inode, settle: isUsed ? nil : times.settle, defaults: mount.defaults,
                        mapped: isUsed ? stamp : nil)
                    // The upload may have been confirmed while the writer still had it open.
                    if let record = try writer.inodeIfPresent(inode) {
                        _ = try mount.labels.updateMarked(record, in: writer)
                    }
                }
                return ended
            }
            closedWriters.ended(ended)
            if !ended.isEmpty { engine.changed() }
            for inode in ended.keys {
                if let mapped = used[inode]?.mapped { watchMapping(of: inode, generation: mapped.id.number) }
            }
        } catch {
            mount.logger.error(
                "cannot clear dirty marks; this is tried again in a moment", metadata: ["error": "\(error)"])
            Task(executorPreference: mount.workers) { [weak self] in
                try? await Task.sleep(for: .seconds(1))
                self?.seeToItLater()
            }
        }
    }

    /// The file's state when its changes were recorded last, by which later writes past us show.
    func stamp(_ node: Node, _ state: inout Node.State) -> BackingStamp? {
        guard let stamp = state.open?.writing?.stamp else { return nil }
        guard let now = closedWriters.takeRestamped(node.inode, from: stamp) else { return stamp }
        state.open?.writing?.stamp = now
        return now
    }
}

extension ClosedWriters.Closed {
    fileprivate func isSame(_ other: Self) -> Bool { number == other.number }
}
