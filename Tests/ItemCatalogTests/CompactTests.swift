import FileProvider
import Foundation
import Testing

@testable import ItemCatalog
@testable import Trees

/// What a catalog gives back to the disk.
@Suite struct CompactTests {
    private let catalog: TestCatalog

    init() throws { catalog = try TestCatalog() }

    private func bytes(_ suffix: String = "") throws -> Int {
        try #require(
            try FileManager.default.attributesOfItem(atPath: catalog.directory + "/catalog" + suffix)[.size] as? Int)
    }

    private func items(_ range: Range<Int>) -> [Item] {
        range.map { remote("id\($0)", Filename("a document with quite a long name, number \($0)")) }
    }

    @Test("after many deletions the catalog shrinks to the size of its contents") func many() throws {
        try catalog.list(items(0..<30_000))
        _ = try catalog.catalog.compact()
        #expect(try bytes() + bytes("-wal") > 10 << 20, "nothing is free yet")
        try catalog.catalog.write { writer in
            try writer.mergeDeletions(
                of: (1..<30_000).map { ItemIdentifier("id\($0)") }, mayHold: false, defaults: catalog.defaults)
        }
        let left = try catalog.catalog.read { try $0.children(of: .root, after: 0, limit: 10).count }
        #expect(left == 1)
        #expect(try catalog.catalog.compact())
        #expect(try bytes() < 4 << 20)
        #expect(try bytes("-wal") < 1 << 20)
        #expect(try catalog.catalog.read { try $0.children(of: .root, after: 0, limit: 10) }.count == 1)
        #expect(try !catalog.catalog.compact(), "there is nothing to give back any more")
        // Numbers are not used again.
        let last = try catalog.catalog.read { try $0.lastItem() }
        try catalog.list(items(0..<1) + items(40_000..<40_001))
        #expect(try catalog.catalog.read { try $0.lastItem() }.rawValue == last.rawValue + 1)
    }

    @Test("a long log is truncated when it restarts, or when nobody writes") func log() throws {
        func fill() throws {
            let text = String(repeating: "x", count: 4_000)
            try catalog.catalog.write { writer in
                for number in 0..<12_000 { try writer.takeNote("note \(number)", text) }
            }
            #expect(try bytes("-wal") > 40 << 20)
        }
        try fill()
        var round = 0
        while try bytes("-wal") > 17 << 20, round < 10_000 {
            round += 1
            try catalog.catalog.write { try $0.takeNote("round", "\(round)") }
        }
        #expect(try bytes("-wal") <= 17 << 20)
        try fill()
        #expect(try catalog.catalog.compact())
        #expect(try bytes("-wal") < 1 << 20)
        #expect(try catalog.catalog.read { try $0.note("note 7") }?.count == 4_000)
    }
}
