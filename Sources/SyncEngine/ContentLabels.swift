package import ContentStore
import FileProvider
package import ItemCatalog
import Locking
import Logging
import Synchronization
package import Trees

/// Keeps the labels of modified content as the catalog has it: what `hydrant rescue` goes by when the catalog is lost.
///
/// All of it happens inside a transaction of the catalog's, so that a label is never older than what was committed
/// last, and never taken away while a writer marks the document.
package final class ContentLabels: Sendable {
    private let store: ContentStore
    private let logger: Logger
    /// What the labels were last made of; a close that changes nothing of it costs one look-up.
    private let known = AdaptiveMutex<[GenerationID: Known]>([:])
    private let isTold = Atomic(false)

    private struct Known: Equatable {
        /// Nil: no label.
        var facts: LabelFacts?
        var label: ContentLabel?
    }

    init(store: ContentStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Writes, changes or takes away the label of an inode's bytes. Nothing is taken away while a writer is at work.
    ///
    /// A failure is logged, once, and is not the writer's: the bytes and the catalog are what counts.
    /// - Parameter isNew: the file was just made.
    /// - Returns: whether the file's ctime is another now.
    package func update(_ inode: InodeRecord, in reader: Catalog.Reader, isNew: Bool = false) throws -> Bool {
        guard inode.kind == .document else { return false }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        var facts = try inode.linkCount > 0 ? reader.labelFacts(of: inode.id) : nil
        if facts?.isOnlyHere == false {
            if inode.writing != nil { return false }
            facts = nil
        }
        let before = known.withLock { $0[id] }
        guard let facts else {
            if let before, before.facts == nil { return false }
            return apply(Known(), to: id, replacing: before?.label)
        }
        var label = ContentLabel(
            path: before?.label?.path ?? [], identifier: facts.identifier?.rawValue, base: facts.base?.bytes,
            modified: ownDate(of: inode, id), mode: inode.mode,
            extents: inode.extents.map { LabelledExtents(baseSize: inode.baseSize, ranges: Array($0.ranges)) })
        if before?.facts != facts || before?.label == nil {
            guard let names = try reader.path(of: inode.id) else { return false }
            label.path = Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
        }
        let now = Known(facts: facts, label: label)
        return now == before ? false : apply(now, to: id, replacing: before?.label, isNew: isNew)
    }

    /// As ``update(_:in:)``, of an inode of which a dirty mark may say how its file was seen last: the label alone is
    /// no write. (Taken for one, a date that was set since went back to the file's own.)
    /// - Returns: how the mark has the file now, if it was changed.
    package func updateMarked(_ inode: InodeRecord, in writer: Catalog.Writer) throws -> BackingStamp? {
        guard case .maybeModified(let seen)? = inode.writing else {
            _ = try update(inode, in: writer)
            return nil
        }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let before = BackingStamp(store.status(id))
        guard try update(inode, in: writer), seen == before, let now = BackingStamp(store.status(id)),
            now.size == seen.size, now.modified == seen.modified
        else { return nil }
        try writer.remark(inode.id, .maybeModified(now))
        return now
    }

    /// While a program writes, the file's own date is the document's. One that was set afterwards, or of a file that a
    /// download may write to as well, must be said.
    private func ownDate(of inode: InodeRecord, _ id: GenerationID) -> Int128? {
        // (The file has no date that is too far away to be a number of nanoseconds.)
        guard inode.extents == nil, let modified = inode.modified.exactNanoseconds,
            let own = store.status(id)?.modified, (Int128(own) - Int128(modified)).magnitude < 100_000_000
        else { return inode.modified.wideNanoseconds }
        return nil
    }

    /// Without a label, as far as is known, and to stay so: nothing is to be done.
    fileprivate func isSettled(_ inode: InodeRecord, in reader: Catalog.Reader) throws -> Bool {
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        guard let known = known.withLock({ $0[id] }), known.facts == nil else { return false }
        return try reader.labelFacts(of: inode.id)?.isOnlyHere != true
    }

    private func apply(
        _ now: Known, to id: GenerationID, replacing old: ContentLabel?, isNew: Bool = false
    ) -> Bool {
        do {
            let hasChanged = try store.setLabel(now.label, of: id, replacing: old, isNew: isNew)
            known.withLock { known in
                if known.count > 8_192 { known = [:] }
                known[id] = now
            }
            return hasChanged
        } catch {
            if !isTold.exchange(true, ordering: .relaxed) {
                logger.warning(
                    "modified content cannot be labelled; if the catalog were lost, its name would be too",
                    metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    /// At a mount: labels what is not labelled yet, and says once when nothing can be.
    package func begin(_ catalog: Catalog) throws(CatalogError) {
        guard store.keepsLabels else {
            isTold.store(true, ordering: .relaxed)
            logger.warning(
                "the state directory keeps no extended attributes: without the catalog, modified documents have no names",
                metadata: ["directory": "\(store.directory)"])
            return
        }
        try catalog.write { writer in
            for inode in try writer.documentsOnlyHere() { _ = try update(inode, in: writer) }
        }
    }
}

extension BackingStamp {
    package init?(_ status: ContentStat?) {
        guard let status else { return nil }
        self.init(
            size: status.size, modified: FileTime(nanoseconds: status.modified),
            changed: FileTime(nanoseconds: status.changed))
    }
}

extension SyncContext {
    /// After a change that made an inode's label wrong; it is tried again at the next one.
    package func relabel(_ inode: InodeID?) {
        guard let inode else { return }
        do {
            let isSettled = try catalog.read { reader in
                try reader.inodeIfPresent(inode).map { try labels.isSettled($0, in: reader) } ?? true
            }
            if isSettled { return }
            try catalog.write { try relabel(inode, in: $0) }
        } catch {
            logger.warning("cannot label modified content", metadata: ["inode": "\(inode)", "error": "\(error)"])
        }
    }

    /// The same in the transaction that makes it wrong.
    func relabel(_ inode: InodeID?, in writer: Catalog.Writer) throws {
        guard let record = try inode.flatMap(writer.inodeIfPresent) else { return }
        _ = try labels.updateMarked(record, in: writer)
    }
}
