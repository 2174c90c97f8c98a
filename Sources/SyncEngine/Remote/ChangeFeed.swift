import FileProvider
import ItemCatalog
import Logging
import Trees

/// Asks a provider page by page what changed since the catalog's anchor.
struct ChangeFeed: Sendable {
    let mount: MountState
    let client: StoreClient
    let remote: RemoteState
    let fetcher: FolderFetcher
    /// A provider whose pages never end is cut off here.
    private static let mostPages = 100_000
    private static let mostItems = 5_000_000

    /// Takes the changes into the catalog.
    ///
    /// - Returns: nil when the catalog has them all; otherwise list everything, then keep this anchor, which is from
    ///   before the listing.
    func catchUp() async throws -> SyncAnchor? {
        guard var anchor = try mount.catalog.read({ try $0.syncAnchor() }) else { return try await present() }
        // Hashes only: anchors may be large.
        var seen: Set<Int> = [anchor.hashValue]
        var items = 0
        var run = Run()
        while true {
            var page: ChangePage
            let moment = remote.ownChanges.ask()
            defer { remote.ownChanges.answered() }
            do {
                page = try await client.changes(since: anchor)
            } catch {
                guard error.code == .syncAnchorExpired else { throw error }
                mount.logger.info("the sync anchor has expired: all folders are listed again")
                return try await present()
            }
            mount.logger.debug(
                "enumerateChanges",
                metadata: ["updated": "\(page.updated.count)", "deleted": "\(page.deleted.count)"])
            items += page.updated.count + page.deleted.count
            try run.add(&page, mount.catalog)
            if !page.updated.isEmpty || !page.deleted.isEmpty || page.anchor != anchor {
                try await take(page, run, since: moment)
            }
            anchor = page.anchor
            guard page.hasMore else { return nil }
            guard seen.insert(anchor.hashValue).inserted, seen.count < Self.mostPages, items < Self.mostItems else {
                mount.logger.error(
                    "the provider's list of changes does not end: all folders are listed again; report it to the provider's author"
                )
                return try await present()
            }
        }
    }

    /// What a page leaves to later pages.
    private struct Run {
        /// Deleted folders: a later page may tell that an item moved out, and such an item is not deleted with its
        /// folder.
        var deleted: [ItemIdentifier] = []
        /// Two items that swap names may come on two pages.
        var updated: [ItemIdentifier] = []
        /// While deletions are left, the anchor is not kept, so that the next run begins before them.
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
        try await client.currentAnchor()
    }

    /// Takes one page and its anchor in one transaction.
    private func take(_ page: ChangePage, _ run: Run, since moment: UInt64) async throws {
        let above = try await Ancestors(mount: mount, client: client).find(for: page.updated)
        // A first listing under way may be from before the page, and the page has no effect on unlisted folders.
        let underWay = await fetcher.foldersUnderWay
        let result = try remote.takeChange { writer in
            let (updated, halfMade) = try remote.ownChanges.withoutHalfMade(page.updated, since: moment, writer)
            var result = try writer.mergeChanges(
                updated: updated + above.folders, deleted: page.deleted, showing: above.shown,
                settling: page.hasMore ? [] : run.updated,
                // Asked inside the transaction, so that changes confirmed after it are not undone by it.
                ignoring: remote.ownChanges.since(moment), defaults: mount.defaults)
            result.missing += halfMade
            if run.keepsAnchor { try writer.takeSyncAnchor(page.anchor) }
            return result
        }
        for (name, reason) in result.refused {
            mount.logger.warning(
                "an item of the store cannot be shown", metadata: ["name": "\(name)", "reason": "\(reason)"])
        }
        for identifier in result.missing { remote.recheck(.item(identifier)) }
        for folder in underWay {
            do { try await fetcher.fetch(folder, joining: false) } catch {
                let item = try mount.catalog.read { try $0.item(of: folder) }
                if let identifier = item?.identifier { remote.recheck(.folder(identifier)) }
            }
        }
    }
}
