import FileProvider
import ItemCatalog
import MountHarness
import Testing
import Trees

/// The clock on the wall was set back: moments in the catalog lie further ahead than they ever should.
@Suite struct ClockTests {
    private let test: TestCatalog
    private var catalog: Catalog { test.catalog }
    private static let hour: Int64 = 3_600_000_000_000

    init() throws {
        test = try TestCatalog()
        try test.list([])
    }

    @Test(arguments: ["ready_at", "retry_at"])
    func whatWaitsLongerThanAnythingDoesIsFound(column: String) throws {
        try test.create("a")
        func waitsTooLong() throws -> Bool {
            try catalog.read { try $0.waitsTooLong(settle: 60, retry: 300) }
        }
        #expect(try !waitsTooLong())
        let soon = FileTime.now.adding(seconds: 59).nanoseconds
        try SQLite.execute("UPDATE item SET \(column) = \(soon) WHERE id > 1", in: catalog.path)
        #expect(try !waitsTooLong())
        try SQLite.execute("UPDATE item SET \(column) = \(column) + \(Self.hour) WHERE id > 1", in: catalog.path)
        #expect(try waitsTooLong())
        try catalog.write { try $0.settleNow(retrying: true) }
        #expect(try !waitsTooLong())
        #expect(try catalog.read { try $0.pending(at: .now, limit: 9) }.count == 1)
    }

    /// Else it would be sent at once.
    @Test func aChangeThatIsMadeMeanwhileIsNotFound() async throws {
        let (catalog, defaults) = (catalog, test.defaults)
        let inode = try test.create("a").id
        async let writing: Void = onThread {
            for size in 0..<5_000 {
                try catalog.write { writer in
                    _ = try writer.recordWritten(
                        inode, size: Int64(size), modified: .now, mark: .modified, settle: 60)
                    _ = try writer.endWriting(inode, settle: 60, defaults: defaults)
                }
            }
        }
        let found = try await onThread {
            try (0..<20_000).count { _ in try catalog.read { try $0.waitsTooLong(settle: 60, retry: 300) } }
        }
        try await writing
        #expect(found == 0)
    }

    @Test func aWriterAtWorkWaitsForNoMoment() throws {
        let inode = try test.create("a")
        try catalog.write { try $0.beginWriting(inode.id, generation: 1, mark: .modified) }
        #expect(try !catalog.read { try $0.waitsTooLong(settle: 60, retry: 300) })
    }

    /// Else it would be kept before all that was used since.
    @Test func whatWasUsedAheadOfTheClockWasUsedNow() throws {
        for name in ["a", "b"] as [Filename] {
            let inode = try test.create(name)
            try test.edit(inode.id)
            try test.confirm(inode.id, as: name.string)
        }
        let (a, b) = (try test.inode("a").id, try test.inode("b").id)
        try SQLite.execute(
            "UPDATE inode SET here = 99, used = \(FileTime.now.nanoseconds + Self.hour) WHERE id = \(a.rawValue)",
            in: catalog.path)
        try SQLite.execute("UPDATE inode SET here = 99 WHERE id = \(b.rawValue)", in: catalog.path)
        #expect(try catalog.read { try $0.isUsedAhead(of: .now) })
        try catalog.write { try $0.recordUse([:]) }
        #expect(try !catalog.read { try $0.isUsedAhead(of: .now) })
        try catalog.write { try $0.recordUse([b: .now]) }
        let order = try SQLite.execute("SELECT id FROM inode WHERE here = 99 ORDER BY used, id", in: catalog.path)
        #expect(order == [["\(a.rawValue)"], ["\(b.rawValue)"]])
    }
}
