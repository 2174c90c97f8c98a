package import ContentStore
import FileProvider
package import ItemCatalog
import Logging
import Synchronization

/// Everything between the local trees and the provider.
package final class SyncEngine: Sendable {
    package let context: SyncContext
    package let hydrator: Hydrator
    private let fetcher: FolderFetcher
    private let queue: UploadQueue
    private let listener: ChangeListener
    private let stopper: StopScheduler
    private let tasks = Mutex<[Task<Void, Never>]>([])

    package init(context: SyncContext) {
        self.context = context
        fetcher = FolderFetcher(context: context)
        hydrator = Hydrator(context: context, fetcher: fetcher)
        queue = UploadQueue(
            context: context,
            runner: StepRunner(context: context, hydrator: hydrator, fetcher: fetcher))
        listener = ChangeListener(context: context, fetcher: fetcher)
        stopper = StopScheduler(context: context)
    }

    /// Begins to send what is pending and to follow the store's changes.
    package func start() {
        let workers = context.workers
        tasks.withLock {
            $0 = [
                Task(executorPreference: workers) { [queue] in await queue.run() },
                Task(executorPreference: workers) { [listener] in await listener.run() },
            ]
        }
    }

    /// Ends the engine's own tasks and lets the provider go. What is pending stays pending.
    ///
    /// - Returns: whether every step has ended; if not, the catalog is still in use and must not be closed.
    @discardableResult
    package func stop() async -> Bool {
        let running = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in running { task.cancel() }
        queue.wake()
        stopper.stop()
        let isIdle = await queue.drain(seconds: 5)
        if let provider = context.provider as? any Invalidatable { await provider.invalidate() }
        return isIdle
    }

    // MARK: What the volume asks for

    /// The folder's first listing. Returns when it is in the catalog.
    package func enumerate(_ folder: InodeID) async throws(SyncError) {
        try await fetcher.fetch(folder, joining: true)
    }

    package func wasLookedAt(_ folder: InodeID) {
        if context.provider is any ChangeSignaling { return }
        Task { [listener] in await listener.wasLookedAt(folder) }
    }

    /// A local change is pending.
    package func changed() { queue.wake() }

    /// The last program let go of a document.
    package func released(_ inode: InodeID, _ generation: GenerationID) {
        hydrator.released(generation)
        queue.wake()
        stopper.released(inode)
    }

    // MARK: What a user asks for

    /// Waits until nothing is pending.
    ///
    /// - Returns: what is still pending after `timeout` seconds (nil: as long as it takes), or nothing.
    package func sync(timeout: Double?) async throws(SyncError) -> [ItemRecord] {
        let deadline = timeout.map { ContinuousClock.now + .seconds($0) }
        do {
            try context.catalog.write { try $0.settleNow(retrying: true) }
            await queue.hurry()
            while try context.catalog.read({ try $0.hasPending() }) {
                if Task.isCancelled { throw SyncError.cancelled }
                if let deadline, .now >= deadline { return try pending() }
                // A change that came meanwhile is part of it too.
                if try context.catalog.read({ try $0.nextMoment(after: .now) }) != nil {
                    try context.catalog.write { try $0.settleNow(retrying: false) }
                    queue.wake()
                }
                try? await Task.sleep(for: .milliseconds(50))
            }
            return []
        } catch {
            throw SyncError(error)
        }
    }

    package func pending() throws -> [ItemRecord] {
        try context.catalog.read { try $0.allPending(limit: 1_000) }
    }

    /// Drops the local bytes of an unmodified document that nobody uses. Returns how many bytes.
    package func evict(_ inode: InodeID) throws(SyncError) -> Int64 {
        do { return try Evictor(context: context).evict(inode) } catch { throw SyncError(error) }
    }

    /// Downloads all of a document. Returns how many bytes came.
    package func download(_ id: InodeID) async throws(SyncError) -> Int64 {
        // A document that is replaced meanwhile is begun anew.
        for _ in 0..<5 {
            do { return try await downloadCurrent(id) } catch SyncError.superseded { continue }
        }
        throw .superseded
    }

    private func downloadCurrent(_ id: InodeID) async throws(SyncError) -> Int64 {
        do {
            let (inode, item) = try context.catalog.read { (try $0.inode(id), try $0.item(of: id)) }
            guard inode.kind == .document, inode.extents != nil, let item, let identifier = item.identifier,
                let version = item.baseVersion
            else { return 0 }
            let content = try context.open(inode)
            let missing = content.missing(in: 0..<content.baseSize).reduce(0) { $0 + Int64($1.count) }
            try await hydrator.provide(
                0..<content.baseSize, of: content,
                for: DownloadTarget(
                    inode: id, identifier: identifier, version: version.content, name: context.path(of: item)))
            return missing
        } catch {
            throw SyncError(error)
        }
    }
}
