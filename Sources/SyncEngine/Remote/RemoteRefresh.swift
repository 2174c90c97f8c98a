import FileProvider
import ItemCatalog
import Logging

/// Asks the provider for one item again and takes the answer into the catalog.
struct RemoteRefresh: Sendable {
    let context: SyncContext
    /// Asked for the folder before an item that is gone goes here as well: another may have taken its name
    /// (a save by rename at the store), and then one gives way to the other at once. Nil in a listing.
    let fetcher: FolderFetcher?

    /// - Parameters:
    ///   - known: what the provider just said of it, if it did.
    ///   - isOwn: asked by the very step that is changing the item: no other change can be under way.
    func refresh(_ identifier: ItemIdentifier, known: Item? = nil, isOwn: Bool = false) async {
        let moment = context.ownChanges.ask()
        defer { context.ownChanges.answered() }
        let answer = await ask(identifier, known: known)
        // With a change of our own meanwhile, the answer may be from before it; what the provider says in
        // reply to that change is taken instead.
        if known == nil, !isOwn, context.ownChanges.since(moment).contains(identifier) { return }
        if case .failure(.provider(let error)) = answer, error.code == .noSuchItem, let fetcher,
            let folder = folder(of: identifier)
        {
            // The listing finds it missing, and asks for it once more.
            try? await fetcher.fetch(folder, joining: false)
            return
        }
        take(answer, identifier)
    }

    private func folder(of identifier: ItemIdentifier) -> InodeID? {
        let folder = try? context.catalog.read { reader in
            try reader.item(identifiedBy: identifier)?.remote.flatMap { try reader.item($0.parent) }?.inode
        }
        return folder ?? nil
    }

    private func ask(_ identifier: ItemIdentifier, known: Item?) async -> Result<Item, SyncError> {
        if let known, known.identifier == identifier { return .success(known) }
        context.logger.debug("providePlaceholder", metadata: ["identifier": "\(identifier)"])
        do { return .success(try await context.provider.providePlaceholder(for: identifier)) } catch {
            return .failure(SyncError(error))
        }
    }

    private func take(_ answer: Result<Item, SyncError>, _ identifier: ItemIdentifier) {
        do {
            let item = try answer.get()
            guard item.identifier == identifier else { return }
            try take(item)
        } catch {
            let error = SyncError(error)
            if case .provider(let failure) = error, failure.code == .noSuchItem {
                // The store answered: it is gone.
                _ = try? context.change { try $0.mergeDeletion(of: identifier, defaults: context.defaults) }
            } else {
                context.logger.debug("refresh failed", metadata: ["identifier": "\(identifier)", "error": "\(error)"])
            }
        }
    }

    private func take(_ item: Item) throws(CatalogError) {
        let parentIsKnown = try context.catalog.read { try $0.item(identifiedBy: item.parentIdentifier) } != nil
        try context.change { writer in
            if parentIsKnown {
                try writer.mergeItem(item, defaults: context.defaults)
            } else {
                // It moved to where nobody has looked yet, and is found there when somebody does.
                try writer.mergeDeletion(of: item.identifier, defaults: context.defaults)
            }
        }
    }
}
