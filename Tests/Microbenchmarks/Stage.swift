import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import SyncEngine
import Trees
import Volume

/// A volume with a folder of many documents, and the same documents in a folder of the local file system.
final class Stage {
    let store: InProcessStore
    /// The folder of the documents.
    let folder: NodeID
    let inode: InodeID
    let names: [Filename]
    let nodes: [NodeID]
    /// The folder with the same names on the local file system.
    let native: String
    let scratch: String
    var volume: Volume { store.volume }

    init(folder path: String, documents: Int) async throws {
        let provider = InMemoryProvider(pageSize: 1_000)
        let names = (0..<documents).map { "document \($0 + 100_000).txt" }
        for name in names { try provider.put("many/" + name, "text of " + name) }
        try FileManager.default.createDirectory(atPath: path + "/state", withIntermediateDirectories: true)
        var times = SyncTimes()
        // Prevents uploads during the measurement.
        times.settle = 3_600
        store = try InProcessStore(provider: provider, directory: path + "/state", times: times)
        scratch = path
        native = path + "/native"
        try FileManager.default.createDirectory(atPath: native, withIntermediateDirectories: true)
        for name in names { try Data("text of \(name)".utf8).write(to: URL(filePath: native + "/" + name)) }

        self.names = names.map { Filename($0) }
        let many = try await Self.answer { [volume = store.volume] in try volume.lookUp("many", in: .root) }!
        (folder, inode) = (many.node, many.attributes.record.id)
        _ = try await Self.answer { [volume = store.volume, folder] in try volume.openFolder(folder) }
        var nodes: [NodeID] = []
        for name in self.names {
            let found = try await Self.answer { [volume = store.volume, folder] in try volume.lookUp(name, in: folder)
            }!
            nodes.append(found.node)
        }
        self.nodes = nodes
    }

    static func answer<T>(_ call: () throws -> Outcome<T>) async throws -> T {
        while true {
            switch try call() {
            case .ready(let value): return value
            case .wait(let wait): try await wait.run()
            }
        }
    }

    /// For calls that are answered at once, without the provider.
    func now<T>(_ outcome: Outcome<T>) -> T {
        guard case .ready(let value) = outcome else { fatalError("a benchmark waits for the provider") }
        return value
    }

    func stop() async { await store.stop() }
}
