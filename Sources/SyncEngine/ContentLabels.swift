package import ContentStore
import FileProvider
package import ItemCatalog
import Locking
import Logging
import Synchronization
package import Trees

/// Keeps the labels of modified content in step with the catalog; `hydrant rescue` reads the labels when the catalog is
/// lost.
///
/// Runs inside a transaction of the catalog, so that a label is never older than the last commit, and no label is
/// removed while a writer marks the document.
package final class ContentLabels: Sendable {
    private let store: ContentStore
    private let logger: Logger
    /// The facts that each label was last made of; a close that changes none of them costs one look-up.
    private let known = AdaptiveMutex<[GenerationID: Known]>([:])
    private let hasLoggedFailure = Atomic(false)

    private struct Known: Equatable {
        /// Nil: no label.
        var facts: LabelFacts?
        var label: ContentLabel?
    }

    init(store: ContentStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Writes, changes or removes the label of an inode's bytes. Removes none while a writer is at work.
    ///
    /// A failure is logged once and does not fail the write: the bytes and the catalog matter more.
    /// - Parameters:
    ///   - isNew: the file was just made.
    ///   - isDated: the file's own date is the document's.
    ///   - isModified: although the catalog does not say so yet.
    /// - Returns: whether the file's ctime has changed.
    package func update(
        _ inode: InodeRecord, in reader: Catalog.Reader, isNew: Bool = false, isDated: Bool = false,
        isModified: Bool = false
    ) throws -> Bool {
        guard inode.kind == .document else { return false }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        var facts = try inode.linkCount > 0 ? reader.labelFacts(of: inode.id) : nil
        if isModified { facts?.isOnlyHere = true }
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
            modified: isDated || isNew ? nil : ownDate(of: inode, id), mode: inode.mode,
            extents: inode.extents.map { LabelledExtents(baseSize: inode.baseSize, ranges: Array($0.ranges)) })
        if before?.facts != facts || before?.label == nil {
            guard let names = try reader.path(of: inode.id) else { return false }
            label.path = Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
        }
        let now = Known(facts: facts, label: label)
        return now == before ? false : apply(now, to: id, replacing: before?.label, isNew: isNew)
    }

    /// Labels the bytes of a document that a writer has changed, where the catalog does not say so yet and they have no label.
    ///
    /// - Parameter inode: with the writer's changes.
    /// - Returns: whether the file's ctime has changed.
    package func labelWritten(_ inode: InodeRecord, in reader: Catalog.Reader) throws -> Bool {
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        if known.withLock({ $0[id]?.label != nil }) { return false }
        return try update(inode, in: reader, isDated: true, isModified: true)
    }

    /// Like ``update(_:in:)``, but the label's own change of the file does not count as a write: a dirty mark that had
    /// seen the file is updated. (Otherwise a date that a program set would return to the file's own.)
    /// - Returns: the new stamp in the mark, if the mark was changed.
    package func updateMarked(
        _ inode: InodeRecord, in writer: Catalog.Writer, isDated: Bool = false
    ) throws -> BackingStamp? {
        guard case .maybeModified(let seen)? = inode.writing else {
            _ = try update(inode, in: writer, isDated: isDated)
            return nil
        }
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        let before = BackingStamp(store.status(id))
        guard try update(inode, in: writer, isDated: isDated), seen == before, let now = BackingStamp(store.status(id)),
            now.size == seen.size, now.modified == seen.modified
        else { return nil }
        try writer.remark(inode.id, .maybeModified(now))
        return now
    }

    /// Nil while the file's own date is the document's, as when a program writes. The label must hold a date that was
    /// set later, or the date of a file that a download may write to.
    private func ownDate(of inode: InodeRecord, _ id: GenerationID) -> Int128? {
        // (A date outside the nanosecond range is never the file's own.)
        guard inode.extents == nil, let modified = inode.modified.exactNanoseconds,
            let own = store.status(id)?.modified, (Int128(own) - Int128(modified)).magnitude < 100_000_000
        else { return inode.modified.wideNanoseconds }
        return nil
    }

    /// Whether the inode has no label and needs none.
    func isSettled(_ inode: InodeRecord, in reader: Catalog.Reader) throws -> Bool {
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
            if !hasLoggedFailure.exchange(true, ordering: .relaxed) {
                logger.warning(
                    "cannot label modified content; if the catalog is lost, its name is lost too",
                    metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    /// At a mount: labels modified contents without a label; warns once when the directory cannot keep labels.
    package func begin(_ catalog: Catalog) throws(CatalogError) {
        guard store.keepsLabels else {
            hasLoggedFailure.store(true, ordering: .relaxed)
            logger.warning(
                "the state directory keeps no extended attributes; if the catalog is lost, names of modified documents are too",
                metadata: ["directory": "\(store.directory)"])
            return
        }
        try catalog.write { writer in
            for inode in try writer.documentsOnlyHere() { _ = try updateMarked(inode, in: writer) }
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
