import ContentStore
import ItemCatalog
import Locking
import SyncEngine

/// Files that go as soon as it is durable that nobody needs them: a power loss may bring back a catalog that still has
/// a document which another one has replaced, and its bytes must be there then, if they were fsynced and never sent.
final class Graveyard: Sendable {
    private struct State {
        var waiting: [GenerationID] = []
        var bytes: Int64 = 0
    }
    private let state = AdaptiveMutex(State())
    private static let (most, mostBytes) = (256, Int64(4 << 20))

    /// - Returns: whether it is time to make it so (``take()``).
    func add(_ id: GenerationID, bytes: Int64) -> Bool {
        state.withLock { state in
            state.waiting.append(id)
            state.bytes += bytes
            return state.waiting.count >= Self.most || state.bytes >= Self.mostBytes
        }
    }

    /// All that wait; whoever takes them removes them once the catalog is durable.
    func take() -> [GenerationID] {
        state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
    }
}

extension Volume {
    /// After this returns, all that has been committed survives power loss.
    ///
    /// - Parameter isAwaited: a program waits: files that may go now are removed behind it.
    func synchronizeCatalogNow(isAwaited: Bool = false) throws {
        let gone = graveyard.take()
        do { try catalog.synchronize() } catch {
            for id in gone { _ = graveyard.add(id, bytes: 0) }
            throw error
        }
        if gone.isEmpty { return }
        let remove: @Sendable () -> Void = { [store = context.store] in for id in gone { store.removeSetAside(id) } }
        if isAwaited { Task(executorPreference: context.workers) { remove() } } else { remove() }
    }
}
