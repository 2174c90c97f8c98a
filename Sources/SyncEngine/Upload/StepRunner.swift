import ContentStore
import FileProvider
import Foundation
import ItemCatalog
import Logging
import Trees

/// Takes one step at the provider and records the outcome in the catalog.
struct StepRunner: Sendable {
    let mount: MountState
    let client: StoreClient
    let remote: RemoteState
    let uploads: UploadState
    let reports: EventReports
    let transfers: Transfers
    let given: GivenThumbnails
    let quota: QuotaKeeper
    let downloader: Downloader
    let fetcher: FolderFetcher

    var comparison: RemoteComparison { RemoteComparison(mount: mount, client: client, transfers: transfers) }
    var listing: FolderListing { FolderListing(mount: mount, client: client, remote: remote) }

    enum Outcome: Sendable {
        /// The trees have changed: plan again.
        case done
        /// Not possible now (a writer is at work, the file changed under the snapshot): try again soon.
        case postponed
        case failed(FileProviderError.Code?)
        /// The step failed, and the catalog could not be written: try again after these seconds.
        case unrecorded(Double)
    }

    func run(_ planned: Planner.Planned) async -> Outcome {
        let item = planned.pending.item
        // A program still reads the old version, and not all of its bytes are here.
        if mount.isHeld(item.identifier), planned.step == .delete || planned.step == .uploadContents {
            return .postponed
        }
        // While the rest of a document is downloaded before its upload, the store's answers about it are valid.
        let begun = planned.step == .uploadContents ? nil : item.identifier
        remote.ownChanges.begin(begun)
        defer { remote.ownChanges.end(begun) }
        do {
            if try putBackHeld(item) { return .done }
            try await openFolders(of: planned) { $0.metadataRevision != 0 }
            let outcome = try await take(planned)
            if case .done = outcome { try resendFolder(of: planned) }
            return outcome
        } catch {
            let error = SyncError(error)
            if case .provider(let failure) = error, failure.code == .permissionDenied {
                if (try? await openFolders(of: planned) { _ in true }) == true { return .done }
                // At once, and once only: a store that refuses for another reason would be asked without end.
                if (try? await openFolders(of: planned, trusting: false) { _ in true }) == true,
                    let outcome = try? await take(planned)
                {
                    return outcome
                }
            }
            return record(error, of: planned)
        }
    }

    private func take(_ planned: Planner.Planned) async throws -> Outcome {
        let item = planned.pending.item
        switch planned.step {
        case .forget: try mount.catalog.write { try $0.confirmDeletion(item.id, defaults: mount.defaults) }
        case .findCreation: try await findCreation(item)
        case .create: return try await create(planned.pending)
        case .uploadContents: return try await uploadContents(item)
        case .move(let place): return try await move(planned.pending, to: place)
        case .moveAside: return try await moveAside(item)
        case .updateMetadata: return try await updateMetadata(item)
        case .delete: return try await delete(item)
        case .takeBackDeletion:
            try mount.catalog.write { try $0.takeBackDeletion(item.id, current: nil, defaults: mount.defaults) }
        case .takeBackMove:
            mount.logger.warning(
                "a move is undone: the store has moved the target folder into the moved folder",
                metadata: ["item": "\(mount.path(of: item))"])
            try mount.catalog.write { try $0.takeBackMove(item.id, defaults: mount.defaults) }
        }
        return .done
    }

    /// Records the failure. The change is never dropped; it is tried again later.
    private func record(_ error: SyncError, of planned: Planner.Planned) -> Outcome {
        let item = planned.pending.item
        if case .cancelled = error { return .postponed }
        // A program is writing the document.
        if case .content(let failure) = error, failure.code == .changed { return .postponed }
        var code: FileProviderError.Code?
        if case .provider(let failure) = error { code = failure.code }
        let isAway = code.map { StoreConnection.isAway($0) } ?? false
        let isAlone = isAway && uploads.loneFailures.failed(item.id) > 0
        if !isAway { uploads.loneFailures.ended(item.id) }
        let delay = RetryDelay.seconds(after: item.failure?.attempts ?? 0, code, mount.times, isAlone: isAlone)
        let next = FailureTable.next(sending: code?.description, inSeconds: delay)
        mount.logger.warning(
            "a change could not be sent",
            metadata: [
                "item": "\(mount.path(of: item))", "step": "\(planned.step)", "error": "\(explanation(error))",
                "next": "\(next)",
            ])
        reports.failure(error, at: mount.path(of: item), item.identifier, next: next)
        do {
            try mount.catalog.write {
                try $0.recordFailure(
                    item.id, code: code?.description ?? "local", message: explanation(error),
                    retryAt: mount.clock.date.adding(seconds: delay))
            }
            return .failed(code)
        } catch {
            mount.logger.error(
                "cannot record that a change could not be sent",
                metadata: ["item": "\(mount.path(of: item))", "error": "\(error)"])
            return .unrecorded(delay)
        }
    }

    // MARK: Steps

    private func uploadContents(_ item: ItemRecord) async throws -> Outcome {
        let ready: Prepared?
        do { ready = try await prepare(item) } catch SyncError.superseded { return try await partIncomplete(item) }
        guard let prepared = ready, let identifier = item.identifier, let base = item.baseVersion else {
            return .postponed
        }
        defer { prepared.source.digest.cancel() }
        remote.ownChanges.begin(identifier)
        defer { remote.ownChanges.end(identifier) }
        // The store's answers about the item were taken until now.
        guard let now = try mount.catalog.read({ try $0.item(item.id) }), now.baseVersion == base,
            now.contentRevision == prepared.contentRevision
        else { return .postponed }
        if try keepDamagedApart(item) { return .done }
        if let there = try await wasSentByOthers(item, prepared) {
            try confirmContents(item, there, prepared.found(as: there))
            return .done
        }
        do {
            let changed = try await sending(item, prepared.source) { source async throws(FileProviderError) in
                try await client.itemChanged(
                    identifier, contents: source, metadata: prepared.metadata, baseVersion: base,
                    at: mount.path(of: item))
            }
            try check(changed, to: item, size: prepared.source.size)
            try confirmContents(item, changed, prepared)
        } catch let error as FileProviderError {
            if error.code == .noSuchItem { try await checkGone(identifier, item) }
            guard error.code == .versionMismatch else { return try await settle(.uploadContents, item, error) }
            let current = try await current(error, identifier)
            try refuseBaseless(current, item, base)
            let found = try await compare(current, item, prepared)
            if ConflictTable.resolution(of: .uploadContents, error.code, found) == .confirm {
                try confirmContents(item, current, prepared.found(as: current))
            } else if try await isOfAnEarlierAttempt(current, item) {
                // Later local changes stay pending, based on this version.
                try mount.catalog.write {
                    try $0.confirmContents(item.id, as: current, contentRevision: -1, metadataRevision: -1)
                }
            } else {
                try keepBoth(item, current)
            }
        }
        return .done
    }

    private func confirmContents(_ item: ItemRecord, _ changed: Item, _ prepared: Prepared) throws {
        try mount.catalog.write {
            try $0.confirmContents(
                item.id, as: changed, contentRevision: prepared.contentRevision,
                metadataRevision: prepared.metadataRevision)
            if prepared.hasOtherMetadata { try $0.takeMetadata(item.id, defaults: mount.defaults) }
            try mount.relabel(item.inode, in: $0)
        }
        given.confirmed(item.id, prepared.contentRevision, as: changed.version.content)
        uploads.repeatedConflicts.ended(item.inode)
    }

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
        defer { prepared?.source.digest.cancel() }
        let (inode, wish) = try mount.catalog.read { (try $0.inode(inodeID), try $0.favoriteWish(of: inodeID)) }
        var facts = try prepared?.metadata ?? metadata(of: inode, item)
        let isFilled = try item.kind.isFolder && fillsLater(item, inode)
        if isFilled { facts.posixPermissions? |= Self.ownersAll }
        let template = ItemTemplate(
            parentIdentifier: parent, filename: local.name, kind: item.kind,
            contentModificationDate: facts.contentModificationDate, posixPermissions: facts.posixPermissions,
            extendedAttributes: facts.extendedAttributes, setID: facts.setID)
        if let prepared {
            if try await isTheStoresByNow(item, prepared) { return .done }
        } else {
            guard try mount.catalog.write({ try $0.recordAttempt(item.id, at: local) }) else { return .postponed }
        }
        let last = try mount.catalog.read { try $0.lastItem() }
        do {
            var created = try await make(item, template, prepared)
            try check(created, to: item, size: prepared?.source.size)
            // If the item is elsewhere all the same, a listing will show it.
            created.parentIdentifier = parent
            uploads.creations.note(created.identifier)
            // A listing met the item before the reply came, and may be newer than the reply.
            if try confirmCreation(
                item, created, prepared, keepsMetadata: isFilled || wish != nil, asked: last)
            {
                await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: fetcher).refresh(
                    created.identifier)
            }
        } catch let error as FileProviderError {
            guard error.code == .filenameCollision, let existing = error.trustedItem else {
                return try await settle(.create, item, error, parent: parent)
            }
            // The name now belongs to another item, which was moved there in the store: not ours, whatever its
            // contents.
            if try mount.catalog.read({ try $0.item(identifiedBy: existing.identifier)?.inode != nil }) {
                try keepBoth(item, existing)
                return .done
            }
            let found = try await compare(existing, item, prepared)
            if ConflictTable.resolution(of: .create, error.code, found) == .confirm {
                try confirmCreation(item, existing, prepared?.found(as: existing), isFound: true)
                if item.kind.isFolder { try await fetcher.fetch(inodeID, joining: false) }
            } else if try await isOfAnEarlierAttempt(existing, item) {
                let isConfirmed = try mount.catalog.write {
                    try $0.confirmCreation(item.id, as: existing, contentRevision: -1, metadataRevision: -1)
                }
                if !isConfirmed { throw refusal(item, "its identifier is that of another item") }
            } else {
                try keepBoth(item, existing)
            }
        }
        return .done
    }

    /// - Parameters:
    ///   - isFound: the item was there already: the metadata of such a folder or link is unknown.
    ///   - keepsMetadata: its mode and date are still to be sent.
    ///   - asked: the last item in the catalog when the store was asked.
    /// - Returns: whether the item had an identifier already.
    @discardableResult
    private func confirmCreation(
        _ item: ItemRecord, _ created: Item, _ prepared: Prepared?, isFound: Bool = false, keepsMetadata: Bool = false,
        asked: ItemID? = nil
    ) throws -> Bool {
        remote.ownChanges.made(created.identifier)
        let (isConfirmed, wasMet) = try mount.catalog.write {
            let wasMet = try $0.item(item.id)?.identifier != nil
            let isConfirmed = try $0.confirmCreation(
                item.id, as: created, contentRevision: prepared?.contentRevision ?? item.contentRevision,
                metadataRevision: prepared?.metadataRevision ?? (isFound || keepsMetadata ? -1 : item.metadataRevision),
                sent: item.local, asked: asked, defaults: mount.defaults)
            if prepared?.hasOtherMetadata ?? isFound { try $0.takeMetadata(item.id, defaults: mount.defaults) }
            if isConfirmed { try mount.relabel(item.inode, in: $0) }
            return (isConfirmed, wasMet)
        }
        // A refusal, so that the step is not repeated at once and for ever.
        guard isConfirmed else {
            throw refusal(item, "its identifier is that of another item, or its folder is unknown")
        }
        if let prepared {
            given.confirmed(item.id, prepared.contentRevision, as: created.version.content)
        }
        uploads.repeatedConflicts.ended(item.inode)
        return wasMet
    }

    private func move(_ pending: PendingItem, to place: TreePlace) async throws -> Outcome {
        let item = pending.item
        guard let parent = pending.parentIdentifier, let identifier = item.identifier, let base = item.baseVersion
        else { return .done }
        do {
            let moved = try await client.moveItem(
                identifier, to: parent, as: place.name, baseVersion: base, at: mount.path(of: item))
            try check(moved, to: item)
            let reidentified = moved.identifier != identifier
            try mount.catalog.write {
                try $0.confirmMove(item.id, as: moved, sent: place, defaults: mount.defaults)
            }
            if reidentified, item.kind.isFolder, let inode = item.inode {
                try await fetcher.fetch(inode, joining: false)
            }
        } catch let error as FileProviderError {
            return try await settle(.move, item, error)
        }
        return .done
    }

    /// Moves the item to an unused name, so that a cycle of moves can begin.
    private func moveAside(_ item: ItemRecord) async throws -> Outcome {
        guard let identifier = item.identifier, let base = item.baseVersion, let place = item.base,
            let folder = try mount.catalog.read({ try $0.item(place.parent)?.identifier })
        else { return .done }
        let name = Filename("moving-\(item.id.rawValue)-\(mount.clock.date.nanoseconds)")
        do {
            let moved = try await client.moveItem(
                identifier, to: folder, as: name, baseVersion: base, at: mount.path(of: item))
            try check(moved, to: item)
            try mount.catalog.write {
                try $0.confirmMove(
                    item.id, as: moved, sent: TreePlace(parent: place.parent, name: name), defaults: mount.defaults)
            }
        } catch let error as FileProviderError {
            // An earlier attempt whose reply was lost may have moved the item already.
            return try await settle(.move, item, error)
        }
        return .done
    }

    private func updateMetadata(_ item: ItemRecord) async throws -> Outcome {
        guard let identifier = item.identifier, var base = item.baseVersion, let inodeID = item.inode else {
            return .done
        }
        do {
            let (inode, wish) = try mount.catalog.read { (try $0.inode(inodeID), try $0.favoriteWish(of: inodeID)) }
            if let wish {
                try await setFavorite(wish, identifier, item)
                // Where the store keeps no dates and modes, they stay on this machine.
                if !client.updatesMetadata { return .done }
                base = try mount.catalog.read { try $0.item(item.id)?.baseVersion } ?? base
            }
            let facts = try metadata(of: inode, item)
            let updated = try await client.updateMetadata(
                identifier, to: facts, baseVersion: base, at: mount.path(of: item))
            try check(updated, to: item)
            try mount.catalog.write {
                try $0.confirmContents(
                    item.id, as: updated, contentRevision: -1, metadataRevision: item.metadataRevision)
            }
        } catch let error as FileProviderError {
            return try await settle(.updateMetadata, item, error)
        }
        return .done
    }

    /// Sends a program's wish for the store's mark. The answer may have other contents than those here: it is taken
    /// like any other report of the store.
    private func setFavorite(_ wish: Bool, _ identifier: ItemIdentifier, _ item: ItemRecord) async throws {
        if wish != item.remoteFacts.isFavorite {
            let updated = try await client.setFavorite(wish, of: identifier, at: mount.path(of: item))
            try check(updated, to: item)
            await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: nil).refresh(
                identifier, known: updated, isOwn: true)
        }
        guard !client.updatesMetadata else { return }
        try mount.catalog.write { try $0.keepMetadataLocal(item.id, metadataRevision: item.metadataRevision) }
    }

    private func delete(_ item: ItemRecord) async throws -> Outcome {
        guard let identifier = item.identifier, let base = item.baseVersion ?? item.remoteVersion else { return .done }
        do {
            try uploads.makeDurable(item.readyAt)
            do throws(FileProviderError) { try await remove(item, identifier, base) } catch {
                if error.code == .noSuchItem { try await checkGone(identifier, item) }
                guard error.code == .versionMismatch else { throw error }
                let current = try await current(error, identifier)
                try refuseBaseless(current, item, base)
                guard try await isLostUpload(current, item) else { throw error }
                try await remove(item, identifier, current.version)
            }
            try mount.catalog.write { try $0.confirmDeletion(item.id, defaults: mount.defaults) }
        } catch let error as FileProviderError {
            return try await settle(.delete, item, error)
        }
        return .done
    }

    /// Deletes the item, to the store's trash where there is one.
    private func remove(_ item: ItemRecord, _ identifier: ItemIdentifier, _ base: ItemVersion)
        async throws(FileProviderError)
    {
        try await client.deleteItem(
            identifier, baseVersion: base,
            toTrash: !uploads.creations.isRecent(identifier, seconds: mount.times.briefLife),
            at: mount.path(of: item))
    }
}
