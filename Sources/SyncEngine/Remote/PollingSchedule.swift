import Locking
import Trees

/// When to poll which folders, where the store signals nothing: the folders that programs look at, ever less often
/// while nothing changes in them.
struct PollingSchedule {
    private struct Look {
        /// When a program last looked at the folder.
        var seen: ContinuousClock.Instant
        /// When the store was last asked (when the question began).
        var asked: ContinuousClock.Instant
        /// The time from that question to the next.
        var interval: Duration
        /// Not polled since the first look.
        var isNew = true
    }
    private var looks: [InodeID: Look] = [:]
    private let shortest: Duration
    /// Ten times the shortest: by default, a change shows within five minutes.
    private var longest: Duration { shortest * 10 }
    /// A folder that no program has looked at for this long is not polled any more.
    private var memory: Duration { shortest * 60 }
    /// Cap the polling, so that one `find` does not make us poll the whole tree.
    static let most = 1_000

    /// - Parameter poll: the shortest time between two questions, in seconds.
    init(poll: Double) { shortest = .seconds(poll) }

    /// - Returns: whether the last question is so old that it is worth asking now.
    mutating func wasLookedAt(_ folder: InodeID, at now: ContinuousClock.Instant) -> Bool {
        guard var look = looks[folder] else {
            // The folder has just been listed; or it is from before a restart, after which everything is asked for
            // anyway.
            if looks.count >= Self.most, let oldest = looks.min(by: { $0.value.seen < $1.value.seen })?.key {
                looks[oldest] = nil
            }
            looks[folder] = Look(seen: now, asked: now, interval: shortest)
            return false
        }
        look.seen = now
        look.interval = shortest
        let isStale = look.asked + shortest <= now
        if isStale { look.asked = now }
        looks[folder] = look
        return isStale
    }

    /// The folders that are due.
    mutating func due(at now: ContinuousClock.Instant) -> [InodeID] {
        looks = looks.filter { $0.value.seen + memory > now }
        return looks.filter { $0.value.asked + $0.value.interval <= now }.sorted { $0.value.asked < $1.value.asked }
            .map(\.key)
    }

    /// The folders that were never polled, so that the version of the whole does not vouch for them.
    var unknown: [InodeID] { looks.filter(\.value.isNew).map(\.key) }

    mutating func asked(_ folder: InodeID, at moment: ContinuousClock.Instant, hasChanged: Bool) {
        guard var look = looks[folder] else { return }
        look.asked = moment
        look.isNew = false
        look.interval = hasChanged ? shortest : min(max(look.interval * 2, shortest), longest)
        looks[folder] = look
    }

    /// Something has changed somewhere: polls all folders at the next opportunity.
    mutating func allAreDue() { for folder in looks.keys { looks[folder]?.interval = .zero } }
}

/// Documents opened since the last poll: their folders count as looked at. The folders are looked up later.
final class OpenedDocuments: Sendable {
    private let inodes = AdaptiveMutex<Set<InodeID>>([])

    func add(_ inode: InodeID) {
        inodes.withLock { inodes in
            if inodes.count < PollingSchedule.most { inodes.insert(inode) }
        }
    }

    func take() -> Set<InodeID> {
        inodes.withLock { inodes in
            defer { inodes = [] }
            return inodes
        }
    }
}
