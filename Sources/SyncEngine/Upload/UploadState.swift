import FileProvider
import ItemCatalog
import Locking
import Synchronization
import Trees

/// What uploads remember from one step to the next; none of it survives the daemon, or needs to.
final class UploadState: Sendable {
    let creations: RecentCreations
    let copies = CopySources()
    let sentByOthers = SentByOthers()
    let loneFailures = LoneFailures()
    let repeatedConflicts = RepeatedConflicts()
    private let catalog: Catalog
    private let clock: any EngineClock
    private struct Durable {
        var moment = FileTime(nanoseconds: 0)
        /// When the clock is set back, `moment` no longer tells what came first.
        var clock = WallClock(tolerance: Durable.tolerance)
        static let tolerance = 0.001
    }
    private let durable = AdaptiveMutex(Durable())
    private let isDiskSlow = Atomic(false)

    init(_ catalog: Catalog, _ clock: any EngineClock) {
        self.catalog = catalog
        self.clock = clock
        creations = RecentCreations(clock)
    }

    /// Whether a large document is copied and hashed before it is sent, not meanwhile: the disk is much slower than the
    /// network, so that the server would wait for the last byte.
    var preparesFirst: Bool { isDiskSlow.load(ordering: .relaxed) }
    func prepareFirst() { isDiskSlow.store(true, ordering: .relaxed) }

    /// Makes commits up to `moment` survive a power loss: a document to be deleted in the store may be the last copy of
    /// bytes that moved elsewhere here.
    func makeDurable(_ moment: FileTime) throws(CatalogError) {
        let isDurable = durable.withLock { durable in
            if durable.clock.wasSetBack() { durable.moment = FileTime(nanoseconds: 0) }
            return durable.moment >= moment.adding(seconds: Durable.tolerance)
        }
        if isDurable { return }
        let now = clock.date
        try catalog.synchronize()
        durable.withLock { durable in
            // (If the clock was set back during the sync, the next call syncs again.)
            if !durable.clock.wasSetBack() { durable.moment = max(durable.moment, now) }
        }
    }

    /// Whether another program sends the item, so that it is not sent from here now.
    func isSentByOthers(_ item: ItemRecord) -> Bool {
        let held = sentByOthers.held
        if held.isEmpty { return false }
        // When the catalog does not answer, wait.
        guard let above = try? catalog.read({ try $0.folders(above: item.id) }) else { return true }
        let isHeld =
            ([item.id] + above).contains { held.contains(.item($0)) }
            || [item.local, item.base].contains { place in
                place.map { held.contains(.name(folder: $0.parent, $0.name)) } ?? false
            }
        if isHeld { sentByOthers.markMaybeSent(item.id) }
        return isHeld
    }
}
