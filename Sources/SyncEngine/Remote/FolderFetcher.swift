import FileProvider
import ItemCatalog
import Logging

/// Fetches folders' listings; callers that want the same folder at once share one fetch.
actor FolderFetcher {
    private let context: SyncContext
    private var running: [InodeID: Task<Result<Void, SyncError>, Never>] = [:]

    init(context: SyncContext) {
        self.context = context
    }

    /// Returns when the folder's listing, as the store has it after this call began, is in the catalog.
    ///
    /// - Parameter joining: a fetch that is already under way will do (a first look).
    func fetch(_ folder: InodeID, joining: Bool) async throws(SyncError) {
        if let task = running[folder] {
            let result = await task.value
            if joining { return try result.get() }
            // Whoever began that one may not have been resumed yet to take it out of the table.
            if let newer = running[folder], newer != task { return try await newer.value.get() }
        }
        let task = Task(executorPreference: context.workers) { [context] () -> Result<Void, SyncError> in
            do {
                try await FolderListing(context: context).fetch(folder)
                return .success(())
            } catch {
                return .failure(SyncError(error))
            }
        }
        running[folder] = task
        let result = await task.value
        if running[folder] == task { running[folder] = nil }
        try result.get()
    }
}

/// One fetch of one folder.
private struct FolderListing: Sendable {
    let context: SyncContext
    /// A provider whose pages never end is cut off here.
    static let mostItems = 5_000_000

    func fetch(_ folder: InodeID) async throws {
        guard let identifier = try context.catalog.read({ try $0.item(of: folder)?.identifier }) else { return }
        let moment = context.ownChanges.ask()
        defer { context.ownChanges.answered() }
        let items = try await pages(of: identifier)
        // Most listings say nothing new: no need to hold up the writers for those.
        let isUnchanged = try context.catalog.read { reader in
            guard let row = try reader.item(of: folder), try reader.inode(folder).isEnumerated else { return false }
            return try reader.difference(of: row.id, items, ignoring: context.ownChanges.since(moment)).isEmpty
        }
        if isUnchanged { return }
        let result = try context.change { writer in
            // Asked inside the transaction: what is confirmed after it is not undone by it.
            let ignored = context.ownChanges.since(moment)
            return try writer.mergeListing(of: folder, items, ignoring: ignored, defaults: context.defaults)
        }
        for (name, reason) in result.refused {
            context.logger.warning(
                "an item of the provider's cannot be shown", metadata: ["name": "\(name)", "reason": "\(reason)"])
        }
        let refresh = RemoteRefresh(context: context, fetcher: nil)
        for identifier in result.missing { await refresh.refresh(identifier) }
    }

    private func pages(of identifier: ItemIdentifier) async throws -> [Item] {
        var items: [Item] = []
        var page: Page?
        var seen: Set<Page> = []
        repeat {
            let answer = try await context.provider.enumerateItems(in: identifier, startingAt: page)
            items += answer.items
            page = answer.nextPage
            if let page, !seen.insert(page).inserted || items.count > Self.mostItems {
                throw FileProviderError(
                    .cannotSynchronize, "the provider's listing of \(identifier) does not end; report it to its author")
            }
        } while page != nil
        context.logger.debug(
            "enumerateItems", metadata: ["identifier": "\(identifier)", "items": "\(items.count)"])
        return items
    }
}
