import FileProvider
import ItemCatalog
import Logging
import Trees

/// Asks the provider for one item again and takes the answer into the catalog.
struct RemoteRefresh: Sendable {
    let mount: MountState
    let client: StoreClient
    let remote: RemoteState
    /// Fetches the folder before an item that is gone is deleted here: another item may have taken the name (a save by
    /// rename at the store), and then the two are exchanged at once. Nil in a listing.
    let fetcher: FolderFetcher?

    /// Asks for an item. If the answer cannot be had now, asks again later.
    ///
    /// - Parameters:
    ///   - known: the provider's answer, if it just gave one.
    ///   - isOwn: asked by the very step that is changing the item: no other change can be under way.
    func refresh(_ identifier: ItemIdentifier, known: Item? = nil, isOwn: Bool = false) async {
        do { try await take(identifier, known: known, isOwn: isOwn) } catch {
            let error = SyncError(error)
            mount.logger.debug("refresh failed", metadata: ["identifier": "\(identifier)", "error": "\(error)"])
            if error.mayPass { remote.recheck(.item(identifier), error) }
        }
    }

    /// - Throws: when the item's state cannot be known now.
    func take(_ identifier: ItemIdentifier, known: Item? = nil, isOwn: Bool = false) async throws {
        guard try await isGone(identifier, known: known, isOwn: isOwn) else { return }
        if let fetcher, let folder = try folder(of: identifier) {
            // The listing finds the item missing, and asks for it once more.
            try await fetcher.fetch(folder, joining: false)
            return
        }
        // No listing shows whether the store was just away: ask again.
        guard try await isGone(identifier, known: nil, isOwn: isOwn) else { return }
        try remote.takeChange { try $0.mergeDeletion(of: identifier, defaults: mount.defaults) }
    }

    /// Asks at once for items that a listing missed: a provider that has to search its store for lost items needs to
    /// search once. Merges all deletions together, because their number decides how they are treated.
    func refresh(_ identifiers: [ItemIdentifier]) async {
        if identifiers.isEmpty { return }
        let moment = remote.ownChanges.ask()
        defer { remote.ownChanges.answered() }
        var gone: [ItemIdentifier] = []
        await withTaskGroup(of: ItemIdentifier?.self) { group in
            for (index, identifier) in identifiers.enumerated() {
                if index >= 256, case .some(.some(let found)) = await group.next() { gone.append(found) }
                group.addTask {
                    do { return try await isGone(identifier, known: nil, isOwn: false) ? identifier : nil } catch {
                        let error = SyncError(error)
                        if error.mayPass { remote.recheck(.item(identifier), error) }
                        return nil
                    }
                }
            }
            for await found in group { if let found { gone.append(found) } }
        }
        if gone.isEmpty { return }
        do {
            let uncertain = try remote.takeChange { writer in
                // We may have made the item again since asking.
                let own = try gone.filter { try remote.ownChanges.mayHide($0, since: moment, writer) }
                try writer.mergeDeletions(of: gone.filter { !own.contains($0) }, defaults: mount.defaults)
                return own
            }
            for identifier in uncertain { remote.recheck(.item(identifier)) }
        } catch {
            for identifier in gone { remote.recheck(.item(identifier), SyncError(error)) }
        }
    }

    /// Asks for an item and takes the answer. Returns whether the store has no such item.
    private func isGone(_ identifier: ItemIdentifier, known: Item?, isOwn: Bool) async throws -> Bool {
        let moment = remote.ownChanges.ask()
        defer { remote.ownChanges.answered() }
        let answer: Item
        do { answer = try await ask(identifier, known: known) } catch {
            guard error.code == .noSuchItem else { throw error }
            if mayBeOutdated(identifier, since: moment, known: known, isOwn: isOwn) { throw Self.busy(identifier) }
            guard !isOwn else { return true }
            if try mount.catalog.read({ try remote.ownChanges.mayHide(identifier, since: moment, $0) }) {
                throw FileProviderError(.busy, "\(identifier): this machine is moving a folder above it")
            }
            return true
        }
        guard answer.identifier == identifier else { return false }
        // Asked inside the transaction, so that changes confirmed before it are not undone by it.
        let isTaken = try await take(answer) { !mayBeOutdated(identifier, since: moment, known: known, isOwn: isOwn) }
        guard isTaken else { throw Self.busy(identifier) }
        return false
    }

    /// Whether we changed the item meanwhile, so that the answer may be from before the change.
    private func mayBeOutdated(_ identifier: ItemIdentifier, since moment: UInt64, known: Item?, isOwn: Bool) -> Bool {
        known == nil && !isOwn && remote.ownChanges.since(moment).contains(identifier)
    }

    private static func busy(_ identifier: ItemIdentifier) -> FileProviderError {
        FileProviderError(.busy, "\(identifier): this machine is changing it")
    }

    private func folder(of identifier: ItemIdentifier) throws -> InodeID? {
        try mount.catalog.read { reader in
            let parent = try reader.item(identifiedBy: identifier)?.remote.flatMap { try reader.item($0.parent) }
            // An item shown in an unlisted folder is no reason to list that folder.
            return try parent?.inode.flatMap { try reader.inodeIfPresent($0) }.flatMap { $0.isEnumerated ? $0.id : nil }
        }
    }

    private func ask(_ identifier: ItemIdentifier, known: Item?) async throws(FileProviderError) -> Item {
        if let known, known.identifier == identifier { return known }
        return try await client.placeholder(for: identifier, at: mount.path(of: identifier))
    }

    /// - Returns: false: the answer is no longer certain, and nothing was taken.
    private func take(_ item: Item, if isCertain: () -> Bool) async throws -> Bool {
        let parentIsKnown = try mount.catalog.read { try $0.item(identifiedBy: item.parentIdentifier) } != nil
        // The item may have moved into a folder that is not listed yet.
        let above =
            parentIsKnown ? Ancestors.Found() : try await Ancestors(mount: mount, client: client).find(for: [item])
        return try remote.takeChange { writer in
            guard isCertain() else { return false }
            if try writer.item(identifiedBy: item.parentIdentifier) != nil {
                try writer.mergeItem(item, defaults: mount.defaults)
                return true
            }
            let result = try writer.mergeChanges(
                updated: above.folders + [item], deleted: [], showing: above.shown, defaults: mount.defaults)
            // The provider does not say where that is: the item is found when its folder is listed.
            if result.missing.contains(item.identifier) {
                try writer.mergeDeletions(of: [item.identifier], mayHold: false, defaults: mount.defaults)
            }
            return true
        }
    }
}
