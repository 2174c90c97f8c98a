import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Logging

/// Takes one step at the provider, and writes its outcome into the catalog.
struct StepRunner: Sendable {
    let context: SyncContext
    let hydrator: Hydrator
    let fetcher: FolderFetcher

    enum Outcome: Sendable {
        /// The trees moved: plan again.
        case done
        /// Not now (a writer is at work, the file changed under the snapshot): again at this moment.
        case postponed
        case failed(FileProviderError.Code?)
    }

    func run(_ planned: Planner.Planned) async -> Outcome {
        let item = planned.pending.item
        context.ownChanges.begin(item.identifier)
        defer { context.ownChanges.end(item.identifier) }
        do {
            switch planned.step {
            case .forget: try context.change { try $0.confirmDeletion(item.id, defaults: context.defaults) }
            case .create: return try await create(planned.pending)
            case .uploadContents: return try await uploadContents(item)
            case .move(let place): try await move(planned.pending, to: place)
            case .moveAside: try await moveAside(item)
            case .updateMetadata: try await updateMetadata(item)
            case .delete: try await delete(item)
            case .takeBackDeletion:
                try context.change { try $0.takeBackDeletion(item.id, current: nil, defaults: context.defaults) }
            }
            return .done
        } catch {
            return record(SyncError(error), of: planned)
        }
    }

    /// A failure never drops the change; it is tried again later.
    private func record(_ error: SyncError, of planned: Planner.Planned) -> Outcome {
        let item = planned.pending.item
        if case .cancelled = error { return .postponed }
        var code: FileProviderError.Code?
        if case .provider(let failure) = error { code = failure.code }
        let delay = RetryDelay.seconds(after: item.failure?.attempts ?? 0, code, context.times)
        context.logger.warning(
            "a change could not be sent",
            metadata: [
                "item": "\(context.path(of: item))", "step": "\(planned.step)", "error": "\(error)",
                "next try in": "\(delay) s",
            ])
        _ = try? context.catalog.write {
            try $0.recordFailure(
                item.id, code: code?.description ?? "local", message: error.description,
                retryAt: FileTime.now.adding(seconds: delay))
        }
        return .failed(code)
    }

    // MARK: Contents

    /// What an upload sends, and which local state it stands for.
    private struct Prepared {
        var source: SnapshotSource
        var metadata: ItemMetadata
        var contentRevision: Int64
        var metadataRevision: Int64
    }

    /// Nil when a writer is at work.
    private func prepare(_ item: ItemRecord) async throws -> Prepared? {
        guard let inodeID = item.inode, context.volume?.isBeingWritten(inodeID) != true else { return nil }
        let (row, inode) = try context.catalog.read { (try $0.item(item.id), try $0.inode(inodeID)) }
        guard let row, row.inode == inodeID, row.local == item.local else { return nil }
        let content = try context.open(inode)
        if !content.isComplete, let identifier = row.identifier, let version = row.baseVersion {
            // A program changed a part of a placeholder: the rest must come first.
            let target = DownloadTarget(
                inode: inodeID, identifier: identifier, version: version.content, name: context.path(of: row))
            try await hydrator.provide(0..<content.baseSize, of: content, for: target)
        }
        let snapshot: Snapshot
        do { snapshot = try context.store.snapshot(of: content) } catch {
            if error.code == .changed { return nil }
            throw error
        }
        let source = SnapshotSource(snapshot: snapshot)
        let digest = try source.digest()
        let unchanged = try context.catalog.write { writer in
            guard let now = try writer.item(item.id), now.contentRevision == row.contentRevision else { return false }
            try writer.recordSending(item.id, digest)
            return true
        }
        guard unchanged, context.volume?.isBeingWritten(inodeID) != true else { return nil }
        return Prepared(
            source: source, metadata: metadata(of: inode), contentRevision: row.contentRevision,
            metadataRevision: row.metadataRevision)
    }

    private func metadata(of inode: InodeRecord) -> ItemMetadata {
        ItemMetadata(
            contentModificationDate: inode.modified, posixPermissions: UInt16(truncatingIfNeeded: inode.mode))
    }

    private func uploadContents(_ item: ItemRecord) async throws -> Outcome {
        guard let prepared = try await prepare(item) else { return .postponed }
        guard let identifier = item.identifier, let base = item.baseVersion else { return .postponed }
        context.logger.debug("itemChanged", metadata: ["item": "\(context.path(of: item))"])
        do {
            let changed = try await context.provider.itemChanged(
                identifier, contents: prepared.source, metadata: prepared.metadata, baseVersion: base)
            try confirmContents(item, changed, prepared)
        } catch let error as FileProviderError where error.code == .versionMismatch {
            let current = try await current(error, identifier)
            if try await isOurs(current, prepared) {
                try confirmContents(item, current, prepared)
            } else {
                try keepBoth(item, current)
            }
        } catch let error as FileProviderError where error.code == .noSuchItem {
            // Deleted there, changed here: the change wins, as a new document.
            try context.catalog.write { try $0.becomesUnconfirmed(item.id) }
        }
        return .done
    }

    private func confirmContents(_ item: ItemRecord, _ changed: Item, _ prepared: Prepared) throws {
        try context.change {
            try $0.confirmContents(
                item.id, as: changed, contentRevision: prepared.contentRevision,
                metadataRevision: prepared.metadataRevision)
        }
    }

    private func current(_ error: FileProviderError, _ identifier: ItemIdentifier) async throws(FileProviderError)
        -> Item
    {
        if let item = error.item { return item }
        return try await context.provider.providePlaceholder(for: identifier)
    }

    private func isOurs(_ current: Item, _ prepared: Prepared) async throws -> Bool {
        let sent = try prepared.source.digest()
        return try await RemoteComparison(provider: context.provider).matches(current, sent)
    }

    private func keepBoth(_ item: ItemRecord, _ current: Item) throws {
        let path = context.path(of: item)
        let copy = try context.change { try $0.keepBoth(item.id, current: current, defaults: context.defaults) }
        context.logger.warning(
            "conflict: both versions are kept", metadata: ["item": "\(path)", "local version": "\(copy?.string ?? "")"])
    }

    // MARK: Creation

    private func create(_ pending: PendingItem) async throws -> Outcome {
        let item = pending.item
        guard let parent = pending.parentIdentifier, let local = item.local, let inodeID = item.inode else {
            return .postponed
        }
        var prepared: Prepared?
        if item.kind.isDocument {
            prepared = try await prepare(item)
            if prepared == nil { return .postponed }
        }
        let inode = try context.catalog.read { try $0.inode(inodeID) }
        let facts = prepared?.metadata ?? metadata(of: inode)
        let template = ItemTemplate(
            parentIdentifier: parent, filename: local.name, kind: item.kind,
            contentModificationDate: facts.contentModificationDate, posixPermissions: facts.posixPermissions)
        context.logger.debug("createItem", metadata: ["item": "\(context.path(of: item))"])
        do {
            let created = try await context.provider.createItem(template, contents: prepared?.source)
            try confirmCreation(item, created, prepared)
        } catch let error as FileProviderError where error.code == .filenameCollision {
            try await settleCollision(item, error, prepared)
        } catch let error as FileProviderError where error.code == .noSuchItem {
            // Its folder is gone at the provider: ask, and if so, make that anew first.
            await RemoteRefresh(context: context, fetcher: nil).refresh(parent)
        }
        return .done
    }

    private func confirmCreation(_ item: ItemRecord, _ created: Item, _ prepared: Prepared?) throws {
        try context.change {
            try $0.confirmCreation(
                item.id, as: created, contentRevision: prepared?.contentRevision ?? item.contentRevision,
                metadataRevision: prepared?.metadataRevision ?? item.metadataRevision)
        }
    }

    /// The name is taken: by our own upload whose reply was lost, by a folder that can be the same
    /// one, or by somebody else's document.
    private func settleCollision(_ item: ItemRecord, _ error: FileProviderError, _ prepared: Prepared?) async throws {
        guard let existing = error.item else {
            if let parent = item.local?.parent, let folder = try context.catalog.read({ try $0.item(parent)?.inode }) {
                try await fetcher.fetch(folder, joining: false)
            }
            throw error
        }
        let isSame: Bool =
            switch (item.kind, existing.kind) {
            case (.folder, .folder): true
            case (.symbolicLink(let mine), .symbolicLink(let theirs)): mine == theirs
            case (.document, .document): if let prepared { try await isOurs(existing, prepared) } else { false }
            default: false
            }
        guard isSame else { return try keepBoth(item, existing) }
        try confirmCreation(item, existing, prepared)
        if item.kind.isFolder, let inode = item.inode { try await fetcher.fetch(inode, joining: false) }
    }

    // MARK: Move, metadata, deletion

    private func move(_ pending: PendingItem, to place: TreePlace) async throws {
        let item = pending.item
        guard let parent = pending.parentIdentifier, let identifier = item.identifier, let base = item.baseVersion
        else { return }
        context.logger.debug("moveItem", metadata: ["item": "\(context.path(of: item))"])
        do {
            let moved = try await context.provider.moveItem(
                identifier, to: parent, as: place.name, baseVersion: base)
            let reidentified = moved.identifier != identifier
            try context.change { try $0.confirmMove(item.id, as: moved, sent: place, defaults: context.defaults) }
            if reidentified, item.kind.isFolder, let inode = item.inode {
                try await fetcher.fetch(inode, joining: false)
            }
        } catch let error as FileProviderError where error.code == .filenameCollision {
            try context.change { try $0.giveWay(item.id, to: error.item, defaults: context.defaults) }
        } catch let error as FileProviderError where error.code == .versionMismatch || error.code == .noSuchItem {
            // Moved, changed or deleted there as well: take that first, then plan anew. (It may be our own
            // move, whose reply was lost.)
            await RemoteRefresh(context: context, fetcher: nil)
                .refresh(identifier, known: error.item, isOwn: true)
            guard let row = try context.catalog.read({ try $0.item(item.id) }), row.local != row.base else { return }
            throw error
        }
    }

    /// A name nobody has, so that a circle of moves can begin.
    private func moveAside(_ item: ItemRecord) async throws {
        guard let identifier = item.identifier, let base = item.baseVersion, let place = item.base,
            let folder = try context.catalog.read({ try $0.item(place.parent)?.identifier })
        else { return }
        let name = Filename("moving-\(item.id.rawValue)-\(UInt32.random(in: .min ... .max))")
        let moved = try await context.provider.moveItem(identifier, to: folder, as: name, baseVersion: base)
        try context.change {
            try $0.confirmMove(
                item.id, as: moved, sent: TreePlace(parent: place.parent, name: name), defaults: context.defaults)
        }
    }

    private func updateMetadata(_ item: ItemRecord) async throws {
        guard let provider = context.provider as? any MetadataUpdating, let identifier = item.identifier,
            let base = item.baseVersion, let inodeID = item.inode
        else {
            return try context.catalog.write {
                try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision)
            }
        }
        let inode = try context.catalog.read { try $0.inode(inodeID) }
        do {
            let updated = try await provider.updateMetadata(identifier, to: metadata(of: inode), baseVersion: base)
            try context.change {
                try $0.confirmContents(
                    item.id, as: updated, contentRevision: -1, metadataRevision: item.metadataRevision)
            }
        } catch let error as FileProviderError where error.code == .versionMismatch || error.code == .noSuchItem {
            await RemoteRefresh(context: context, fetcher: nil)
                .refresh(identifier, known: error.item, isOwn: true)
            throw error
        } catch let error as FileProviderError where error.code == .unsupported {
            try context.catalog.write {
                try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision)
            }
        }
    }

    private func delete(_ item: ItemRecord) async throws {
        guard let identifier = item.identifier, let base = item.baseVersion ?? item.remoteVersion else { return }
        context.logger.debug("deleteItem", metadata: ["item": "\(context.path(of: item))"])
        do {
            try await context.provider.deleteItem(identifier, baseVersion: base)
            try context.change { try $0.confirmDeletion(item.id, defaults: context.defaults) }
        } catch let error as FileProviderError where error.code == .noSuchItem {
            try context.change { try $0.confirmDeletion(item.id, defaults: context.defaults) }
        } catch let error as FileProviderError where error.code == .versionMismatch || error.code == .directoryNotEmpty
        {
            // Something newer is there: a change beats a deletion.
            let current = try await current(error, identifier)
            try context.change {
                try $0.takeBackDeletion(item.id, current: current, defaults: context.defaults)
            }
            if item.kind.isFolder, let inode = try context.catalog.read({ try $0.item(item.id)?.inode }) {
                try await fetcher.fetch(inode, joining: false)
            }
        }
    }
}
