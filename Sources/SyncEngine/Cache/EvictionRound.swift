import FileProvider
import ItemCatalog
import Locking
import Logging
import Trees

/// One check of the limits, with the evictions that they ask for.
///
/// The order: first a document that is larger than the limit by itself (it would empty the cache for nothing); then the
/// least recently used; and documents that the provider wants kept only when nothing else is left. Documents that are
/// pinned, modified, excluded or in use are skipped, not waited for: the next round checks them again.
struct EvictionRound {
    let keeper: CacheKeeper
    let need: Need
    private var mount: MountState { keeper.mount }
    private var client: StoreClient { keeper.client }
    private var limits: CacheLimits { mount.room.limits }

    func isNeeded() throws -> Bool {
        if need.eviction > 0 || mount.room.lacking(for: need.room) > 0 { return true }
        guard let most = limits.most else { return false }
        // (The use is mostly within the limit even with holes.)
        guard try mount.catalog.read({ try $0.bytesHere() }) > most else { return false }
        return try mount.cacheUse().bytes > most
    }

    /// Returns how many bytes were evicted.
    func run() async throws -> Int64 {
        if try mount.catalog.read({ try $0.isUsedAhead(of: mount.clock.date) }) {
            try mount.catalog.write { try $0.takeBackUse() }
        }
        let pinned = try mount.catalog.read { try $0.hasPins() ? $0.pinnedInodes() : [] }
        var plan = Plan(pinned: pinned)
        if let most = limits.most {
            let use = try mount.cacheUse()
            var here = use.bytes
            var large = try here > most ? mount.catalog.read { try $0.documentsHere(above: most) } : []
            large.removeAll { use.part(of: $0.inode, $0.here) <= most }
            // A program may have so large a document open for long; no other document has to go for it.
            for document in large where isOpen(document.inode) { here -= use.part(of: document.inode, document.here) }
            plan.use = use
            large.removeAll { isOpen($0.inode) }
            if here > most { plan.goal = here - most + CacheLimits.slack(of: most) }
            for document in large { await consider(document, &plan) }
            plan.large = Set(large.map(\.inode))
        }
        plan.roomGoal = need.eviction
        if let (free, minimum) = mount.room.free(), free - need.room < minimum {
            plan.roomGoal = max(plan.roomGoal, minimum + need.room - free + CacheLimits.slack(of: minimum))
        }
        var last: EvictionCandidate?
        while !plan.isReached {
            let batch = try mount.catalog.read { try $0.evictionCandidates(after: last, limit: 100) }
            guard !batch.isEmpty else { break }
            last = batch.last
            for document in batch where !plan.large.contains(document.inode) { await consider(document, &plan) }
        }
        for document in plan.kept { evict(document, &plan) }
        if plan.count > 0 {
            mount.logger.info(
                "evicted the least recently used documents",
                metadata: [
                    "documents": "\(plan.count)", "bytes": "\(plan.freed)",
                    "wanted": "\(max(plan.goal, plan.roomGoal))",
                ])
        }
        return plan.freed
    }

    private struct Plan {
        let pinned: Set<InodeID>
        /// Larger than the limit: these have been considered already.
        var large: Set<InodeID> = []
        /// In bytes: no sum overflows, however large documents claim to be (8 PiB each at most).
        static let most: Int64 = 1 << 62
        /// Document sizes without the holes of large documents; nil where there is no limit for documents.
        var use: CacheUse?
        /// Bytes of documents as ``use`` counts them, and below, bytes of the disk: these may be fewer, because of
        /// holes.
        var goal: Int64 = 0
        var freed: Int64 = 0
        var roomGoal: Int64 = 0
        var roomFreed: Int64 = 0
        var isReached: Bool { freed >= goal && roomFreed >= roomGoal }
        var count = 0
        /// Documents that the provider wants kept, least recently used first.
        var kept: [EvictionCandidate] = []
        /// The provider did not answer in time: it is not asked again, and every document counts as kept.
        var isSilent = false
    }

    private func isOpen(_ inode: InodeID) -> Bool { mount.volume?.isOpen(inode) == true }

    private func consider(_ document: EvictionCandidate, _ plan: inout Plan) async {
        guard !plan.isReached, !plan.pinned.contains(document.inode), !isOpen(document.inode) else { return }
        if await isKept(document.inode, &plan) {
            plan.kept.append(document)
        } else {
            evict(document, &plan)
        }
    }

    private func evict(_ document: EvictionCandidate, _ plan: inout Plan) {
        if plan.isReached { return }
        do {
            let evicted = try keeper.evictor.evict(document.inode)
            plan.freed = min(
                plan.freed + (plan.use?.part(of: document.inode, evicted.bytes) ?? evicted.bytes), Plan.most)
            plan.roomFreed = min(plan.roomFreed + evicted.room, Plan.most)
            plan.count += 1
            keeper.wasEvicted(document.inode)
        } catch {
            mount.logger.debug(
                "not evicted", metadata: ["inode": "\(document.inode)", "error": "\(error)"])
        }
    }

    private func isKept(_ inode: InodeID, _ plan: inout Plan) async -> Bool {
        if plan.isSilent || keeper.isKept(inode) { return true }
        guard let item = try? mount.catalog.read({ try $0.item(of: inode) }), !item.isModified,
            let identifier = item.identifier
        else { return true }
        // The disk may be full and the store away.
        let disposition = await client.stopProviding(
            identifier, at: mount.path(of: item), within: .seconds(2))
        switch disposition {
        case .evict: return false
        case .keep:
            keeper.keep(inode)
            return true
        case nil:
            plan.isSilent = true
            return true
        }
    }
}
