import Foundation
import Testing

@testable import ItemCatalog
@testable import Trees

/// A catalog that is closed while somebody is at work in it.
@Suite struct CloseTests {
    /// GRDB would crash: a reader that has a connection, and has not begun, would find it closed.
    @Test func readersGetAnErrorAndNothingWorse() async throws {
        let path = NSTemporaryDirectory() + "hydrant-close-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        for _ in 0..<200 {
            let catalog = try Catalog(path: path, domain: "test:", owner: (0, 0))
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { while (try? catalog.read { try $0.bytesHere() }) != nil {} }
                }
                usleep(UInt32.random(in: 0..<3_000))
                catalog.close()
            }
        }
    }
}
