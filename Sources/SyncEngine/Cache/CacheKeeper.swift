import FileProvider
import ItemCatalog
import Locking
import Logging
import Trees
import Waiting

/// Evicts the least recently used documents when more is here than the limits allow (``CacheLimits``).
///
/// The times of last use are kept in memory and written to the catalog at intervals: a killed daemon forgets the last
/// half minute, a stopped one nothing.
package final class CacheKeeper: Sendable {
    private struct State {
        /// Not in the catalog yet.
        var used: [InodeID: FileTime] = [:]
        var recorded: ContinuousClock.Instant
        /// When the catalog was last compacted.
        var compacted: ContinuousClock.Instant?
        /// Documents that the provider wants kept; asked again after a program has closed the document again.
        var kept: Set<InodeID> = []
    }
    private let state: AdaptiveMutex<State>
    let mount: MountState
    let client: StoreClient
    let evictor: Evictor
    private let turn = AsyncSemaphore(1)
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    init(mount: MountState, client: StoreClient, evictor: Evictor) {
        self.mount = mount
        state = AdaptiveMutex(State(recorded: mount.clock.now))
        self.client = client
        self.evictor = evictor
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        mount.room.attach(
            makeRoom: { [weak self] in await self?.tidy(for: $0) ?? 0 }, grown: { [weak self] in self?.wake() })
    }

    // MARK: Notifications

    /// A program closed a document, or the document was downloaded on demand.
    func used(_ inode: InodeID) {
        state.withLock { state in
            state.used[inode] = mount.clock.date
            state.kept.remove(inode)
        }
        mount.room.mayHelp()
        wake()
    }

    /// There may be more bytes here, or more that can be evicted. Never blocks; from any thread.
    func wake() { waker.yield() }

    // MARK: The loop

    /// Checks the limits after changes, at most once a second, and every half minute (other programs fill the disk
    /// too). Runs until its task is cancelled.
    func run() async {
        let ticker = Task { [waker, clock = mount.clock] in
            while (try? await clock.sleep(for: .seconds(30))) != nil { waker.yield() }
        }
        defer { ticker.cancel() }
        wake()
        for await _ in wakes {
            if Task.isCancelled { break }
            await tidy()
            compactCatalog()
            if state.withLock({ $0.recorded.duration(to: mount.clock.now) > .seconds(5) }) { record() }
            try? await mount.clock.sleep(for: .seconds(1))
        }
    }

    /// Evicts until the limits are kept again, or nothing is left to evict. One round at a time; other callers wait for
    /// a round of their own.
    ///
    /// - Returns: the number of bytes evicted.
    @discardableResult
    func tidy(for need: Need = Need()) async -> Int64 {
        // A task of its own, so that the round is done even if the caller is cancelled.
        await Task(executorPreference: mount.workers) { [self] in
            do {
                try await turn.enter()
                defer { turn.leave() }
                let round = EvictionRound(keeper: self, need: need)
                guard try round.isNeeded() else { return 0 }
                record()
                let before = mount.room.free()?.free
                let evicted = try await round.run()
                if let before, evicted > 0 { await settle(before + evicted / 2) }
                mount.reserveRoom()
                return evicted
            } catch {
                mount.logger.error("cannot look for documents to evict", metadata: ["error": "\(error)"])
                return 0
            }
        }.value
    }

    private func compactCatalog() {
        let isDue = state.withLock { state in
            if let last = state.compacted, last.duration(to: mount.clock.now) < .seconds(20) { return false }
            state.compacted = mount.clock.now
            return true
        }
        guard isDue else { return }
        do {
            if try mount.catalog.compact() { mount.reserveRoom() }
        } catch {
            // (On a full disk, for example. Tried again later.)
            mount.logger.debug("cannot compact the catalog", metadata: ["error": "\(error)"])
        }
    }

    /// Waits a moment for the disk to free the space, which happens when the last descriptor is closed: otherwise the
    /// next round would evict more than it needs.
    private func settle(_ free: Int64) async {
        for _ in 0..<20 {
            guard let now = mount.room.free()?.free, now < free else { return }
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// Writes the times of last use to the catalog.
    package func record() {
        let used = state.withLock { state in
            defer { state.used = [:] }
            state.recorded = mount.clock.now
            return state.used
        }
        guard !used.isEmpty else { return }
        do {
            try mount.catalog.write { try $0.recordUse(used) }
        } catch {
            // Newer times stay.
            state.withLock { $0.used.merge(used) { newer, _ in newer } }
            mount.logger.error("cannot record when documents were used", metadata: ["error": "\(error)"])
        }
    }

    // MARK: The provider's answers

    func isKept(_ inode: InodeID) -> Bool { state.withLock { $0.kept.contains(inode) } }

    func keep(_ inode: InodeID) { state.withLock { _ = $0.kept.insert(inode) } }

    func wasEvicted(_ inode: InodeID) { state.withLock { _ = $0.kept.remove(inode) } }
}
