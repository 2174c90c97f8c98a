import FileProvider
import ItemCatalog
import Locking
import Trees

/// Lists folders ahead of a program that walks a tree (find, a backup, a file manager's search), which would otherwise
/// wait a round trip for each folder.
///
/// Two folders of one parent, listed within a few seconds, make a walk. The number of folders listed ahead is bounded,
/// and each that the program never opens costs one question.
final class ListingPrefetcher: Sendable {
    private struct Walk {
        var last: InodeID
        var moment: ContinuousClock.Instant
        var length = 1
    }
    private struct State {
        /// By the parent of the folders walked.
        var walks: [InodeID: Walk] = [:]
        var running: Set<InodeID> = []
    }
    private let state = AdaptiveMutex(State())
    private let mount: MountState
    private let client: StoreClient
    private let switches: SyncSwitches
    /// The most folders listed ahead at once, of all walks.
    private static let most = 8
    private static let patience = Duration.seconds(3)

    init(mount: MountState, client: StoreClient, switches: SyncSwitches) {
        self.mount = mount
        self.client = client
        self.switches = switches
    }

    /// A program lists a folder. Never waits.
    ///
    /// - Parameter fetch: brings a folder's first listing.
    func wasListed(_ folder: InodeID, _ fetch: @escaping @Sendable (InodeID) async -> Void) {
        guard folder != .root, !switches.pause.isOn, !client.isKnownToBeAway else { return }
        guard let parent = (try? mount.catalog.read { try $0.place(of: folder)?.folder }) ?? nil else { return }
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

    /// Fetches the next folders of a recent walk.
    private func goOn(in parent: InodeID, _ fetch: @escaping @Sendable (InodeID) async -> Void) {
        let last = state.withLock { state -> InodeID? in
            guard let walk = state.walks[parent], walk.moment.duration(to: .now) < Self.patience,
                state.running.count < Self.most
            else { return nil }
            return walk.last
        }
        guard let last,
            let next = try? mount.catalog.read({ try $0.unlistedFolders(in: parent, after: last, limit: Self.most) })
        else { return }
        for folder in next {
            let begins = state.withLock { state in
                state.running.count < Self.most && state.running.insert(folder).inserted
            }
            guard begins else { continue }
            Task(executorPreference: mount.workers) { [weak self] in
                await fetch(folder)
                self?.state.withLock { _ = $0.running.remove(folder) }
                self?.goOn(in: parent, fetch)
            }
        }
    }
}
