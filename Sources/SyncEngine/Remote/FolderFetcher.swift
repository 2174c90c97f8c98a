import FileProvider
import ItemCatalog
import Logging
import Trees

/// Fetches folders' listings; concurrent callers for one folder share one fetch.
actor FolderFetcher {
    private let mount: MountState
    private let client: StoreClient
    private let remote: RemoteState
    private let reports: EventReports
    private var running: [InodeID: Task<Result<Bool, SyncError>, Never>] = [:]

    init(mount: MountState, client: StoreClient, remote: RemoteState, reports: EventReports) {
        self.mount = mount
        self.client = client
        self.remote = remote
        self.reports = reports
    }

    var foldersUnderWay: [InodeID] { Array(running.keys) }

    /// Returns when the catalog has the folder's listing, as of a moment after the call began. Cancelling the task ends
    /// the wait; the fetch goes on for other callers.
    ///
    /// - Parameters:
    ///   - joining: a fetch that is already under way will do (a first look).
    ///   - isAwaited: a program waits and is to be told why the listing does not come.
    /// - Returns: whether the listing brought news.
    @discardableResult
    func fetch(_ folder: InodeID, joining: Bool, isAwaited: Bool = true) async throws(SyncError) -> Bool {
        if let task = running[folder] {
            if joining { return try await client.result(of: task, unlessAway: true).get() }
            if case .failure(.cancelled) = await client.result(of: task, unlessAway: false), Task.isCancelled {
                throw SyncError.cancelled
            }
            // Another caller has begun a newer fetch.
            if let newer = running[folder] { return try await client.result(of: newer, unlessAway: false).get() }
        }
        let task = Task(executorPreference: mount.workers) {
            [mount, client, remote] () -> Result<Bool, SyncError> in
            var result: Result<Bool, SyncError>
            var isOutdated: Bool
            repeat {
                let asked = ContinuousClock.now
                do {
                    result = .success(
                        try await FolderListing(mount: mount, client: client, remote: remote).fetch(folder))
                    isOutdated = false
                } catch {
                    let failure = SyncError(error)
                    result = .failure(failure)
                    isOutdated = client.isOutdated(failure, since: asked)
                }
            } while isOutdated && !Task.isCancelled
            // Callers from now on get a new fetch, not this result.
            await self.ended(folder)
            return result
        }
        running[folder] = task
        let result = await client.result(of: task, unlessAway: joining)
        if joining, isAwaited, case .failure(let error) = result { reportFailure(error, folder) }
        return try result.get()
    }

    private func ended(_ folder: InodeID) { running[folder] = nil }
}

extension FolderFetcher {
    /// A program wanted to list the folder and cannot.
    private nonisolated func reportFailure(_ error: SyncError, _ folder: InodeID) {
        if case .cancelled = error { return }
        let item = (try? mount.catalog.read { try $0.item(of: folder) }) ?? nil
        reports.failure(
            error, at: mount.path(of: folder), item?.identifier, next: FailureTable.next(reading: error))
    }
}

/// One fetch of one folder.
struct FolderListing: Sendable {
    let mount: MountState
    let client: StoreClient
    let remote: RemoteState
    /// A provider whose pages never end is cut off here.
    static let mostItems = 1_000_000
    /// The most pages in a row that bring nothing new.
    static let mostIdlePages = 1_000
    /// The longest page token, in bytes.
    static let longestPage = 64 << 10

    /// - Returns: whether the listing brought news.
    func fetch(_ folder: InodeID) async throws -> Bool {
        guard let identifier = try mount.catalog.read({ try $0.item(of: folder)?.identifier }) else {
            // Nobody can list this folder, so nobody may wait for a listing.
            try mount.catalog.write { try $0.becomesListed(folder) }
            return false
        }
        let moment = remote.ownChanges.ask()
        defer { remote.ownChanges.answered() }
        var parts = ListingParts(mount: mount, remote: remote, folder: folder, since: moment)
        defer { remote.listingMemory.listed(parts.seen) }
        do {
            return try await take(folder, identifier, &parts, since: moment)
        } catch {
            await parts.giveUp()
            // The parts may be wrong and must not fill the disk until the next try.
            if (error as? FileProviderError)?.code == .cannotSynchronize { try parts.takeBack() }
            throw error
        }
    }

    private func take(
        _ folder: InodeID, _ identifier: ItemIdentifier, _ parts: inout ListingParts, since moment: UInt64
    ) async throws -> Bool {
        var (items, leftOut) = try await listing(of: identifier) { try await parts.take(&$0) }
        try await parts.end(&items)
        leftOut += parts.refused
        // Most listings bring no news: do not hold up the catalog's writers for those.
        let (unchanged, uncertain) = try mount.catalog.read { reader in
            try compare(folder, items, besides: parts.known, ignoring: remote.ownChanges.since(moment), reader)
        }
        // Items that we were changing meanwhile are asked for one by one when that is over.
        for identifier in uncertain { remote.recheck(.item(identifier)) }
        if let unchanged {
            logRefused(unchanged.refused + leftOut, of: folder)
            return false
        }
        let isFirstListing = try mount.catalog.read { try !$0.inode(folder).isEnumerated }
        let result = try remote.takeChange(isFirstListing: isFirstListing) { writer in
            // Asked inside the transaction, so that changes confirmed after it are not undone by it.
            let ignored = remote.ownChanges.since(moment)
            // (Uncertain items count as missing, and each is asked for separately.)
            let items = try remote.ownChanges.withoutHalfMade(items, since: moment, writer).certain
            return try writer.mergeListing(
                of: folder, items, besides: parts.known, ignoring: ignored, defaults: mount.defaults)
        }
        logRefused(result.refused + leftOut, of: folder)
        await RemoteRefresh(mount: mount, client: client, remote: remote, fetcher: nil).refresh(result.missing)
        return true
    }

    /// Logs the refused entries; `hydrant status` of the folder shows them too.
    private func logRefused(_ refused: [(name: Filename, reason: String)], of folder: InodeID) {
        for entry in remote.refused.record(refused, of: folder) {
            mount.logger.warning(
                "an item of the store cannot be shown",
                metadata: ["name": "\(entry.name)", "reason": "\(entry.reason)"])
        }
    }

    /// Warns once per item.
    private func warnOfAttributes(of items: [Item]) {
        for item in items where item.hasTooManyAttributes && remote.refused.isNews(attributesOf: item.identifier) {
            mount.logger.warning(
                "an item of the store has too many extended attributes; it is shown without them",
                metadata: ["name": "\(item.filename)", "most": "\(ExtendedAttribute.mostBytes) bytes"])
        }
    }

    /// Compares the listing with the catalog. `uncertain`: items that differ, but were changed from here meanwhile.
    private func compare(
        _ folder: InodeID, _ items: [Item], besides known: Set<ItemID>, ignoring ignored: Set<ItemIdentifier>,
        _ reader: Catalog.Reader
    ) throws -> (unchanged: ListingDifference?, uncertain: Set<ItemIdentifier>) {
        guard let row = try reader.item(of: folder), try reader.inode(folder).isEnumerated else { return (nil, []) }
        let difference = try reader.difference(of: row.id, items, besides: known, ignoring: ignored)
        let unchanged = difference.isEmpty ? difference : nil
        if ignored.isEmpty { return (unchanged, []) }
        let all = try reader.difference(of: row.id, items, besides: known, ignoring: [])
        let differing = Set(all.changed.map(\.identifier)).union(all.missing)
        return (unchanged, differing.intersection(ignored))
    }

    /// The entries of a folder as the provider lists them. Changes nothing.
    func pages(of identifier: ItemIdentifier) async throws -> [Item] { try await listing(of: identifier).items }

    /// - Parameter take: called after each page with the items so far; may remove some.
    private func listing(
        of identifier: ItemIdentifier, _ take: (inout [Item]) async throws -> Void = { _ in }
    ) async throws -> (items: [Item], leftOut: [(name: Filename, reason: String)]) {
        var items: [Item] = []
        var leftOut: [(name: Filename, reason: String)] = []
        var count = 0
        var page: Page?
        var seen: Set<Page> = []
        var begun: Set<ItemIdentifier> = []
        var idle = 0
        repeat {
            let answer = try await client.items(
                in: identifier, startingAt: page, at: mount.path(of: identifier))
            items += answer.items
            leftOut += answer.leftOut.map { ($0.filename, $0.reason) }
            warnOfAttributes(of: answer.items)
            count += answer.items.count
            page = answer.nextPage
            // A page brings news when no page before began with the same item.
            let isNews = answer.items.first.map { begun.insert($0.identifier).inserted } ?? false
            idle = isNews ? 0 : idle + 1
            try await take(&items)
            guard let page else { break }
            if !seen.insert(page).inserted || count + leftOut.count > Self.mostItems || idle > Self.mostIdlePages
                || page.bytes.count > Self.longestPage
            {
                throw FileProviderError(
                    .cannotSynchronize,
                    "the provider's listing of \(identifier) does not end; report it to the provider's author")
            }
        } while true
        mount.logger.debug(
            "enumerateItems", metadata: ["identifier": "\(identifier)", "items": "\(count)"])
        return (items, leftOut)
    }
}
