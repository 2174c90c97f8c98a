import FileProvider
import ItemCatalog
import Logging
import Trees

/// Asks a provider what changed since the anchor that the catalog has, page by page.
struct ChangeFeed: Sendable {
    let context: SyncContext
    let fetcher: FolderFetcher
    /// A provider whose pages never end is cut off here.
    private static let mostPages = 100_000
    private static let mostItems = 5_000_000

    /// Takes the changes into the catalog.
    ///
    /// - Returns: nil when all of them are there; else everything is to be listed anew, and when that is done this
    ///   anchor kept, which is from before.
    func catchUp() async throws -> SyncAnchor? {
        guard var anchor = try context.catalog.read({ try $0.syncAnchor() }) else { return try await present() }
        // Anchors may be large.
        var seen: Set<Int> = [anchor.hashValue]
        var items = 0
        var run = Run()
        while true {
            var page: ChangePage
            let moment = context.ownChanges.ask()
            defer { context.ownChanges.answered() }
            do {
                page = try await context.client.changes(since: anchor)
            } catch {
                guard error.code == .syncAnchorExpired else { throw error }
                context.logger.info("the store does not remember what changed: everything is listed anew")
                return try await present()
            }
            context.logger.debug(
                "enumerateChanges",
                metadata: ["updated": "\(page.updated.count)", "deleted": "\(page.deleted.count)"])
            items += page.updated.count + page.deleted.count
            try run.add(&page, context.catalog)
            if !page.updated.isEmpty || !page.deleted.isEmpty || page.anchor != anchor {
                try await take(page, run, since: moment)
            }
            anchor = page.anchor
            guard page.hasMore else { return nil }
            guard seen.insert(anchor.hashValue).inserted, seen.count < Self.mostPages, items < Self.mostItems else {
                context.logger.error(
                    "the provider's changes do not end: everything is listed anew; report it to its author")
                return try await present()
            }
        }
    }

    /// What one page leaves to a later one.
    private struct Run {
        /// Folders that are gone: what has moved out of them may be told later, and is not gone with them.
        var deleted: [ItemIdentifier] = []
        /// Two that change places may be told on two pages.
        var updated: [ItemIdentifier] = []
        /// Without it, the next run begins before what was left.
        var keepsAnchor: Bool { deleted.isEmpty }

        mutating func add(_ page: inout ChangePage, _ catalog: Catalog) throws {
            let news = Set(page.updated.map(\.identifier))
            deleted.removeAll { news.contains($0) }
            if page.hasMore {
                let folders = try catalog.read { reader in
                    Set(try page.deleted.filter { try reader.item(identifiedBy: $0)?.kind.isFolder == true })
                        .subtracting(news)
                }
                deleted += folders
                updated += page.updated.map(\.identifier)
                page.deleted.removeAll { folders.contains($0) }
            } else {
                page.deleted += deleted
                deleted = []
            }
        }
    }

    private func present() async throws -> SyncAnchor {
        try await context.client.currentAnchor()
    }

    /// One page and its anchor, in one transaction.
    private func take(_ page: ChangePage, _ run: Run, since moment: UInt64) async throws {
        let above = try await Ancestors(context: context).find(for: page.updated)
        // A first listing under way may be from before the page, which tells nothing of folders that are not listed.
        let underWay = await fetcher.foldersUnderWay
        let result = try context.takeRemoteChange { writer in
            let (updated, halfMade) = try context.ownChanges.withoutHalfMade(page.updated, since: moment, writer)
            var result = try writer.mergeChanges(
                updated: updated + above.folders, deleted: page.deleted, showing: above.shown,
                settling: page.hasMore ? [] : run.updated,
                // Asked inside the transaction: what is confirmed after it is not undone by it.
                ignoring: context.ownChanges.since(moment), defaults: context.defaults)
            result.missing += halfMade
            if run.keepsAnchor { try writer.takeSyncAnchor(page.anchor) }
            return result
        }
        for (name, reason) in result.refused {
            context.logger.warning(
                "an item of the provider's cannot be shown", metadata: ["name": "\(name)", "reason": "\(reason)"])
        }
        for identifier in result.missing { context.recheck(.item(identifier)) }
        for folder in underWay {
            do { try await fetcher.fetch(folder, joining: false) } catch {
                let item = try context.catalog.read { try $0.item(of: folder) }
                if let identifier = item?.identifier { context.recheck(.folder(identifier)) }
            }
        }
    }
}
