package import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import ItemSearch
import Logging
import QueryLanguage
import SyncEngine
import Synchronization
package import Trees
import UniformTypes
package import Volume
import Waiting

/// Answers programs' queries for the items of a mounted domain. No query downloads anything or waits long for the
/// store.
package final class QueryService: Sendable {
    private struct State {
        var queries: [String: LiveQuery] = [:]
        var names: NameIndex?
        var isGrowing = false
        var isClosed = false
    }
    private let volume: Volume
    package let texts: TextIndexer
    private let indexPath: String
    private let state = Mutex(State())
    /// Threads for queries only, so that many or large queries do not delay the rest of the daemon.
    private let workers = Workers(threads: 3)
    /// Seconds to wait for another program's query.
    private let patience: Double
    /// Seconds that a query waits for the listing of its folders.
    private static let listing = 2.0
    /// Seconds that a query waits for the store's own search.
    private static let searching = 10.0
    private static let mostFindings = 1_000

    private var mount: MountState { volume.engine.mount }

    package init(volume: Volume, stateDirectory: String, domain: String, patience: Double) {
        self.volume = volume
        self.patience = patience
        indexPath = stateDirectory + "/names.sqlite"
        texts = TextIndexer(mount: volume.engine.mount, stateDirectory: stateDirectory, domain: domain)
        texts.onIndexed { [weak self] inodes in self?.indexed(inodes) }
        texts.begin()
        volume.engine.transfers.onDownload { [weak self] inode in self?.downloads(inode) }
    }

    /// The download of a document has begun or ended, which no row of the catalog says.
    private func downloads(_ inode: InodeID) {
        var rows = ChangedRows()
        rows.inodes = [inode]
        for query in state.withLock({ Array($0.queries.values) }) { query.changed(rows) }
    }

    /// The texts of these documents have changed in the index.
    private func indexed(_ inodes: Set<InodeID>) {
        var rows = ChangedRows()
        rows.inodes = inodes
        for query in state.withLock({ Array($0.queries.values) }) where query.asksForText { query.changed(rows) }
    }

    /// Call this when no query runs any more.
    package func close() async {
        while state.withLock({ state in
            state.isClosed = true
            return state.isGrowing
        }) { try? await Task.sleep(for: .milliseconds(10)) }
        state.withLock { $0.names }?.close()
        await texts.close()
    }

    // MARK: Queries

    package func query(_ request: QueryRequest, _ listener: ControlListener) async -> ControlResponse {
        await withTaskExecutorPreference(workers) { await answer(request, listener) }
    }

    private func answer(_ request: QueryRequest, _ listener: ControlListener) async -> ControlResponse {
        guard UUID(uuidString: request.id) != nil else { return refusal("a query's identifier is a UUID") }
        let live = LiveQuery(
            asksForText: request.predicate.contains { if case .text = $0 { true } else { false } })
        let isNew = state.withLock { state in
            if state.queries[request.id] != nil || state.isClosed { return false }
            if request.isLive { state.queries[request.id] = live }
            return true
        }
        guard isNew else { return refusal("a query with this identifier exists already") }
        defer {
            state.withLock { $0.queries[request.id] = nil }
            live.end()
        }
        do {
            let key = request.isLive ? try mount.catalog.watchRows { live.changed($0) } : nil
            defer { if let key { mount.catalog.unwatchRows(key) } }
            try await run(request, live, listener)
            return .done
        } catch let failure as ControlFailure {
            return .failure(failure)
        } catch let error as CatalogError where !Task.isCancelled {
            return refusal(error.message)
        } catch {
            // The client has hung up.
            return .done
        }
    }

    private func refusal(_ message: String) -> ControlResponse {
        .failure(ControlFailure(code: "query", message: message))
    }

    private func run(_ request: QueryRequest, _ live: LiveQuery, _ listener: ControlListener) async throws {
        // Send a message now and then during a long search, so that clients know that the daemon works.
        let pulse = Task {
            while (try? await Task.sleep(for: .seconds(QueryNews.pulse))) != nil {
                try? await listener.send(.query(QueryNews(.gathering)))
            }
        }
        defer { pulse.cancel() }
        let scopes = try await scopes(request.scopes, isShallow: request.isShallow)
        var search = ItemSearch(
            request.predicate, catalog: mount.catalog, names: request.isShallow ? nil : names(), scopes: scopes,
            isShallow: request.isShallow, wantsTags: request.wantsTags, isLive: request.isLive,
            uid: mount.defaults.uid, surroundings)
        try refuseSignedOut()
        var unlisted = try search.unlistedFolders()
        // (The store's search knows no single folder.)
        async let findings = unlisted == 0 || request.isShallow ? nil : ask(request.predicate)
        func send(_ items: [FoundItem]) async throws -> Bool {
            try refuseSignedOut()
            try await listener.send(.query(QueryNews(.gathering, added: items.map(QueryItem.init))))
            return true
        }
        try await search.gather(send)
        if let answer = await findings {
            try await search.take(answer.findings, send)
            if answer.isComplete { unlisted = 0 }
        }
        pulse.cancel()
        await pulse.value
        try await listener.send(.query(QueryNews(.gathered, unlistedFolders: unlisted)))
        if !request.isShallow { growNames() }
        var question = 0
        while request.isLive, let (rows, waiters) = await live.next(after: request.interval) {
            defer { for waiter in waiters { waiter.resume() } }
            try refuseSignedOut()
            if rows.isEmpty { continue }
            let changes = try await search.update(rows)
            for var news in QueryNews.all(of: changes) {
                if !waiters.isEmpty {
                    question += 1
                    news.question = question
                }
                try await listener.send(.query(news))
            }
            if question > 0, !waiters.isEmpty, !changes.isEmpty {
                await live.answered(question, within: patience)
            }
        }
    }

    /// Returns what the store's own search finds, if the store answers soon.
    private func ask(_ predicate: QueryPredicate) async -> StoreFindings? {
        guard let question = StoreSearch(predicate, types: .system, limit: Self.mostFindings) else { return nil }
        return await volume.engine.client.search(question, within: Self.searching)
    }

    /// Throws after a sign-out: the catalog still has the items, but nobody may find them.
    private func refuseSignedOut() throws {
        guard volume.engine.switches.isMasked else { return }
        throw ControlFailure(code: "signedOut", message: "the domain is signed out")
    }

    /// - Returns: nil: the whole domain.
    private func scopes(_ paths: [PathBytes], isShallow: Bool) async throws -> Set<InodeID>? {
        var inodes: Set<InodeID> = []
        for path in paths {
            do { inodes.insert(try await volume.resolve(path.names).id) } catch {
                throw ControlFailure(code: "path", message: "\(path.string): \(error.message)")
            }
        }
        if paths.isEmpty { inodes = [.root] }
        await list(inodes)
        return inodes.contains(.root) && !isShallow ? nil : inodes
    }

    /// Lists the folders of a search, if the store answers soon; a later answer counts as a change.
    private func list(_ folders: Set<InodeID>) async {
        let engine = volume.engine
        let unknown = folders.filter { id in
            (try? mount.catalog.read { try $0.inode(id) }).map { $0.isFolder && !$0.isEnumerated } ?? false
        }
        if unknown.isEmpty { return }
        _ = await FirstAnswer.of(within: .seconds(Self.listing)) {
            for folder in unknown { try? await engine.enumerate(folder) }
        }
    }

    private var surroundings: SearchSurroundings {
        let (failures, transfers, texts) = (volume.engine.downloadFailures, volume.engine.transfers, texts)
        return SearchSurroundings(
            downloadFailure: { failures.last(of: $0) }, isDownloading: { transfers.isDownloading($0) },
            withText: { texts.inodes(with: $0) })
    }

    package func taken(_ id: String, _ question: Int) -> ControlResponse {
        state.withLock { $0.queries[id] }?.taken(question)
        return .done
    }

    /// Returns when all live queries know everything that was committed before.
    package func settle() async -> ControlResponse {
        let queries = state.withLock { Array($0.queries.values) }
        if queries.isEmpty { return .done }
        // (Separate tasks: a late one goes on after the timeout.)
        let settling = queries.map { query in Task { await query.settle() } }
        _ = await FirstAnswer.of(within: .seconds(patience)) { for task in settling { await task.value } }
        return .done
    }

    // MARK: Items

    /// One item in the form of a query's results.
    package func item(_ inode: InodeRecord, at path: PathBytes, wantsTags: Bool) throws -> QueryItem? {
        var search = ItemSearch(
            .everything, catalog: mount.catalog, names: nil, wantsTags: wantsTags, surroundings)
        return try search.item(at: inode.id, path: path.bytes).map(QueryItem.init)
    }

    // MARK: The index of names

    /// Nil: there is no index, and queries check every name.
    private func names() -> NameIndex? {
        if let names = state.withLock({ $0.names }) { return names }
        do {
            let new = try NameIndex(path: indexPath, catalog: mount.catalog) { FoldedText.fold(bytes: $0) }
            let kept = state.withLock { state in
                if state.names == nil && !state.isClosed { state.names = new }
                return state.names
            }
            if kept !== new { new.close() }
            return kept
        } catch {
            mount.logger.warning("the index of names cannot be used", metadata: ["error": "\(error.message)"])
            return nil
        }
    }

    /// Updates the index in the background, in small steps.
    private func growNames() {
        let names = state.withLock { state -> NameIndex? in
            guard !state.isGrowing, !state.isClosed, let names = state.names else { return nil }
            state.isGrowing = true
            return names
        }
        guard let names else { return }
        let logger = mount.logger
        Task(executorPreference: mount.workers) { [self] in
            do {
                while try names.grow(), !state.withLock({ $0.isClosed }) { await Task.yield() }
            } catch {
                logger.warning("the index of names cannot be brought up to date", metadata: ["error": "\(error)"])
            }
            state.withLock { $0.isGrowing = false }
        }
    }
}

extension QueryNews {
    /// Splits changes into messages of limited size.
    fileprivate static func all(of changes: ItemSearch.Changes) -> [QueryNews] {
        let size = ItemSearch.batch
        func parts<Element>(_ all: [Element]) -> [ArraySlice<Element>] {
            stride(from: 0, to: all.count, by: size).map { all[$0..<min($0 + size, all.count)] }
        }
        // (Removals come first, so that a client's list never has two items of one path.)
        return parts(changes.removed).map { QueryNews(.changed, removed: Array($0)) }
            + parts(changes.changed).map { QueryNews(.changed, changed: $0.map(QueryItem.init)) }
            + parts(changes.added).map { QueryNews(.changed, added: $0.map(QueryItem.init)) }
    }
}

extension QueryItem {
    init(_ found: FoundItem) {
        let (row, facts) = (found.row, found.facts)
        var conditions: Set<QueryPredicate.ItemCondition> = []
        if row.isPending { conditions.insert(.uploading) }
        if facts.isDownloading { conditions.insert(.downloading) }
        if facts.failure != nil { conditions.insert(.error) }
        if facts.isInConflict { conditions.insert(.conflict) }
        if facts.isPinned { conditions.insert(.pinned) }
        if row.isExcluded { conditions.insert(.excluded) }
        if row.unlisted != nil { conditions.insert(.unlisted) }
        let kind: ItemStatus.Kind
        var state: ItemState = .downloaded
        switch row.kind {
        case .document:
            kind = .document
            if !row.isWhole { state = row.bytesHere == 0 ? .placeholder : .partial }
        case .folder:
            kind = .folder
            if !row.isEnumerated { state = .placeholder }
        case .link: kind = .link
        default: kind = .special
        }
        func seconds(_ time: FileTime) -> Double { Double(time.seconds) + Double(time.subsecond) / 1e9 }
        self.init(
            number: row.number, path: PathBytes(bytes: facts.path), kind: kind, type: facts.type, size: row.size,
            modified: seconds(row.modified), created: seconds(row.created), accessed: seconds(row.accessed),
            owner: facts.owner ?? "\(row.uid)", state: state,
            bytesDownloaded: row.kind == .document ? row.bytesHere : 0,
            conditions: conditions, identifier: row.identifier?.rawValue, error: facts.failure, tags: facts.tags)
    }
}
