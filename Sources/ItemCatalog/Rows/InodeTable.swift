import FileProvider
import Trees

/// Table `inode`. The search's index reads `here`; the rules never do.
enum InodeColumn: Int, TableColumn {
    case id, kind, mode, uid, gid, nlink, size, atime, mtime, ctime, btime, target
    case generation, baseSize, extents, writing, stampSize, stampMtime, stampCtime, enumerated
    case rdev, used, splitFrom, here
}

let inodeTable = TableColumns<InodeRecord, InodeColumn>(
    "inode",
    [
        ColumnGroup(.kind, value: \.kind) { $1.add($0.rawValue) },
        ColumnGroup(.mode, value: \.mode) { $1.add(Int64($0)) },
        ColumnGroup(.uid, value: \.uid) { $1.add(Int64($0)) },
        ColumnGroup(.gid, value: \.gid) { $1.add(Int64($0)) },
        ColumnGroup(.nlink, value: \.linkCount) { $1.add($0) },
        ColumnGroup(.size, value: \.size) { $1.add($0) },
        ColumnGroup(.mtime, value: \.modified) { $1.add($0) },
        // Most are the date, and NULL.
        ColumnGroup(stored: ["own_atime"], value: { $0.unlessDate($0.accessed) }) { $1.add($0) },
        ColumnGroup(stored: ["own_ctime"], value: { $0.unlessDate($0.changed) }) { $1.add($0) },
        ColumnGroup(stored: ["own_btime"], value: { $0.unlessDate($0.born) }) { $1.add($0) },
        ColumnGroup(.target, value: \.target) { $1.add($0) },
        ColumnGroup(.generation, value: \.generation) { $1.add($0) },
        ColumnGroup(.baseSize, value: \.baseSize) { $1.add($0) },
        ColumnGroup(.extents, value: \.extents) { $1.add($0?.blob) },
        ColumnGroup(.writing, .stampSize, .stampMtime, .stampCtime, value: \.writing) { mark, bindings in
            let writing: Int64
            var stamp = BackingStamp.none
            switch mark {
            case nil: writing = 0
            case .maybeModified(let seen): (writing, stamp) = (1, seen)
            case .modified: writing = 2
            }
            bindings.add(writing)
            bindings.add(stamp.size)
            bindings.add(stamp.modified)
            bindings.add(stamp.changed)
        },
        ColumnGroup(.enumerated, value: \.isEnumerated) { $1.add($0) },
        ColumnGroup(.rdev, value: \.device) { $1.add(Int64(bitPattern: $0)) },
        ColumnGroup(.used, value: \.used) { $1.add($0.nanoseconds) },
        ColumnGroup(.splitFrom, value: \.splitFrom) { $1.add($0?.rawValue) },
        ColumnGroup(.here, value: { $0.kind == .document ? $0.bytesPresent : 0 }) { $1.add($0) },
    ])

extension InodeRecord {
    fileprivate func unlessDate(_ time: FileTime) -> FileTime? { time == modified ? nil : time }
}

extension Catalog.Reader {
    /// The table's columns, followed by the item's capabilities.
    static let inodeColumns =
        InodeColumn.list(of: "i")
        + ", (SELECT c.remote_capabilities FROM item c INDEXED BY item_capabilities "
        + "WHERE c.inode = i.id AND c.remote_capabilities IS NOT NULL)"
    static let inodeColumnCount = InodeColumn.allCases.count + 1

    static func inode(_ columns: Columns, from first: Int = 0) -> InodeRecord {
        let row = TableRow<InodeColumn>(columns: columns, first: first)
        let writing: WritingMark? =
            switch row.int(.writing) {
            case 0: WritingMark?.none
            case 1:
                .maybeModified(
                    BackingStamp(
                        size: row.int(.stampSize), modified: row.time(.stampMtime), changed: row.time(.stampCtime)))
            default: .modified
            }
        return InodeRecord(
            id: InodeID(rawValue: row.int(.id)), kind: InodeKind(rawValue: row.int(.kind)) ?? .document,
            mode: UInt32(truncatingIfNeeded: row.int(.mode)), uid: UInt32(truncatingIfNeeded: row.int(.uid)),
            gid: UInt32(truncatingIfNeeded: row.int(.gid)), linkCount: row.int(.nlink), size: row.int(.size),
            accessed: row.time(.atime), modified: row.time(.mtime), changed: row.time(.ctime), born: row.time(.btime),
            target: row.bytes(.target), generation: row.int(.generation), baseSize: row.int(.baseSize),
            extents: row.bytes(.extents).map { RangeSet(blob: $0) }, writing: writing,
            isEnumerated: row.bool(.enumerated), device: UInt64(bitPattern: row.int(.rdev)), used: row.time(.used),
            splitFrom: row.intOrNil(.splitFrom).map { ItemID(rawValue: $0) },
            capabilities: ItemCapabilities(column: columns.intOrNil(first + InodeColumn.allCases.count)))
    }
}
