import FileProvider
import ItemCatalog
import Synchronization
import Testing
import Trees

@testable import SyncEngine

/// The engine's queues learn of commits that concern the store, also where the kernel need not forget anything.
@Suite struct CommitTests {
    @Test func aConfirmationConcernsTheStore() async throws {
        let test = try TestEngine()
        let commits = Mutex<[Bool]>([])
        test.engine.publisher.onCommit { _, concernsStore in commits.withLock { $0.append(concernsStore) } }
        try test.save("a", "text")
        #expect(commits.withLock { $0 } == [])
        let row = try test.item("a")
        let made = Item(
            identifier: ItemIdentifier("x"), parentIdentifier: .rootContainer, filename: "a", kind: .document, size: 4,
            contentModificationDate: FileTime(seconds: 1),
            version: ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1")))
        try test.catalog.write {
            _ = try $0.confirmCreation(
                row.id, as: made, contentRevision: row.contentRevision, metadataRevision: row.metadataRevision)
        }
        #expect(commits.withLock { $0 } == [true])
    }
}
