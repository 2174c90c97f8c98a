import FileProvider
import Foundation
import ItemCatalog
import Testing
import Trees
import TreesHarness

/// A catalog and the trees in memory do the same with the same changes, row by row: what the rules are tested with in
/// memory holds for the catalog.
@Suite struct CatalogTreesTests {
    @Test(arguments: UInt64(0)..<12) func rowsAreTheSame(seed: UInt64) throws {
        let kinds: SimulatedKinds = seed % 2 == 0 ? .all : .alone
        var (rows, others): ([[String]], [[String]]) = ([], [])
        let memory = MemoryTrees(at: .now)
        let simulation = try Simulation(seed: seed, kinds, on: memory)
        simulation.afterRound = { rows.append(try memory.read { try Self.rows($0, at: memory.now) }) }
        #expect(try simulation.run() == nil)

        let catalog = try CatalogTrees()
        let other = try Simulation(seed: seed, kinds, on: catalog)
        other.afterRound = { others.append(try catalog.read { try Self.rows($0, at: .now) }) }
        #expect(try other.run() == nil)

        try #require(rows.count == others.count)
        for (one, other) in zip(rows, others) where one != other {
            let difference = other.difference(from: one).map { "\($0)" }
            Issue.record("\(difference.joined(separator: "\n"))")
            return
        }
    }

    /// All rows, without what depends on the time.
    private static func rows(_ reader: some TreeReading, at now: FileTime) throws -> [String] {
        var rows: [String] = []
        let epoch = FileTime(seconds: 0)
        for number in 1..<Int64(2_000) {
            if var item = try reader.item(ItemID(rawValue: number)) {
                item.contentRevision = item.contentRevision == 0 ? 0 : 1
                item.metadataRevision = item.metadataRevision == 0 ? 0 : 1
                item.readyAt = item.readyAt <= now ? epoch : .farFuture
                item.failure?.retryAt = epoch
                item.remoteFacts.modified = epoch
                if item.heldSince != nil { item.heldSince = epoch }
                rows.append("\(item)")
            }
            if var inode = try reader.inodeIfPresent(InodeID(rawValue: number)) {
                (inode.accessed, inode.modified, inode.changed, inode.born) = (epoch, epoch, epoch, epoch)
                rows.append("\(inode)")
                for entry in try reader.children(of: inode.id, after: 0, limit: 1_000) {
                    rows.append("\(number)/\(entry.name) \(entry.cookie) \(entry.inode.id)")
                }
                rows += try reader.conflicts(of: inode.id).map { "\($0.original) \($0.copy) \($0.reason)" }
            }
        }
        return rows
    }
}

/// A catalog in a folder of its own.
private final class CatalogTrees: SimulatedTrees {
    private let directory = NSTemporaryDirectory() + "trees-\(UUID().uuidString)"
    private let catalog: Catalog

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        catalog = try Catalog(path: directory + "/catalog", domain: "test:", owner: (1_000, 1_000))
    }

    deinit {
        catalog.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    var now: FileTime { .now }
    func read<T>(_ body: (Catalog.Reader) throws -> T) throws -> T { try catalog.read(body) }
    func write<T>(_ body: (Catalog.Writer) throws -> T) throws -> T { try catalog.write(body) }
    func settleNow() throws { try catalog.write { try $0.settleNow(retrying: true) } }
}
