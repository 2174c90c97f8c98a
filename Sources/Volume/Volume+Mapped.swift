import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Documents that nobody has open and somebody has mapped. A passthrough mapping holds the local file, not ours, so no
/// RELEASE tells of its end; but the kernel grants a lease only after it (fcntl(2), F_SETLEASE).
extension Volume {
    /// Until the mapping is gone the document keeps its dirty mark, and is neither evicted nor sent. But once it has
    /// not been changed for a while it is sent, so that the changes of a mapping that stays for days reach the store.
    ///
    /// One watch an inode: a new watch ends the one before. A writer that opens the document ends the watch as well,
    /// because its close looks for mappings. A reader ends nothing, because its close does not look.
    func watchMapping(of inode: InodeID, generation: Int64) {
        let id = GenerationID(inode: inode.rawValue, number: generation)
        let watch = mappingWatches.withLock { $0.begin(inode) }
        // A writer that came since the close that started this watch found no watch to end.
        if let node = table.current(inode), node.withLock({ $0.isMarked }) {
            return mappingWatches.withLock { $0.end(watch, of: inode) }
        }
        Task(executorPreference: mount.workers) { [weak self] in
            var quietSince = ContinuousClock.now
            while (try? await Task.sleep(for: .seconds(min(1, self?.times.settle ?? 1)))) != nil {
                guard let self else { return }
                do {
                    switch try self.checkMapping(id, watch) {
                    case .over: return
                    case .changed: quietSince = .now
                    case .unchanged:
                        if quietSince.duration(to: .now) > .seconds(self.times.settleAfterSync) {
                            try self.catalog.write { try $0.becomeReady(inode, settle: 0) }
                            self.engine.changed()
                        }
                    }
                } catch {
                    self.mount.logger.warning(
                        "cannot tell whether a document is still mapped",
                        metadata: ["file": "\(id)", "error": "\(error)"])
                }
            }
        }
    }

    /// For callers that hold a node's lock, or the catalog's turn.
    func watchMappingLater(of inode: InodeID, generation: Int64) {
        Task(executorPreference: mount.workers) { [weak self] in
            self?.watchMapping(of: inode, generation: generation)
        }
    }

    private enum Sight { case over, changed, unchanged }

    private func checkMapping(_ id: GenerationID, _ watch: UInt64) throws -> Sight {
        let inode = InodeID(rawValue: id.inode)
        // Asked first: writes until the lease is granted show in the time stamp.
        let isMapped = mount.store.isWritable(id)
        func check(_ writer: Catalog.Writer) throws -> Sight {
            // Asked inside: a writer ends the watch before it writes its own mark, which must not be taken away. The
            // stamp is taken inside as well: an earlier one would replace what the writer has recorded since.
            guard mappingWatches.withLock({ $0.isCurrent(watch, of: inode) }) else { return .over }
            guard let now = BackingStamp(mount.store.status(id)) else { return .over }
            guard let record = try writer.inodeIfPresent(inode), record.generation == id.number,
                let mark = record.writing
            else { return .over }
            let isChanged: Bool =
                switch mark {
                // Time stamps of a partial file tell nothing; programs write to it through us.
                case .maybeModified(let seen): seen != .none && now != seen
                case .modified: record.extents == nil
                }
            if isChanged {
                try recordMapped(record, now, writer)
                writer.changes.append(.attributes(inode))
            }
            if !isMapped { try writer.endWriting(inode, settle: times.settle, defaults: mount.defaults) }
            return isMapped ? (isChanged ? .changed : .unchanged) : .over
        }
        // Under the node's lock: truncate(2) changes the catalog first and the file afterwards.
        let sight =
            if let node = table.current(inode) {
                try node.withLock { _ in try catalog.write(check) }
            } else {
                try catalog.write(check)
            }
        if case .over = sight {
            mappingWatches.withLock { $0.end(watch, of: inode) }
            mount.relabel(inode)
        }
        if case .over = sight {
            engine.changed()
            if let gone = table.orphan(inode), try catalog.read({ try $0.inodeIfPresent(gone)?.linkCount }) == 0 {
                reclaim(gone)
            }
        }
        return sight
    }

    /// Records what a mapping did to the file of a document since its last writer closed it.
    ///
    /// - Parameter seen: the file's state then.
    /// - Returns: its state now; nil: there is no such file any more.
    func recordSinceClose(
        _ inode: InodeID, _ id: GenerationID, _ seen: BackingStamp, _ writer: Catalog.Writer
    ) throws -> BackingStamp? {
        guard let now = BackingStamp(mount.store.status(id)) else { return nil }
        // (A label changes only the ctime.)
        guard !now.hasSameBytes(as: seen), let record = try writer.inodeIfPresent(inode),
            record.generation == id.number, record.writing != nil
        else { return now }
        writer.changes.append(.attributes(inode))
        return try recordMapped(record, now, writer)
    }

    /// Records that a mapping changed the file since the last look. The label changes the file's ctime, so the stamp is
    /// taken again, and returned.
    @discardableResult
    private func recordMapped(
        _ inode: InodeRecord, _ seen: BackingStamp, _ writer: Catalog.Writer
    ) throws -> BackingStamp {
        func write(_ stamp: BackingStamp) throws -> InodeRecord {
            try writer.recordWritten(
                inode.id, generation: inode.generation, size: stamp.size, modified: stamp.modified,
                mark: .maybeModified(stamp), settle: nil)
        }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        guard try mount.labels.update(try write(seen), in: writer), let now = BackingStamp(mount.store.status(id))
        else {
            return seen
        }
        _ = try write(now)
        return now
    }
}

/// Which documents are watched for the end of a mapping, and by which watch.
struct MappingWatches {
    private var current: [InodeID: UInt64] = [:]
    private var last: UInt64 = 0

    mutating func begin(_ inode: InodeID) -> UInt64 {
        last += 1
        current[inode] = last
        return last
    }

    func isCurrent(_ watch: UInt64, of inode: InodeID) -> Bool { current[inode] == watch }

    mutating func end(_ watch: UInt64, of inode: InodeID) { if current[inode] == watch { current[inode] = nil } }

    /// A writer opens the document.
    mutating func end(_ inode: InodeID) { current[inode] = nil }
}
