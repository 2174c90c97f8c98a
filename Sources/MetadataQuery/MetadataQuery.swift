import ControlAPI
public import Foundation
public import QueryLanguage
import Synchronization

/// Finds documents in mounted domains, whether or not they are on this machine, and keeps the list of them up to date.
///
/// A query has two phases. First it gathers the present results: ``Notification/gatheringProgress`` reports more
/// results, ``Notification/finishedGathering`` that these are all. Then a live query reports changes. A change made
/// within coordination (`FileCoordination`) is in the results when that program's call returns; other changes follow
/// within ``batchingInterval``. No query downloads anything.
///
/// Source: Apple, `NSMetadataQuery`.
public final class MetadataQuery: Sendable {
    /// A notification of a query.
    public enum Notification: Sendable {
        /// There are more results.
        case gatheringProgress
        /// All present results are gathered; changes follow.
        case finishedGathering
        /// The results have changed.
        case updated(added: [MetadataItem], changed: [MetadataItem], removed: [MetadataItem])
        /// A domain does not answer, or no longer, and its items are not in the results; a live query tries again.
        case domainUnavailable(URL, MetadataQueryError)
    }

    private struct State {
        var sorts: [MetadataSort]
        var interval: Duration = .seconds(1)
        var wantsTags = false
        var isShallow = false
        var isStarted = false
        var isStopped = false
        /// Domains that have not sent all results.
        var gathering: Set<String> = []
        var isGathering = false
        var items: [MetadataItem.ID: MetadataItem] = [:]
        /// The results that the program sees while updates are disabled.
        var frozen: [MetadataItem.ID: MetadataItem]?
        var disabled = 0
        var sorted: [MetadataItem]?
        var unlisted: [String: Int] = [:]
        /// Domains that were reported as unavailable.
        var unavailable: Set<String> = []
        var tasks: [String: Task<Void, Never>] = [:]
        var watch: Task<Void, Never>?
        var listeners: [Int: AsyncStream<Notification>.Continuation] = [:]
        var nextListener = 0

        func post(_ notification: Notification) {
            for listener in listeners.values { listener.yield(notification) }
        }
    }
    private let state: Mutex<State>
    /// The condition of the query.
    public let predicate: QueryPredicate
    /// The places to search.
    public let scopes: [SearchScope]
    /// Whether the query reports changes after gathering.
    public let isLive: Bool

    /// Makes a query, which does nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - sorts: the order of the results.
    ///   - isLive: false: the query ends when it has gathered.
    public init(
        _ predicate: QueryPredicate = .everything, in scopes: [SearchScope] = [.allDomains],
        sortedBy sorts: [MetadataSort] = [], isLive: Bool = true
    ) {
        self.predicate = predicate
        self.scopes = scopes
        self.isLive = isLive
        state = Mutex(State(sorts: sorts))
    }

    deinit { stop() }

    // MARK: Settings

    /// The order of the results; may be changed at any time.
    public var sortDescriptors: [MetadataSort] {
        get { state.withLock { $0.sorts } }
        set {
            state.withLock { state in
                state.sorts = newValue
                state.sorted = nil
            }
        }
    }

    /// How long changes are gathered before they are reported, 20 ms to an hour; default: a second. Set before
    /// ``start()``.
    public var batchingInterval: Duration {
        get { state.withLock { $0.interval } }
        set { state.withLock { $0.interval = min(max(newValue, .milliseconds(20)), .seconds(3_600)) } }
    }

    /// Whether results have their tags; set before ``start()``.
    public var wantsTags: Bool {
        get { state.withLock { $0.wantsTags } }
        set { state.withLock { $0.wantsTags = newValue } }
    }

    /// Whether the query searches only items directly in the folders of its scopes, and none further below; set before
    /// ``start()``. It costs as much as these folders are large, however large the domain.
    public var isShallow: Bool {
        get { state.withLock { $0.isShallow } }
        set { state.withLock { $0.isShallow = newValue } }
    }

    // MARK: Results

    /// The results, in the order of ``sortDescriptors``. They do not change while updates are disabled.
    public var results: [MetadataItem] {
        state.withLock { state in
            if let sorted = state.sorted { return sorted }
            let sorts = state.sorts
            let sorted = (state.frozen ?? state.items).values.sorted { MetadataItem.isBefore($0, $1, sorts) }
            state.sorted = sorted
            return sorted
        }
    }

    /// The number of ``results``.
    public var resultCount: Int { state.withLock { ($0.frozen ?? $0.items).count } }

    /// The results by the values of an attribute, both in order.
    public func results(groupedBy attribute: MetadataAttribute) -> [MetadataGroup] {
        Dictionary(grouping: results) { $0.text(of: attribute) }.sorted { $0.key < $1.key }
            .map { MetadataGroup(value: $0.key, results: $0.value) }
    }

    /// Whether ``start()`` was called, and ``stop()`` was not.
    public var isStarted: Bool { state.withLock { $0.isStarted && !$0.isStopped } }
    /// Whether the query is still gathering.
    public var isGathering: Bool { state.withLock { $0.isGathering } }

    /// The number of folders in the scopes that nobody has listed yet, whose items cannot be found. Known when
    /// gathering has finished.
    public var unlistedFolderCount: Int { state.withLock { $0.unlisted.values.reduce(0, +) } }

    /// Notifications from now on, until the query is stopped. A listener with more than 1,000 pending notifications
    /// misses the oldest.
    public func notifications() -> AsyncStream<Notification> {
        let (stream, continuation) = AsyncStream<Notification>.makeStream(bufferingPolicy: .bufferingNewest(1_000))
        let number = state.withLock { state -> Int? in
            if state.isStopped { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// Freezes the results, until ``enableUpdates()`` was called as often as this.
    public func disableUpdates() {
        state.withLock { state in
            state.disabled += 1
            if state.frozen == nil { state.frozen = state.items }
        }
    }

    /// Unfreezes the results, and reports changes made meanwhile at once.
    public func enableUpdates() {
        state.withLock { state in
            guard state.disabled > 0 else { return }
            state.disabled -= 1
            guard state.disabled == 0, let old = state.frozen else { return }
            state.frozen = nil
            state.sorted = nil
            let added = state.items.values.filter { old[$0.id] == nil }
            let changed = state.items.values.filter { old[$0.id] != nil && old[$0.id] != $0 }
            let removed = old.values.filter { state.items[$0.id] == nil }
            if added.isEmpty && changed.isEmpty && removed.isEmpty { return }
            state.post(.updated(added: Array(added), changed: Array(changed), removed: Array(removed)))
        }
    }

    // MARK: Running

    /// Begins to gather, and returns at once. May be called once.
    ///
    /// - Throws: ``MetadataQueryError`` when a scope is in no mounted domain.
    public func start() async throws {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isStopped
        }
        guard isFirst else { throw MetadataQueryError("a query can be started once") }
        let domains = try await DomainScope.all(of: scopes, keepsInner: isShallow)
        state.withLock { state in
            state.isGathering = true
            state.gathering = Set(domains.keys)
        }
        for (mountPoint, scope) in domains { begin(mountPoint, scope) }
        if domains.isEmpty { finishedGathering() }
        if isLive { watchDomains() }
    }

    /// Starts the query, if that has not happened, and returns when it has gathered all results.
    ///
    /// - Throws: as ``start()``.
    public func gather() async throws {
        let notifications = notifications()
        if !state.withLock({ $0.isStarted }) { try await start() }
        if !isGathering { return }
        for await notification in notifications { if case .finishedGathering = notification { return } }
    }

    /// Stops the query. The results stay as they are.
    public func stop() {
        let (tasks, listeners) = state.withLock { state in
            state.isStopped = true
            state.isGathering = false
            defer { (state.tasks, state.listeners, state.watch) = ([:], [:], nil) }
            return (state.tasks.values + [state.watch].compactMap { $0 }, Array(state.listeners.values))
        }
        for task in tasks { task.cancel() }
        for listener in listeners { listener.finish() }
    }

    private func begin(_ mountPoint: String, _ scope: DomainScope) {
        let (interval, wantsTags, isShallow) = state.withLock { ($0.interval, $0.wantsTags, $0.isShallow) }
        let request = QueryRequest(
            id: UUID().uuidString, predicate: predicate, scopes: scope.paths, isLive: isLive,
            interval: interval / .seconds(1), wantsTags: wantsTags, isShallow: isShallow)
        let task = Task { [weak self] in
            let failure = await DomainQuery(mountPoint: mountPoint, request: request).run { [weak self] news in
                self?.take(news, mountPoint, scope)
            }
            self?.ended(mountPoint, failure)
        }
        let isLate = state.withLock { state in
            if state.isStopped { return true }
            state.tasks[mountPoint] = task
            return false
        }
        if isLate { task.cancel() }
    }

    private func take(_ news: QueryNews, _ mountPoint: String, _ scope: DomainScope) {
        func item(_ found: QueryItem) -> MetadataItem {
            var item = MetadataItem(found, mountPoint: mountPoint)
            item.external = scope.external[found.path]
            return item
        }
        let isLast = state.withLock { state in
            state.unavailable.remove(mountPoint)
            let added = news.added.map(item)
            let changed = news.changed.map(item)
            let removed = news.removed.compactMap { state.items[.init(mountPoint: mountPoint, number: $0)] }
            for item in removed { state.items[item.id] = nil }
            for item in added + changed { state.items[item.id] = item }
            if state.frozen == nil { state.sorted = nil }
            switch news.phase {
            case .gathering: if !added.isEmpty { state.post(.gatheringProgress) }
            case .gathered:
                state.unlisted[mountPoint] = news.unlistedFolders
                return state.gathering.remove(mountPoint) != nil && state.gathering.isEmpty && state.isGathering
            case .changed:
                if state.frozen == nil { state.post(.updated(added: added, changed: changed, removed: removed)) }
            }
            return false
        }
        if isLast { finishedGathering() }
    }

    private func finishedGathering() {
        state.withLock { state in
            state.isGathering = false
            state.isStopped = state.isStopped || !isLive
            state.post(.finishedGathering)
        }
        if !isLive { stop() }
    }

    private func ended(_ mountPoint: String, _ failure: MetadataQueryError?) {
        let isLast = state.withLock { state in
            if state.isStopped { return false }
            state.tasks[mountPoint] = nil
            if let failure {
                let lost = state.items.values.filter { $0.id.mountPoint == mountPoint }
                for item in lost { state.items[item.id] = nil }
                if state.frozen == nil { state.sorted = nil }
                state.unlisted[mountPoint] = nil
                if state.unavailable.insert(mountPoint).inserted {
                    state.post(.domainUnavailable(URL(filePath: mountPoint, directoryHint: .isDirectory), failure))
                }
                if !lost.isEmpty, state.frozen == nil { state.post(.updated(added: [], changed: [], removed: lost)) }
            }
            return state.gathering.remove(mountPoint) != nil && state.gathering.isEmpty && state.isGathering
        }
        if isLast { finishedGathering() }
    }

    /// Asks domains that are mounted later, and those that came back.
    private func watchDomains() {
        let task = Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard let self else { return }
                let running = state.withLock { Set($0.tasks.keys) }
                let mounted = Set(MountTable.ownDomains().map(\.mountPoint))
                if mounted.isSubset(of: running) { continue }
                guard let domains = try? await DomainScope.all(of: scopes, keepsInner: isShallow) else { continue }
                for (mountPoint, scope) in domains where !running.contains(mountPoint) { begin(mountPoint, scope) }
            }
        }
        let isLate = state.withLock { state in
            if state.isStopped { return true }
            state.watch = task
            return false
        }
        if isLate { task.cancel() }
    }
}
