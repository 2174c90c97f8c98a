import ContentStore
import ItemCatalog
import Locking
import SyncEngine
import Trees

/// Inodes and files that nobody needs any more, on their way out. First come inodes whose rows are removed. Then come
/// files that wait until their removal is durable: a power loss may bring back a catalog that still has a document
/// which another one has replaced, and its bytes must be there then, if they were fsynced and never sent. Last come
/// files that may be removed now.
final class DeferredRemovals: Sendable {
    private struct State {
        var dead: [InodeID] = []
        var waiting: [GenerationID] = []
        var bytes: Int64 = 0
        var free: [GenerationID] = []
    }
    private let state = AdaptiveMutex(State())
    private static let (most, mostBytes) = (256, Int64(4 << 20))

    /// - Returns: whether so much waits by now that it should be made durable (``take()``).
    func add(_ id: GenerationID, bytes: Int64) -> Bool {
        state.withLock { state in
            state.waiting.append(id)
            state.bytes += bytes
            return state.waiting.count >= Self.most || state.bytes >= Self.mostBytes
        }
    }

    /// All files that wait. The caller removes them once the catalog is durable.
    func take() -> [GenerationID] {
        state.withLock { state in
            defer { (state.waiting, state.bytes) = ([], 0) }
            return state.waiting
        }
    }

    /// The inode has neither a name nor a user.
    func bury(_ inode: InodeID) { state.withLock { $0.dead.append(inode) } }

    func takeInodes() -> [InodeID] {
        state.withLock { state in
            defer { state.dead = [] }
            return state.dead
        }
    }

    /// The catalog is durable that does not need these files any more.
    func free(_ ids: [GenerationID]) { state.withLock { $0.free += ids } }

    func takeFiles() -> [GenerationID] {
        state.withLock { state in
            defer { state.free = [] }
            return state.free
        }
    }
}

extension Volume {
    /// After this returns, all that has been committed survives power loss.
    ///
    /// - Parameter isAwaited: a program waits, so files that may go now are removed after the return.
    func synchronizeCatalogNow(isAwaited: Bool = false) throws {
        let gone = deferredRemovals.take()
        do { try catalog.synchronize() } catch {
            for id in gone { _ = deferredRemovals.add(id, bytes: 0) }
            throw error
        }
        if gone.isEmpty { return }
        if isAwaited {
            deferredRemovals.free(gone)
            seeToItLater()
        } else {
            for id in gone { mount.store.removeSetAside(id) }
        }
    }
}
