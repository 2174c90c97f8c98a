import Locking
import Trees

/// Which folders are asked for again, and when, where the store says nothing by itself: those that programs look at, ever
/// less often while nothing changes in them.
struct PollingSchedule {
    private struct Look {
        /// When a program last looked into it.
        var seen: ContinuousClock.Instant
        /// When the store was last asked; that is, when its answer was begun.
        var asked: ContinuousClock.Instant
        /// From that question to the next.
        var interval: Duration
        /// Not asked for since somebody has begun to look.
        var isNew = true
    }
    private var looks: [InodeID: Look] = [:]
    private let shortest: Duration
    /// Ten times the shortest: what changes shows after five minutes at the latest.
    private var longest: Duration { shortest * 10 }
    /// Nobody has looked for so long: it is not asked for any more.
    private var memory: Duration { shortest * 60 }
    /// Who looks through all of a large tree does not have all of it asked for ever after.
    static let most = 1_000

    /// - Parameter poll: the shortest time between two questions, in seconds.
    init(poll: Double) { shortest = .seconds(poll) }

    /// - Returns: whether it is so long since the store was asked that it is worth asking now.
    mutating func wasLookedAt(_ folder: InodeID, at now: ContinuousClock.Instant) -> Bool {
        guard var look = looks[folder] else {
            // It has just been listed, or what is shown is from before a restart, of which everything is asked for.
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

    /// Those whose time has come.
    mutating func due(at now: ContinuousClock.Instant) -> [InodeID] {
        looks = looks.filter { $0.value.seen + memory > now }
        return looks.filter { $0.value.asked + $0.value.interval <= now }.sorted { $0.value.asked < $1.value.asked }
            .map(\.key)
    }

    /// Those of which nobody knows how they are, whatever is known of all others.
    var unknown: [InodeID] { looks.filter(\.value.isNew).map(\.key) }

    mutating func asked(_ folder: InodeID, at moment: ContinuousClock.Instant, hasChanged: Bool) {
        guard var look = looks[folder] else { return }
        look.asked = moment
        look.isNew = false
        look.interval = hasChanged ? shortest : min(max(look.interval * 2, shortest), longest)
        looks[folder] = look
    }

    /// Something has changed somewhere: all are asked for at the next opportunity.
    mutating func allAreDue() { for folder in looks.keys { looks[folder]?.interval = .zero } }
}

/// What programs have opened since somebody asked: the folders that it is in count as looked at, found out later.
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
