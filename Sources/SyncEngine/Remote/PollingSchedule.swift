import Locking
import Trees

/// When to poll which folders, where the store signals nothing: the folders that programs list, ever less often
/// while nothing changes in them.
struct PollingSchedule {
    private struct Entry {
        /// When a program last looked at the folder.
        var seen: ContinuousClock.Instant
        /// When the store was last asked (when the question began).
        var polled: ContinuousClock.Instant
        /// The time from that question to the next.
        var interval: Duration
        /// Not polled since the first listing.
        var isNew = true
    }
    private var entries: [InodeID: Entry] = [:]
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
    mutating func wasListed(_ folder: InodeID, at now: ContinuousClock.Instant) -> Bool {
        guard var entry = entries[folder] else {
            // The folder has just been listed; or it is from before a restart, after which everything is asked for
            // anyway.
            if entries.count >= Self.most, let oldest = entries.min(by: { $0.value.seen < $1.value.seen })?.key {
                entries[oldest] = nil
            }
            entries[folder] = Entry(seen: now, polled: now, interval: shortest)
            return false
        }
        entry.seen = now
        entry.interval = shortest
        let isStale = entry.polled + shortest <= now
        if isStale { entry.polled = now }
        entries[folder] = entry
        return isStale
    }

    /// The folders that are due.
    mutating func due(at now: ContinuousClock.Instant) -> [InodeID] {
        entries = entries.filter { $0.value.seen + memory > now }
        return entries.filter { $0.value.polled + $0.value.interval <= now }.sorted {
            $0.value.polled < $1.value.polled
        }
        .map(\.key)
    }

    /// The folders that were never polled, so that the version of the whole does not vouch for them.
    var unknown: [InodeID] { entries.filter(\.value.isNew).map(\.key) }

    mutating func polled(_ folder: InodeID, at moment: ContinuousClock.Instant, hasChanged: Bool) {
        guard var entry = entries[folder] else { return }
        entry.polled = moment
        entry.isNew = false
        entry.interval = hasChanged ? shortest : min(max(entry.interval * 2, shortest), longest)
        entries[folder] = entry
    }

    /// Something has changed somewhere: polls all folders at the next opportunity.
    mutating func allAreDue() { for folder in entries.keys { entries[folder]?.interval = .zero } }
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
