import FileProvider
import ItemCatalog
import Trees

/// Takes a long listing page by page, so that it is never in memory as a whole. In a first listing, each part goes into
/// the catalog, while the next one arrives; in later listings, unchanged items are dropped at once.
struct ListingParts {
    private enum Way {
        /// Nothing has been taken yet.
        case notDecided
        /// The folder was empty before: each part is written to the catalog. (Nobody sees the listing before its end.)
        case writing
        /// Items that the catalog has unchanged are dropped.
        case comparing
    }
    private let mount: MountState
    private let remote: RemoteState
    private let folder: InodeID
    private let moment: UInt64
    private var way = Way.notDecided
    private var isInOrder = true
    private var last: Filename?
    /// The number of items left for the end, and of the items after them that have been looked at.
    private var (kept, examined) = (0, 0)
    /// A part that is being written to the catalog.
    private var underWay: (items: [Item], task: Task<MergedPart?, any Error>)?

    /// Catalog rows that the listing confirms.
    private(set) var known: Set<ItemID> = []
    /// How many items were dropped.
    private(set) var count = 0
    /// How many items came in all.
    private(set) var seen = 0
    private(set) var refused: [(name: Filename, reason: String)] = []

    /// Shorter listings are taken as a whole.
    static let size = 2_000
    /// Unordered items are written all over the catalog's indexes, which is dear in a large catalog: a part has half as
    /// many items as came before it, within this range.
    static let sizeWithoutOrder = 10_000...50_000
    /// Rows taken back in one transaction; others want to write too.
    private static let takenBack = 500

    init(mount: MountState, remote: RemoteState, folder: InodeID, since moment: UInt64) {
        self.mount = mount
        self.remote = remote
        self.folder = folder
        self.moment = moment
    }

    /// - Parameter items: the items so far that were not dropped.
    mutating func take(_ items: inout [Item]) async throws {
        seen = count + items.count + (underWay?.items.count ?? 0)
        if items.count - kept - examined >= Self.size { try await takePart(&items) }
    }

    /// Writes the rest of a listing that was written in parts.
    mutating func end(_ items: inout [Item]) async throws {
        seen = count + items.count + (underWay?.items.count ?? 0)
        try await finishWriting(&items)
        if way == .writing {
            beginToWrite(&items)
            try await finishWriting(&items)
        }
    }

    /// The listing has failed; nothing is written when this returns.
    mutating func giveUp() async {
        var items: [Item] = []
        kept = 0
        try? await finishWriting(&items)
    }

    /// Takes the parts back: the listing failed. Call ``giveUp()`` before.
    func takeBack() throws {
        if way != .writing { return }
        let rows = Array(known)
        for start in stride(from: 0, to: rows.count, by: Self.takenBack) {
            try remote.takeChange(isFirstListing: true) { writer in
                try writer.takeBackPart(
                    rows[start...].prefix(Self.takenBack), unless: { mount.volume?.isOpen($0) ?? false },
                    defaults: mount.defaults)
            }
        }
    }

    private mutating func takePart(_ items: inout [Item]) async throws {
        if way != .comparing {
            for item in items[(kept + examined)...] where isInOrder {
                if let last, item.filename < last { isInOrder = false }
                last = item.filename
            }
            examined = items.count - kept
            let sizes = Self.sizeWithoutOrder
            if !isInOrder, examined < min(max(sizes.lowerBound, count / 2), sizes.upperBound) { return }
            try await finishWriting(&items)
            if way != .comparing { beginToWrite(&items) }
        }
        if way == .comparing { try compare(&items) }
    }

    /// Begins to write the items that were not kept. Call ``finishWriting(_:)`` before.
    private mutating func beginToWrite(_ items: inout [Item]) {
        let others = way == .notDecided ? nil : known
        let new = Array(items[kept...])
        items.removeSubrange(kept...)
        examined = 0
        let task = Task(executorPreference: mount.workers) { [mount, remote, folder, moment, isInOrder] in
            let sorted = isInOrder ? new : new.sorted { $0.filename < $1.filename }
            return try remote.takeChange(isFirstListing: true) { writer in
                let ignored = remote.ownChanges.since(moment)
                let items = try remote.ownChanges.withoutHalfMade(sorted, since: moment, writer).certain
                return try writer.mergePart(
                    of: folder, items, after: others, ignoring: ignored, defaults: mount.defaults)
            }
        }
        underWay = (new, task)
    }

    /// Waits for the part that is being written.
    private mutating func finishWriting(_ items: inout [Item]) async throws {
        guard let (new, task) = underWay.take() else { return }
        guard let part = try await task.value else {
            // The folder was not empty before; nothing was written.
            way = .comparing
            items.insert(contentsOf: new, at: kept)
            return
        }
        way = .writing
        known.formUnion(part.known)
        refused += part.refused
        items.insert(contentsOf: part.waiting, at: kept)
        kept += part.waiting.count
        count += new.count - part.waiting.count
    }

    private mutating func compare(_ items: inout [Item]) throws {
        let (new, unchanged) = try mount.catalog.read { reader -> ([Item], [ItemIdentifier: ItemID]) in
            guard let row = try reader.item(of: folder) else { return (Array(items[kept...]), [:]) }
            var unchanged: [ItemIdentifier: ItemID] = [:]
            let new = try items[kept...].filter { item in
                guard let id = try reader.unchangedItem(item, in: row.id) else { return true }
                unchanged[item.identifier] = id
                return false
            }
            return (new, unchanged)
        }
        // When a file is renamed while the pages come, its later entry is right.
        let before = items[..<kept].filter { item in
            guard unchanged[item.identifier] != nil else { return true }
            refused.append((item.filename, "another item has the same identifier"))
            return false
        }
        count += items.count - before.count - new.count
        known.formUnion(unchanged.values)
        items = before + new
        (kept, examined) = (items.count, 0)
    }
}
