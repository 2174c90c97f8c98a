import FileProvider
import ItemCatalog
import Logging
import Trees

/// Carries out the resolutions of ``ConflictTable``.
extension StepRunner {
    /// Resolves a refusal without comparing contents.
    func settle(
        _ step: ConflictTable.Kind, _ item: ItemRecord, _ error: FileProviderError, parent: ItemIdentifier? = nil
    ) async throws -> Outcome {
        switch ConflictTable.resolution(of: step, error.code, .unknown) {
        case .confirm: try mount.catalog.write { try $0.confirmDeletion(item.id, defaults: mount.defaults) }
        case .keepLocal:
            try mount.catalog.write {
                try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision)
            }
        case .recreate: try mount.catalog.write { try $0.becomesUnconfirmed(item.id) }
        case .giveWay:
            try uploads.repeatedConflicts.check(item.inode, named: item.local?.name, at: mount.path(of: item))
            try mount.catalog.write { try $0.giveWay(item.id, to: error.trustedItem, defaults: mount.defaults) }
            mount.relabel(item.inode)
            if let name = try mount.catalog.read({ try $0.item(item.id)?.local?.name }) {
                uploads.repeatedConflicts.add(item.inode, from: item.local?.name, to: name)
            }
            if let inode = item.inode {
                let what = "the store has another item of this name; this one was renamed"
                reports.conflict(inode, at: mount.path(of: inode), what)
            }
        case .takeBackDeletion: try await takeBackDeletion(item, error)
        case .refreshFirst:
            guard let identifier = item.identifier else { throw error }
            // (The mismatch of a move may come from our own earlier move, whose reply was lost.)
            await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: nil).refresh(
                identifier, known: error.item, isOwn: true)
            let row = try mount.catalog.read { try $0.item(item.id) }
            if let row, step != .move || row.local != row.base { throw error }
        case .refreshFolder:
            if let parent {
                await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: nil).refresh(parent)
            }
            // The folder exists, but the item was refused all the same: try again after a pause.
            let folder = try parent.flatMap { parent in
                try mount.catalog.read { try $0.item(identifiedBy: parent) }
            }
            if folder != nil { throw error }
        case .listFolder:
            let folder = try item.local.flatMap { place in try mount.catalog.read { try $0.item(place.parent)?.inode }
            }
            if let folder { try await fetcher.fetch(folder, joining: false) }
            throw error
        case .keepBoth, nil: throw error
        }
        return .done
    }

    /// A part of a placeholder was changed here, and the store has replaced the version that the rest had to come from.
    /// The store's version is shown under its name; the bytes that are here are kept beside it.
    func partIncomplete(_ item: ItemRecord) async throws -> Outcome {
        guard let identifier = item.identifier else { throw SyncError.superseded }
        let current: Item
        do { current = try await self.current(nil, identifier) } catch {
            return try await settle(.uploadContents, item, error)
        }
        if current.version.content == item.baseVersion?.content { throw SyncError.superseded }
        try keepBoth(item, current)
        return .done
    }

    private func takeBackDeletion(_ item: ItemRecord, _ error: FileProviderError) async throws {
        guard let identifier = item.identifier else { return }
        let current = try await current(error, identifier)
        try mount.catalog.write { try $0.takeBackDeletion(item.id, current: current, defaults: mount.defaults) }
        if item.kind.isFolder, let inode = try mount.catalog.read({ try $0.item(item.id)?.inode }) {
            try await fetcher.fetch(inode, joining: false)
        }
    }

    /// Makes an item again in the store, with its folders, if the store deleted it, the deletion is held here, and the
    /// item was changed here: the change is a person's work. Returns whether that was so.
    func putBackHeld(_ item: ItemRecord) throws -> Bool {
        guard item.local != nil, try mount.catalog.read({ try $0.isHeld(item) }) else { return false }
        if try mount.catalog.write({ try $0.putBack(item.id) }) { return true }
        throw FileProviderError(
            .noSuchItem,
            "the store deleted it, and not all of its bytes are here; to delete it here too, run hydrant resolve --keep theirs"
        )
    }

    /// The store replaced a document while a program had it open, and the program's bytes were put aside as a copy. If
    /// these bytes equal the store's (we learn of a program's close only a moment later), there is no conflict: removes
    /// the copy and returns true.
    func isTheStoresByNow(_ item: ItemRecord, _ prepared: Prepared) async throws -> Bool {
        guard let copy = item.inode,
            let conflict = try mount.catalog.read({ try $0.conflicts(of: copy) }).first(where: {
                $0.copy == copy && $0.reason == .replacedWhileWritten
            }),
            let original = try mount.catalog.read({ try $0.item(conflict.original) }),
            let identifier = original.identifier, original.remoteFacts.size == prepared.source.size,
            // (A later change made here would replace the store's version.)
            original.contentRevision == 0, mount.volume?.isOpen(copy) != true
        else { return false }
        do {
            let there = try await placeholder(identifier, original)
            guard try await compare(there, item, prepared) == .same else { return false }
            try mount.catalog.write { try $0.removeCopy(conflict) }
            mount.logger.info(
                "no conflict: both sides wrote the same", metadata: ["item": "\(mount.path(of: original))"])
            return true
        } catch is CatalogError {
            // The document is being written again, or somebody has resolved the conflict.
            return false
        } catch let error as FileProviderError {
            if error.code == .noSuchItem { return false }
            throw error
        }
    }

    func placeholder(_ identifier: ItemIdentifier, _ item: ItemRecord?) async throws(FileProviderError) -> Item {
        try await client.placeholder(
            for: identifier, at: item.map { mount.path(of: $0) } ?? mount.path(of: identifier))
    }

    /// Whether the provider's item is what we meant to put there.
    func compare(_ there: Item, _ item: ItemRecord, _ prepared: Prepared?) async throws -> ConflictTable.Found {
        switch (item.kind, there.kind) {
        case (.folder, .folder): return .same
        case (.symbolicLink(let mine), .symbolicLink(let theirs)): return mine == theirs ? .same : .different
        case (.document, .document):
            guard let prepared else { return .different }
            let sent = try await prepared.source.digest.value
            return try await comparison.matches(there, sent)
                ? .same : .different
        default: return .different
        }
    }

    /// Whether the provider has the contents of an earlier attempt that seemed to have failed.
    func isOfAnEarlierAttempt(_ there: Item, _ item: ItemRecord) async throws -> Bool {
        // (Contents that are no longer to be sent would never replace them.)
        guard there.kind.isDocument, item.contentRevision != 0 else { return false }
        let sent = try mount.catalog.read { try $0.item(item.id)?.sent } ?? []
        return try await comparison.matches(
            there, anyOf: sent)
    }

    /// Whether the store has the contents that we sent, without a reply (a killed daemon), before the document was
    /// deleted here: then nobody else has changed it.
    func isLostUpload(_ there: Item, _ item: ItemRecord) async throws -> Bool {
        guard item.kind.isDocument, there.parentIdentifier == (try parentIdentifier(item)),
            there.filename == item.remote?.name
        else { return false }
        return try await comparison.matches(
            there, anyOf: item.sent)
    }

    /// Refuses a mismatch when the store has exactly the version that the change started from: nobody has changed
    /// anything, and the store was unsure for a moment (a weak ETag, RFC 9110, 8.8.1). Asked again after a pause.
    func refuseBaseless(_ current: Item, _ item: ItemRecord, _ base: ItemVersion) throws(FileProviderError) {
        guard current.version == base else { return }
        throw FileProviderError(
            .busy,
            "\(mount.path(of: item)): the store reported another version, but still has the version that the change "
                + "started from")
    }

    private func parentIdentifier(_ item: ItemRecord) throws -> ItemIdentifier? {
        guard let parent = item.remote?.parent else { return nil }
        return try mount.catalog.read { try $0.item(parent)?.identifier }
    }

    func keepBoth(_ item: ItemRecord, _ current: Item) throws {
        let path = mount.path(of: item)
        try uploads.repeatedConflicts.check(item.inode, named: item.local?.name, at: path)
        let copy = try mount.catalog.write { try $0.keepBoth(item.id, current: current, defaults: mount.defaults) }
        guard let copy else { return }
        uploads.repeatedConflicts.add(item.inode, from: item.local?.name, to: copy)
        mount.relabel(item.inode)
        let what = "changed here and in the store; the store's version is kept as \(path)"
        reports.conflict(item.inode, at: item.inode.map { mount.path(of: $0) } ?? path, what)
        mount.logger.warning(
            "conflict: both versions are kept", metadata: ["item": "\(path)", "local version": "\(copy)"])
    }
}
