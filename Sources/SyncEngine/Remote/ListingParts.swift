import FileProvider
import ItemCatalog

/// Takes a long listing while its pages come, so that it is never in memory as a whole: of a folder that is listed for the
/// first time each part goes into the catalog, and of one that is known what has not changed is let go of.
struct ListingParts {
    private enum Way {
        /// Nothing has been taken yet.
        case notDecided
        /// Nothing was in the folder before: each part is written down. (Nobody is shown the listing before its end.)
        case writing
        /// What the catalog has as well is let go of.
        case comparing
        /// The store gives what is new in no order: in parts that would be written all over the catalog, many times.
        case whole
    }
    private let context: SyncContext
    private let folder: InodeID
    private let moment: UInt64
    private var way = Way.notDecided
    /// So many of the items that wait have been compared.
    private var compared = 0
    private var last: Filename?

    /// Rows of which the listing says what the catalog has.
    private(set) var known: Set<ItemID> = []
    /// How many items were let go of.
    private(set) var count = 0
    private(set) var refused: [(name: Filename, reason: String)] = []

    /// Shorter listings are taken at once.
    static let size = 2_000

    init(context: SyncContext, folder: InodeID, since moment: UInt64) {
        self.context = context
        self.folder = folder
        self.moment = moment
    }

    /// - Parameter items: what has come so far and was not let go of.
    mutating func take(_ items: inout [Item]) throws {
        if items.count - compared >= Self.size { try takePart(&items) }
    }

    /// The rest of a listing of which something was written down.
    mutating func end(_ items: inout [Item]) throws {
        if way == .writing { try takePart(&items) }
    }

    private mutating func takePart(_ items: inout [Item]) throws {
        switch way {
        case .notDecided, .writing:
            if !isInOrder(items) {
                way = way == .writing ? .comparing : .whole
            } else if try write(items) {
                way = .writing
                count += items.count
                items = []
            } else {
                way = .comparing
            }
        case .comparing, .whole: break
        }
        if way == .comparing { try compare(&items) }
    }

    private mutating func isInOrder(_ items: [Item]) -> Bool {
        for item in items {
            if let last, item.filename < last { return false }
            last = item.filename
        }
        return true
    }

    /// - Returns: false when something was in the folder before; then nothing was written.
    private mutating func write(_ items: [Item]) throws -> Bool {
        let isFirst = way == .notDecided
        let part = try context.takeRemoteChange(isFirstLook: true) { writer in
            let ignored = context.ownChanges.since(moment)
            let items = try context.ownChanges.withoutHalfMade(items, since: moment, writer).certain
            return try writer.mergePart(
                of: folder, items, isFirst: isFirst, ignoring: ignored, defaults: context.defaults)
        }
        guard let part else { return false }
        known.formUnion(part.known)
        refused += part.refused
        return true
    }

    private mutating func compare(_ items: inout [Item]) throws {
        let (new, unchanged) = try context.catalog.read { reader -> ([Item], [ItemIdentifier: ItemID]) in
            guard let row = try reader.item(of: folder) else { return (Array(items[compared...]), [:]) }
            var unchanged: [ItemIdentifier: ItemID] = [:]
            let new = try items[compared...].filter { item in
                guard let id = try reader.unchangedItem(item, in: row.id) else { return true }
                unchanged[item.identifier] = id
                return false
            }
            return (new, unchanged)
        }
        // Of a file that is renamed while the pages come, what came later is right.
        let before = items[..<compared].filter { item in
            guard unchanged[item.identifier] != nil else { return true }
            refused.append((item.filename, "another item has the same identifier"))
            return false
        }
        count += items.count - before.count - new.count
        known.formUnion(unchanged.values)
        items = before + new
        compared = items.count
    }
}
