import FileProvider
import ItemCatalog
import ItemSearch
import QueryLanguage
import Synchronization
import Testing
import Trees

/// A search that nobody wants to know of any more.
@Suite struct EndingTests {
    private let test = try! SearchedCatalog()

    /// The ways to the results: names, inodes, a folder that is walked, an index.
    @Test(arguments: ["d*.txt", "size:>0", "-zzz", "document OR zzz", "doc"], [false, true])
    func endsSoon(_ text: String, isScoped: Bool) async throws {
        try test.list([document("folder", kind: .folder)])
        let documents = (0..<1_500).map { document("folder/document \($0).txt", in: "id:folder") }
        try test.list(documents, in: try test.inode("folder"))
        try test.grow()
        let asked = Mutex(0)
        let surroundings = SearchSurroundings(downloadFailure: { _ in
            // (It is asked of each result.)
            asked.withLock { $0 += 1 }
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        })
        let predicate = try QueryPredicate(text: text)
        let scopes = isScoped ? [try test.inode("folder")] : nil as Set<InodeID>?
        let (catalog, names) = (test.catalog, test.names)
        let task = Task {
            var search = ItemSearch(predicate, catalog: catalog, names: names, scopes: scopes, surroundings)
            try await search.gather { _ in true }
        }
        await #expect(throws: (any Error).self) { try await task.value }
        let count = asked.withLock { $0 }
        #expect(1...256 ~= count)
    }
}
