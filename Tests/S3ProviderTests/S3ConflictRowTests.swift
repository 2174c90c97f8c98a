import Daemon
import FileProvider
import Foundation
import ItemCatalog
import MountHarness
import S3Harness
import S3Provider
import SyncEngine
import Testing
import Trees
import Volume

/// The table of conflicts over a bucket, where another client works as well. The table itself, over a store
/// that can do everything, is in VolumeTests.
@Suite("S3: the table of conflicts", .timeLimit(.minutes(10)))
struct S3ConflictRowTests {
    private static let rows = ConflictRow.groups.flatMap(\.rows).filter { row in
        // (A link that leads elsewhere is the same document, changed: a rename here takes it along.)
        (row.before + row.local + row.remote).allSatisfy(\.isForBuckets)
            && row.description != "here: a link renamed, there: led elsewhere"
    }
    /// Each row twice: whether a listing has brought the other side's change before. Else in turn.
    private static let playsAll = ProcessInfo.processInfo.environment["HYDRANT_TEST_S3_ROWS"] == "all"

    /// A bucket has no identifiers: what the other client has moved counts as deleted there and made here. Then all that
    /// the table keeps is kept, at one place more.
    private static func isExact(_ row: ConflictRow) -> Bool {
        row.remote.allSatisfy { act in
            switch act {
            case .rename, .swap: false
            default: true
            }
        }
    }

    @Test func nothingIsLost() async throws {
        try await withS3(.usual) { server in
            let plays = Self.rows.enumerated().flatMap { number, row in
                (Self.playsAll ? [true, false] : [number.isMultiple(of: 2)]).map { (row, $0) }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, play) in plays.enumerated() {
                    if number >= Self.atOnce { try await group.next() }
                    group.addTask { try await Self.play(play.0, play.1, server, "row-\(number)") }
                }
                try await group.waitForAll()
            }
        }
    }

    private static let atOnce = 6

    private static func play(
        _ row: ConflictRow, _ seenBefore: Bool, _ server: S3TestBucket, _ prefix: String
    ) async throws {
        let provider = try server.provider(prefix)
        let other = try server.provider(prefix)
        var times = SyncTimes.quick
        times.settle = 3_600
        times.settleAfterSync = 3_600
        // Nothing is seen that is not listed.
        times.poll = 3_600
        let remote = BucketFileSystem(other)
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
            let isExact = isExact(row)
            try Self.settle(store) {
                try store.files.tree() == remote.tree() && (!isExact || remote.tree() == row.mount)
            }
            let (here, there) = (try store.files.tree(), try remote.tree())
            let story = Comment(rawValue: "\(row), seen before: \(seenBefore)")
            if isExact {
                #expect(here == row.mount, story)
                #expect(there == row.store ?? row.mount, story)
                let conflicts = try store.catalog.read { try $0.conflicts() }
                #expect(conflicts.count == row.conflicts.count, story)
            } else {
                #expect(here == there, story)
                let kept = Set(here.values)
                #expect(Set(row.mount.values).isSubset(of: kept), story)
            }
            #expect(try store.catalog.read { try $0.allPending(limit: 10) } == [], "\(row)")
        }
        await provider.invalidate()
        await other.invalidate()
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
    /// A bucket has no hard links, and no modes and attributes of folders.
    fileprivate var isForBuckets: Bool {
        switch self {
        case .hardLink: false
        default: true
        }
    }
}
