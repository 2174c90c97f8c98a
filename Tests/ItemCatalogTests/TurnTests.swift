import Foundation
import ItemCatalog
import Synchronization
import Testing
import Trees

/// Who looks in turn waits for whoever writes; who just looks does not.
@Suite(.timeLimit(.minutes(10))) struct TurnTests {
    /// What is found while somebody is in the midst of a transaction that changes it.
    ///
    /// - Parameter patience: how long the transaction waits for whoever looks.
    private func found(
        within patience: DispatchTimeInterval, _ read: @escaping @Sendable (Catalog) throws -> String?
    ) throws -> String? {
        let test = try TestCatalog()
        let catalog = test.catalog
        try catalog.write { try $0.takeNote("key", "before") }
        let (writes, reads) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let result = Mutex<Result<String?, any Error>?>(nil)
        Thread.detachNewThread {
            writes.wait()
            let found = Result { try read(catalog) }
            result.withLock { $0 = found }
            reads.signal()
        }
        try catalog.write { writer in
            writes.signal()
            _ = reads.wait(timeout: .now() + patience)
            if result.withLock({ $0 != nil }) { reads.signal() }
            try writer.takeNote("key", "after")
        }
        reads.wait()
        return try result.withLock { $0 }?.get()
    }

    @Test func inTurn() throws {
        let found = try found(within: .milliseconds(500)) { catalog in try catalog.readInTurn { try $0.note("key") } }
        #expect(found == "after")
    }

    @Test func beside() throws {
        let found = try found(within: .seconds(30)) { catalog in try catalog.read { try $0.note("key") } }
        #expect(found == "before")
    }
}
