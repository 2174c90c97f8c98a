import FileProvider
import GRDB
import Testing

@testable import ItemCatalog
@testable import Trees

/// What the bytes on this machine amount to.
@Suite struct HereTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog() }

    /// All, and what could be evicted.
    private func sums() throws -> [Int64] {
        try catalog.catalog.read { [try $0.bytesHere(), try $0.evictableBytes()] }
    }

    @Test("impossible sizes count as 8 PiB each, and their sum does not overflow") func impossible() throws {
        for name in ["a", "b"] { try catalog.edit(try catalog.create(Filename(name)).id, size: .max) }
        #expect(try sums()[0] == 2 * Item.largestSize)
        #expect(try catalog.catalog.read { try $0.inode(try $0.resolve(["a"]).id).size } == .max)
    }

    /// As catalogs have it that an earlier release wrote.
    @Test("a catalog with impossible sizes can be summed") func kept() throws {
        try catalog.list((0..<2_000).map { remote("id\($0)", Filename("\($0)"), size: 100) })
        #expect(try sums() == [0, 0])
        try catalog.catalog.write {
            try $0.db.execute(
                sql: "UPDATE inode SET extents = NULL, size = ?1, here = ?1 WHERE kind = 0", arguments: [Int64.max])
        }
        #expect(try sums() == [1 << 62, 1 << 62])
        let (all, candidates) = try catalog.catalog.read {
            (try $0.documentsHere(above: 1 << 60), try $0.evictionCandidates(after: nil, limit: 3_000))
        }
        #expect(all.count == 2_000 && candidates.count == 2_000)
        #expect((all + candidates).allSatisfy { $0.here == Item.largestSize })
        try catalog.catalog.write {
            try $0.db.execute(sql: "UPDATE inode SET here = 100 WHERE kind = 0")
        }
        #expect(try sums() == [200_000, 200_000])
    }
}
