import Daemon
import FileProvider
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import Volume
import WebDAVHarness
import WebDAVProvider

/// The table of conflicts over Apache, whose other client works in its folder. The table itself, over a store that can do
/// everything, is in VolumeTests.
@Suite("WebDAV: the table of conflicts", .timeLimit(.minutes(10)))
struct ConflictRowTests {
    private static let rows = ConflictRow.groups.flatMap(\.rows).filter { row in
        (row.before + row.local + row.remote).allSatisfy(\.isForWebDAV)
    }

    private struct Outcome {
        var tree: [String: String]
        var conflicts: [String] = []
        /// Also when a listing has brought the other side's change before.
        var alsoSeen = true
    }

    /// What becomes of it where the server's own names are all that tells one document from another: nothing is lost, but
    /// what somebody else has moved may count as deleted there and made here.
    private static let otherwise: [String: Outcome] = [
        "here: edited, there: renamed and edited": Outcome(tree: ["a": "mine", "new": "theirs"]),
        "here: edited, there: replaced (deleted, and made anew)": Outcome(
            tree: ["a": "theirs", "a (copy)": "mine"], conflicts: ["bothChanged"]),
        "here: edited, there: replaced by another that was renamed": Outcome(
            tree: ["a": "other", "a (copy)": "mine"], conflicts: ["bothChanged"], alsoSeen: false),
        "here: edited, there: replaced by a folder": Outcome(
            tree: ["a": "folder", "a/x": "theirs", "a (copy)": "mine"], conflicts: ["bothChanged"], alsoSeen: false),
        "here: one of two edited, there: the two changed names": Outcome(
            tree: ["a": "other", "a (copy)": "mine", "b": "base"], conflicts: ["bothChanged"], alsoSeen: false),
        "here: two changed names, there: the same two changed names": Outcome(
            tree: ["a": "base", "b": "other"], alsoSeen: false),
        "here: moved into a folder, there: the folder renamed": Outcome(
            tree: ["f": "folder", "f/a": "base", "g": "folder"]),
        "here: a document in it edited, there: the folder moved into another": Outcome(
            tree: [
                "f": "folder", "f/a": "mine", "g": "folder", "g/f": "folder", "g/f/a": "base", "g/f/b": "other",
            ]),
        "here: the folder moved into another, there: that other one moved into it": Outcome(
            tree: [
                "g": "folder", "g/f": "folder", "g/f/a": "base", "g/f/b": "other", "g/f/g": "folder",
                "g/f/g/c": "third",
            ]),
    ]

    @Test func whatIsOtherwiseIsInTheTable() {
        #expect(Self.otherwise.keys.allSatisfy { name in Self.rows.contains { $0.description == name } })
    }

    @Test(arguments: rows, [true, false])
    func row(_ row: ConflictRow, seenBefore: Bool) async throws {
        try await withServer(.apache, .usual) { server in
            let provider = try server.provider()
            var times = SyncTimes.quick
            times.settle = 3_600
            times.settleAfterSync = 3_600
            // Nothing is seen that is not listed.
            times.poll = 3_600
            let remote = RealFileSystem(root: server.root)
            try await withStore(provider, times: times) { store in
                let domain = MountedDomain(volume: store.volume, mountPoint: "/nowhere")
                try blocking { try await provider.beginServing(domain) }
                for act in row.before {
                    if case .read = act { continue }
                    try act.run(at: remote)
                }
                _ = try store.files.tree(reading: false)
                for act in row.before { if case .read = act { try act.run(at: store.files) } }
                try waitUntil(5, "the catalog knows what is here") {
                    try row.before.allSatisfy { act in
                        guard case .read(let path) = act else { return true }
                        let names = path.split(separator: "/").map { Filename(String($0)) }
                        return try store.catalog.read { try $0.resolve(names) }.extents == nil
                    }
                }
                for act in row.local { try act.run(at: store.files) }
                for act in row.remote { try act.run(at: remote) }
                if seenBefore { Self.listEverything(store) }
                let other = Self.otherwise[row.description].flatMap { $0.alsoSeen || !seenBefore ? $0 : nil }
                let (mount, stored) = (other?.tree ?? row.mount, other?.tree ?? row.store ?? row.mount)
                try Self.settle(store) { try store.files.tree() == mount && remote.tree() == stored }
                let (here, there) = (try store.files.tree(), try remote.tree())
                #expect(here == mount, "the mount")
                #expect(there == stored, "the store")
                let conflicts = try store.catalog.read { try $0.conflicts() }.map(\.reason.rawValue)
                #expect(conflicts == other?.conflicts ?? row.conflicts)
                #expect(try store.catalog.read { try $0.allPending(limit: 10) } == [])
            }
            await provider.invalidate()
        }
    }

    /// Syncs and lists until nothing is pending and both sides are as they should be, or it is plain that they will not.
    private static func settle(_ store: InProcessStore, _ isRight: () throws -> Bool) throws {
        for _ in 0..<20 {
            let left = try store.sync(limit: 3)
            listEverything(store)
            if try left.isEmpty && isRight() { return }
        }
    }

    private static func listEverything(_ store: InProcessStore) {
        let folders = (try? store.catalog.read { try $0.enumeratedFolders() }) ?? []
        for folder in folders {
            // (One may be gone.)
            try? blocking { [engine = store.volume.engine] in try await engine.enumerate(folder) }
        }
    }
}

extension ConflictRow.Act {
    fileprivate var isForWebDAV: Bool {
        switch self {
        case .symlink, .hardLink, .chmod, .attribute: false
        default: true
        }
    }
}
