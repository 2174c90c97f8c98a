import FileProvider
import ItemCatalog
import Locking
import Logging
import Trees

/// Calls `stopProvidingItem` some time after the last process closed a document, and evicts the document when the
/// provider says so.
final class StopScheduler: Sendable {
    private struct State {
        var deadlines: [InodeID: SuspendingClock.Instant] = [:]
        /// One timer for all documents: they are closed thousands of times a second.
        var timer: Task<Void, Never>?
    }
    private let mount: MountState
    private let client: StoreClient
    private let evictor: Evictor
    private let state = AdaptiveMutex(State())

    init(mount: MountState, client: StoreClient, evictor: Evictor) {
        self.mount = mount
        self.client = client
        self.evictor = evictor
    }

    func released(_ inode: InodeID) {
        state.withLock { state in
            state.deadlines[inode] = mount.clock.awake + .seconds(mount.times.stopProviding)
            guard state.timer == nil else { return }
            state.timer = Task(executorPreference: mount.workers) { await self.run() }
        }
    }

    func stop() {
        state.withLock { state in
            state.timer?.cancel()
            state = State()
        }
    }

    private func run() async {
        while let next = state.withLock({ $0.deadlines.values.min() }) {
            guard (try? await mount.clock.sleep(until: next)) != nil else { return }
            let due = state.withLock { state in
                let due = state.deadlines.filter { $0.value <= mount.clock.awake }.map(\.key)
                for inode in due { state.deadlines[inode] = nil }
                return due
            }
            for inode in due { await stopProviding(inode) }
            let isOver = state.withLock { state in
                if state.deadlines.isEmpty { state.timer = nil }
                return state.deadlines.isEmpty
            }
            if isOver { return }
        }
    }

    private func stopProviding(_ inode: InodeID) async {
        let found: ItemRecord?
        do { found = try mount.catalog.read { try $0.item(of: inode) } } catch {
            mount.logger.warning(
                "cannot tell the provider that a document is no longer in use",
                metadata: ["inode": "\(inode)", "error": "\(error)"])
            return
        }
        guard mount.volume?.isOpen(inode) != true, let item = found, let identifier = item.identifier else { return }
        guard await client.stopProviding(identifier, at: mount.path(of: item)) == .evict else { return }
        do { _ = try evictor.evict(inode) } catch {
            mount.logger.debug("not evicted", metadata: ["item": "\(mount.path(of: item))", "error": "\(error)"])
        }
    }
}
