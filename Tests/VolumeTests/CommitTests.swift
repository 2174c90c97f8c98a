import ContentStore
import FileProvider
import ItemCatalog
import Testing
import Trees
import Volume

/// What follows from a commit, and from a transaction that fails.
@Suite struct CommitTests {
    /// A daemon commits for months.
    @Test func aTransactionLeavesNothingInMemory() throws {
        let test = try TestVolume(settle: 60)
        weak var transaction: TreeTransaction?
        try test.catalog.write { transaction = $0.transaction }
        #expect(transaction == nil)
    }

    /// The next inode gets the same number, and must not find another's bytes there.
    @Test func aFailedTransactionLeavesNoBytes() async throws {
        let test = try TestVolume(settle: 60)
        let (made, opened) = try await test.create("a")
        try test.write(opened.handle, "bytes")
        let inode = made.attributes.record.id
        let other = InodeID(rawValue: inode.rawValue + 100)
        #expect(throws: CatalogError.self) {
            try test.catalog.write { writer in
                try writer.transaction.linkContents?(inode, 1, other)
                throw CatalogError(.diskFull, "full")
            }
        }
        #expect(test.store.status(GenerationID(inode: other.rawValue, number: 1)) == nil)
        try test.close(opened.handle)
    }
}
