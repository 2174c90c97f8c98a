import FileProvider
import ItemCatalog
import Surroundings
import Trees

/// The findings of the store's own search in unlisted folders, until those are listed.
struct StoreResults {
    private var findings: [Int64: StoreFinding] = [:]
    private let uid: UInt32

    init(uid: UInt32) { self.uid = uid }

    mutating func add(_ findings: [StoreFinding]) {
        for finding in findings { self.findings[Self.number(finding.path)] = finding }
    }

    /// The findings that the catalog still lacks, with their present folders.
    mutating func rows(_ reader: Catalog.Reader) throws -> [SearchRow] {
        var rows: [SearchRow] = []
        for (number, finding) in findings {
            guard let (folder, path) = try Self.place(of: finding.path, reader) else {
                findings[number] = nil
                continue
            }
            rows.append(SearchRow(number: number, in: folder, path, finding, uid: uid))
        }
        return rows.sorted { $0.number < $1.number }
    }

    /// Whether a row of this number is a finding of the store.
    static func isOne(_ number: Int64) -> Bool { number > .max / 2 }

    var isEmpty: Bool { findings.isEmpty }

    /// Higher than that of any name; always the same for a path (62 bits).
    private static func number(_ path: [Filename]) -> Int64 {
        .max - Int64(StableHash(path.map(\.bytes).joined(separator: [0])).value >> 2)
    }

    /// The deepest folder of the path that the catalog has, and the names below it.
    ///
    /// - Returns: nil: the catalog has the item, or knows that it is not in its folder, or was deleted here.
    private static func place(of path: [Filename], _ reader: Catalog.Reader) throws -> (InodeID, [Filename])? {
        var (folder, inode) = (ItemID.root, InodeID.root)
        for (index, name) in path.enumerated() {
            let place = TreePlace(parent: folder, name: name)
            guard let item = try reader.remoteOccupant(of: place, otherThan: .root) else {
                let isUnlisted = try !reader.inode(inode).isEnumerated
                return isUnlisted ? (inode, Array(path[index...])) : nil
            }
            guard index < path.count - 1, item.kind.isFolder, item.local != nil, let next = item.inode else {
                return nil
            }
            (folder, inode) = (item.id, next)
        }
        return nil
    }
}
