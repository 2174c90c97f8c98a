import FileProvider
import ItemCatalog
import Locking
import Trees

/// A program that lists one folder after another (find, a backup, a file manager's search) has the next ones coming before
/// it asks: over a long line it would wait for each of them.
///
/// Two folders of one parent, looked into within a few seconds, make a walk; what is fetched ahead of it is bounded, and
/// what nobody comes to see costs one question each.
final class ListingPrefetcher: Sendable {
    private struct Walk {
        var last: InodeID
        var moment: ContinuousClock.Instant
        var length = 1
    }
    private struct State {
        /// By the folder that their folders are in.
        var walks: [InodeID: Walk] = [:]
        var running: Set<InodeID> = []
    }
    private let state = AdaptiveMutex(State())
    private let context: SyncContext
    /// Folders that are fetched ahead at once, of all walks.
    private static let most = 8
    private static let patience = Duration.seconds(3)

    init(context: SyncContext) { self.context = context }

    /// Somebody looks into a folder. Never waits.
    ///
    /// - Parameter fetch: brings a folder's first listing.
    func wasLookedAt(_ folder: InodeID, _ fetch: @escaping @Sendable (InodeID) async -> Void) {
        guard folder != .root, !context.pause.isOn, !context.isKnownToBeAway else { return }
        guard let parent = (try? context.catalog.read { try $0.place(of: folder)?.folder }) ?? nil else { return }
        let isWalk = state.withLock { state -> Bool in
            let now = ContinuousClock.now
            state.walks = state.walks.filter { $0.value.moment.duration(to: now) < Self.patience }
            guard var walk = state.walks[parent] else {
                state.walks[parent] = Walk(last: folder, moment: now)
                return false
            }
            if walk.last != folder { walk.length += 1 }
            (walk.last, walk.moment) = (folder, now)
            state.walks[parent] = walk
            return walk.length > 1
        }
        if isWalk { goOn(in: parent, fetch) }
    }

    /// Fetches the next folders of a walk that has been seen lately.
    private func goOn(in parent: InodeID, _ fetch: @escaping @Sendable (InodeID) async -> Void) {
        let last = state.withLock { state -> InodeID? in
            guard let walk = state.walks[parent], walk.moment.duration(to: .now) < Self.patience,
                state.running.count < Self.most
            else { return nil }
            return walk.last
        }
        guard let last,
            let next = try? context.catalog.read({ try $0.unlistedFolders(in: parent, after: last, limit: Self.most) })
        else { return }
        for folder in next {
            let begins = state.withLock { state in
                state.running.count < Self.most && state.running.insert(folder).inserted
            }
            guard begins else { continue }
            Task(executorPreference: context.workers) { [weak self] in
                await fetch(folder)
                self?.state.withLock { _ = $0.running.remove(folder) }
                self?.goOn(in: parent, fetch)
            }
        }
    }
}
