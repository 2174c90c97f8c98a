import ControlAPI
public import Foundation
public import QueryLanguage
import Synchronization

/// Finds documents in mounted domains, whether or not they are on this machine, and keeps the list of them up to date.
///
/// A query has two phases. First it gathers what there is; ``Notification/gatheringProgress`` says that there are more
/// results, ``Notification/finishedGathering`` that these are all. Then, while it is live, it learns what changes:
/// what a program makes within coordination (`FileCoordination`) is in the results when that program's call returns; what
/// others do follows within ``batchingInterval``. No query downloads anything.
///
/// Source: Apple, `NSMetadataQuery`.
public final class MetadataQuery: Sendable {
    /// What happens to a query.
    public enum Notification: Sendable {
        /// There are more results.
        case gatheringProgress
        /// These are all that there are; now it goes on with what changes.
        case finishedGathering
        /// The results are others than before.
        case updated(added: [MetadataItem], changed: [MetadataItem], removed: [MetadataItem])
        /// A domain does not answer (any more), and its items are no results; a live query asks it again.
        case domainUnavailable(URL, MetadataQueryError)
    }

    private struct State {
        var sorts: [MetadataSort]
        var interval: Duration = .seconds(1)
        var wantsTags = false
        var isStarted = false
        var isStopped = false
        /// Domains that have not said all that there is.
        var gathering: Set<String> = []
        var isGathering = false
        var items: [MetadataItem.ID: MetadataItem] = [:]
        /// What the program sees while updates are disabled.
        var frozen: [MetadataItem.ID: MetadataItem]?
        var disabled = 0
        var sorted: [MetadataItem]?
        var unlisted: [String: Int] = [:]
        /// Those of which that was told.
        var unavailable: Set<String> = []
        var tasks: [String: Task<Void, Never>] = [:]
        var watch: Task<Void, Never>?
        var listeners: [Int: AsyncStream<Notification>.Continuation] = [:]
        var nextListener = 0

        func tell(_ notification: Notification) {
            for listener in listeners.values { listener.yield(notification) }
        }
    }
    private let state: Mutex<State>
    /// What it finds.
    public let predicate: QueryPredicate
    /// Where it looks.
    public let scopes: [SearchScope]
    /// Whether it goes on with what changes.
    public let isLive: Bool

    /// It does nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - sorts: the order of the results.
    ///   - isLive: false: it ends when it has gathered.
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

    // MARK: What a program sets

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

    /// For how long changes are gathered before they are told, 20 ms to an hour; a second unless it is set before
    /// ``start()``.
    public var batchingInterval: Duration {
        get { state.withLock { $0.interval } }
        set { state.withLock { $0.interval = min(max(newValue, .milliseconds(20)), .seconds(3_600)) } }
    }

    /// Whether results bring their tags; set before ``start()``.
    public var wantsTags: Bool {
        get { state.withLock { $0.wantsTags } }
        set { state.withLock { $0.wantsTags = newValue } }
    }

    // MARK: What a program sees

    /// In the order of ``sortDescriptors``. While updates are disabled they stay as they are.
    public var results: [MetadataItem] {
        state.withLock { state in
            if let sorted = state.sorted { return sorted }
            let sorts = state.sorts
            let sorted = (state.frozen ?? state.items).values.sorted { MetadataItem.isBefore($0, $1, sorts) }
            state.sorted = sorted
            return sorted
        }
    }

    /// How many ``results`` there are.
    public var resultCount: Int { state.withLock { ($0.frozen ?? $0.items).count } }

    /// The results by the values of an attribute, both in order.
    public func results(groupedBy attribute: MetadataAttribute) -> [MetadataGroup] {
        Dictionary(grouping: results) { $0.text(of: attribute) }.sorted { $0.key < $1.key }
            .map { MetadataGroup(value: $0.key, results: $0.value) }
    }

    /// ``start()`` was called, and ``stop()`` was not.
    public var isStarted: Bool { state.withLock { $0.isStarted && !$0.isStopped } }
    /// Not all that there is has been found yet.
    public var isGathering: Bool { state.withLock { $0.isGathering } }

    /// How many folders in the scopes nobody has looked into yet: what is in them cannot be found. Known when gathering has
    /// finished.
    public var unlistedFolderCount: Int { state.withLock { $0.unlisted.values.reduce(0, +) } }

    /// What happens from now on, until the query is stopped. A listener that is slow misses the oldest of more than 1,000.
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

    /// From now on the results stay as they are, until ``enableUpdates()`` was called as often as this.
    public func disableUpdates() {
        state.withLock { state in
            state.disabled += 1
            if state.frozen == nil { state.frozen = state.items }
        }
    }

    /// What has changed meanwhile is told at once.
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
            state.tell(.updated(added: Array(added), changed: Array(changed), removed: Array(removed)))
        }
    }

    // MARK: Running

    /// Begins to gather. Returns at once; a query is started once.
    ///
    /// - Throws: ``MetadataQueryError`` when a scope lies in no mounted domain.
    public func start() async throws {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isStopped
        }
        guard isFirst else { throw MetadataQueryError("a query can be started once") }
        let domains = try await DomainScope.all(of: scopes)
        state.withLock { state in
            state.isGathering = true
            state.gathering = Set(domains.keys)
        }
        for (mountPoint, scope) in domains { begin(mountPoint, scope) }
        if domains.isEmpty { finishedGathering() }
        if isLive { watchDomains() }
    }

    /// Returns when all that there is was found. Starts the query when that has not happened.
    ///
    /// - Throws: as ``start()``.
    public func gather() async throws {
        let notifications = notifications()
        if !state.withLock({ $0.isStarted }) { try await start() }
        if !isGathering { return }
        for await notification in notifications { if case .finishedGathering = notification { return } }
    }

    /// It asks nobody any more. The results stay as they are.
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
        let (interval, wantsTags) = state.withLock { ($0.interval, $0.wantsTags) }
        let request = QueryRequest(
            id: UUID().uuidString, predicate: predicate, scopes: scope.paths, isLive: isLive,
            interval: interval / .seconds(1), wantsTags: wantsTags)
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
            case .gathering: if !added.isEmpty { state.tell(.gatheringProgress) }
            case .gathered:
                state.unlisted[mountPoint] = news.unlistedFolders
                return state.gathering.remove(mountPoint) != nil && state.gathering.isEmpty && state.isGathering
            case .changed:
                if state.frozen == nil { state.tell(.updated(added: added, changed: changed, removed: removed)) }
            }
            return false
        }
        if isLast { finishedGathering() }
    }

    private func finishedGathering() {
        state.withLock { state in
            state.isGathering = false
            state.isStopped = state.isStopped || !isLive
            state.tell(.finishedGathering)
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
                    state.tell(.domainUnavailable(URL(filePath: mountPoint, directoryHint: .isDirectory), failure))
                }
                if !lost.isEmpty, state.frozen == nil { state.tell(.updated(added: [], changed: [], removed: lost)) }
            }
            return state.gathering.remove(mountPoint) != nil && state.gathering.isEmpty && state.isGathering
        }
        if isLast { finishedGathering() }
    }

    /// Domains that are mounted later, and those that came back.
    private func watchDomains() {
        let task = Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard let self else { return }
                let running = state.withLock { Set($0.tasks.keys) }
                let mounted = Set(MountTable.ownDomains().map(\.mountPoint))
                if mounted.isSubset(of: running) { continue }
                guard let domains = try? await DomainScope.all(of: scopes) else { continue }
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
