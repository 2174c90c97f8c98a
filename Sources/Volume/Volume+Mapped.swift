import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Documents that nobody has open and somebody has mapped. A passthrough mapping holds the local file, not ours,
/// so no RELEASE tells of its end; whether the kernel grants a lease does (design.md, *When is nobody using it?*).
extension Volume {
    /// Until the mapping is gone the document keeps its dirty mark, and is neither evicted nor sent; but what has
    /// been quiet for a while is sent, so that a mapping that stays for days does not keep its changes from the store.
    ///
    /// One watch an inode: a new one ends the one before, and so does a writer who opens the document, whose close
    /// looks for itself. Who opens it to read ends nothing: nobody looks when he closes it.
    func watchMapping(of inode: InodeID, generation: Int64) {
        let id = GenerationID(inode: inode.rawValue, number: generation)
        let watch = mappingWatches.withLock { $0.begin(inode) }
        // A writer who has come since the close that brought us here found no watch to end.
        if let node = table.current(inode), node.withLock({ $0.isMarked }) {
            return mappingWatches.withLock { $0.end(watch, of: inode) }
        }
        Task(executorPreference: context.workers) { [weak self] in
            var quietSince = ContinuousClock.now
            while (try? await Task.sleep(for: .seconds(min(1, self?.times.settle ?? 1)))) != nil {
                guard let self else { return }
                do {
                    switch try self.lookAtMapping(id, watch) {
                    case .over: return
                    case .changed: quietSince = .now
                    case .unchanged:
                        if quietSince.duration(to: .now) > .seconds(self.times.settleAfterSync) {
                            try self.catalog.write { try $0.becomeReady(inode, settle: 0) }
                            self.engine.changed()
                        }
                    }
                } catch {
                    self.context.logger.warning(
                        "cannot tell whether a document is still mapped",
                        metadata: ["file": "\(id)", "error": "\(error)"])
                }
            }
        }
    }

    private enum Sight { case over, changed, unchanged }

    private func lookAtMapping(_ id: GenerationID, _ watch: UInt64) throws -> Sight {
        let inode = InodeID(rawValue: id.inode)
        // Asked first: what is written until it is granted shows in the time stamp.
        let isMapped = context.store.isWritable(id)
        var changes: [CatalogChange] = []
        func look(_ writer: Catalog.Writer) throws -> Sight {
            // Asked inside: a writer ends the watch before he writes his own mark, which is not to be taken away. And
            // the stamp: one from before this would take the place of what he has recorded since.
            guard mappingWatches.withLock({ $0.isCurrent(watch, of: inode) }) else { return .over }
            guard let now = BackingStamp(context.store.status(id)) else { return .over }
            guard let record = try writer.inodeIfPresent(inode), record.generation == id.number,
                let mark = record.writing
            else { return .over }
            let isChanged: Bool =
                switch mark {
                // Of a file that is not whole time stamps tell nothing; into it programs write through us.
                case .maybeModified(let seen): seen != .none && now != seen
                case .modified: record.extents == nil
                }
            if isChanged {
                try recordMapped(record, now, writer)
                writer.changes.append(.attributes(inode))
            }
            if !isMapped { try writer.endWriting(inode, settle: times.settle, defaults: context.defaults) }
            changes = writer.changes
            return isMapped ? (isChanged ? .changed : .unchanged) : .over
        }
        // Under the node's lock: truncate(2) changes the catalog first and the file afterwards.
        let sight =
            if let node = table.current(inode) {
                try node.withLock { _ in try catalog.write(look) }
            } else {
                try catalog.write(look)
            }
        if case .over = sight {
            mappingWatches.withLock { $0.end(watch, of: inode) }
            context.relabel(inode)
        }
        catalogChanged(changes)
        if case .over = sight {
            engine.changed()
            if let gone = table.orphan(inode), try catalog.read({ try $0.inodeIfPresent(gone)?.linkCount }) == 0 {
                reclaim(gone)
            }
        }
        return sight
    }

    /// A mapping changed the file since it was looked at last. The label changes its ctime, so it is looked at again.
    private func recordMapped(_ inode: InodeRecord, _ seen: BackingStamp, _ writer: Catalog.Writer) throws {
        func write(_ stamp: BackingStamp) throws -> InodeRecord {
            try writer.recordWritten(
                inode.id, generation: inode.generation, size: stamp.size, modified: stamp.modified,
                mark: .maybeModified(stamp), settle: nil)
        }
        guard try context.labels.update(try write(seen), in: writer) else { return }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        if let now = BackingStamp(context.store.status(id)) { _ = try write(now) }
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

    /// A writer opens it.
    mutating func end(_ inode: InodeID) { current[inode] = nil }
}
