import Daemon
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import S3Harness
import SyncEngine
import Testing
import Trees
import Volume
import WebDAVHarness

@testable import S3Provider

/// The server does its work, and its answer is lost: for each request that an operation sends, the operation ends as if
/// nothing had happened. Programs get no error, there is no conflicted copy of what is here, and nothing is lost.
@Suite("S3: lost answers", .timeLimit(.minutes(10)))
struct LostAnswerTests {
    /// How the client hears of it.
    enum Loss: String, CaseIterable, Sendable {
        /// The connection ends without a byte: the request is sent again at once.
        case closed
        /// It ends in the head of the answer: the whole operation is tried again later.
        case broken

        var fault: FaultProxy.Fault {
            switch self {
            case .closed: .replyAfterwards("")
            case .broken: .replyAfterwards("HTTP/1.1 2")
            }
        }
    }

    /// One operation at the mount.
    enum Act: String, CaseIterable, Sendable {
        case create, createInParts, createEmpty, makeFolder, change, changeInParts, setMode, setModeInParts
        case delete, deleteLast, deleteFolder, deleteOnlyFolder
        case rename, renameInParts, moveLast, moveFolder, moveFolderInParts, moveEmptyFolder, moveOnlyFolder

        func prepare(_ store: BucketFileSystem, _ provider: S3Provider) throws {
            switch self {
            case .create, .createInParts, .createEmpty, .makeFolder: try store.mkdir("a")
            case .change, .setMode, .rename, .delete:
                try store.mkdir("a")
                try store.put("a/doc", "old")
                try store.put("a/other", "stays")
            case .changeInParts, .setModeInParts, .renameInParts:
                try store.mkdir("a")
                try store.put("a/doc", LostAnswerTests.large("old"))
            // (Without markers, as other programs make folders.)
            case .deleteLast, .moveLast: try Self.put(provider, "a/doc", "old")
            case .deleteFolder, .moveEmptyFolder: try store.mkdir("a")
            case .deleteOnlyFolder, .moveOnlyFolder:
                try Self.put(provider, "a/b/", "")
            case .moveFolder:
                try store.mkdir("a")
                try store.put("a/one", "1")
                try store.mkdir("a/inner")
                try store.put("a/inner/two", "2")
            case .moveFolderInParts:
                try store.mkdir("a")
                try store.put("a/one", LostAnswerTests.large("1"))
            }
        }

        private static func put(_ provider: S3Provider, _ path: String, _ text: String) throws {
            try blocking {
                let digests = S3Digests(Array(text.utf8))
                _ = try await provider.client.put(
                    provider.key(path), .bytes(Array(text.utf8)), sha256: digests.sha256, .own, condition: .none)
            }
        }

        func run(_ files: VolumeFileSystem) throws {
            switch self {
            case .create: try files.put("a/doc", "new")
            case .createEmpty: try files.put("a/doc", "")
            case .createInParts: try files.put("a/doc", LostAnswerTests.large("new"))
            case .makeFolder: try files.mkdir("a/b")
            case .change: try files.put("a/doc", "new")
            case .changeInParts: try files.put("a/doc", LostAnswerTests.large("new"))
            case .setMode, .setModeInParts: try files.chmod("a/doc", 0o600)
            case .delete, .deleteLast: try files.unlink("a/doc")
            case .deleteFolder: try files.rmdir("a")
            case .deleteOnlyFolder: try files.rmdir("a/b")
            case .rename, .renameInParts, .moveLast: try files.rename("a/doc", to: "moved")
            case .moveFolder, .moveFolderInParts, .moveEmptyFolder: try files.rename("a", to: "moved")
            case .moveOnlyFolder: try files.rename("a/b", to: "moved")
            }
        }
    }

    private static func large(_ text: String) -> String {
        String(repeating: text + "\n", count: (6 << 20) / (text.utf8.count + 1) + 1)
    }

    /// One operation, with the answer to one of its requests lost; nil: all arrive.
    ///
    /// - Returns: what it has left, and the number of its requests that change something.
    private static func play(
        _ act: Act, losing number: Int?, _ loss: Loss, _ bucket: S3TestBucket, _ prefix: String
    ) async throws -> (tree: [String: String], changes: [String]) {
        let proxy = try FaultProxy(port: bucket.port)
        defer { proxy.end() }
        let adjust = { (settings: inout S3Settings) in settings.longestPut = 5 << 20 }
        let provider = try bucket.provider(prefix) { settings in
            adjust(&settings)
            settings.endpoint = "http://127.0.0.1:\(proxy.port)"
        }
        let other = try bucket.provider(prefix, adjust)
        // (These try the bucket with requests of their own.)
        _ = try await provider.conditions.parts()
        let isLost = Comment(rawValue: "\(act), without the answer \(number.map(String.init) ?? "-"), \(loss)")
        var times = SyncTimes.quick
        times.poll = 3_600
        let box = Outcome()
        try await withStore(provider, times: times) { store in
            let domain = MountedDomain(volume: store.volume, mountPoint: "/nowhere")
            try blocking { try await provider.beginServing(domain) }
            let remote = BucketFileSystem(other)
            try act.prepare(remote, other)
            let before = try store.files.tree()
            let count = proxy.changes.count
            if let number { proxy.injectIntoChange(number, loss.fault) }
            try act.run(store.files)
            let here = try store.files.tree()
            #expect(here != before || act == .setMode || act == .setModeInParts, isLost)
            var left: [ItemRecord] = []
            for _ in 0..<20 {
                left = try store.sync(limit: 5)
                if left.isEmpty { break }
            }
            #expect(left == [], isLost)
            let changes = Array(proxy.changes.dropFirst(count))
            let there = try remote.tree()
            #expect(there == here, "\(isLost), \(changes)")
            // What a listing brings now changes nothing.
            let folders = try store.catalog.read { try $0.enumeratedFolders() }
            for folder in folders { try? blocking { try await store.volume.engine.enumerate(folder) } }
            #expect(try store.files.tree() == here, "\(isLost), \(changes)")
            #expect(try store.catalog.read { try $0.conflicts() }.isEmpty, isLost)
            if act == .setMode || act == .setModeInParts {
                #expect(try remote.stat("a/doc").mode & 0o777 == 0o600, isLost)
            }
            if let number { #expect(changes.count > number, isLost) }
            #expect(try blocking { try await Self.leftovers(other, prefix) } == [], isLost)
            box.keep(there, changes)
        }
        await provider.invalidate()
        await other.invalidate()
        return box.value
    }

    /// Hydrant's own objects that are still in the bucket.
    private static func leftovers(_ provider: S3Provider, _ prefix: String) async throws -> [String] {
        try await provider.client.list(prefix + "/", isFlat: true).objects.map(\.key).filter {
            $0.contains(S3Key.Reserved.start)
        }
    }

    private final class Outcome: @unchecked Sendable {
        // (Written before `withStore` returns, read after it.)
        private(set) var value: (tree: [String: String], changes: [String]) = ([:], [])
        func keep(_ tree: [String: String], _ changes: [String]) { value = (tree, changes) }
    }

    /// All operations, or a few of them.
    private static let acts = Act.allCases.enumerated().filter { LongTests.areOn || $0.offset % 6 == 0 }.map(\.element)

    @Test("each answer of each operation, lost once", arguments: LongTests.areOn ? S3ServerKind.tested : [.usual])
    func eachAnswer(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { bucket in
            try await withThrowingTaskGroup(of: Int.self) { group in
                var running = 0
                var lost = 0
                for act in Self.acts {
                    if running >= Self.atOnce {
                        lost += try await group.next() ?? 0
                        running -= 1
                    }
                    running += 1
                    group.addTask { try await Self.eachAnswer(of: act, bucket) }
                }
                for try await count in group { lost += count }
                print("\(kind): \(lost) answers were lost")
                #expect(lost > 2 * Self.acts.count)
            }
        }
    }

    @Test(
        "a try of a bucket's conditions leaves nothing, whichever answer is lost",
        .enabled(if: LongTests.areOn, "scripts/test stores"), arguments: S3ServerKind.tested)
    func tries(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { bucket in
            let proxy = try FaultProxy(port: bucket.port)
            defer { proxy.end() }
            typealias Found = (traits: S3Traits, parts: S3PartTraits)
            func look(losing number: Int?, _ loss: Loss, _ prefix: String) async throws -> (found: Found, count: Int) {
                let provider = try bucket.provider(prefix) { $0.endpoint = "http://127.0.0.1:\(proxy.port)" }
                proxy.clear()
                let before = proxy.changes.count
                if let number { proxy.injectIntoChange(number, loss.fault) }
                // (What was interrupted is tried anew.)
                _ = try? await provider.conditions.parts()
                let parts = try await provider.conditions.parts()
                let traits = try await provider.conditions.traits()
                let left = try await Self.leftovers(provider, prefix)
                #expect(left == [], "without the answer \(String(describing: number)), \(loss)")
                await provider.invalidate()
                return ((traits, parts), proxy.changes.count - before)
            }
            let (all, count) = try await look(losing: nil, .closed, "all")
            #expect(all.traits.isSafe)
            for loss in Loss.allCases {
                for number in 0..<count {
                    let found = try await look(losing: number, loss, "\(loss)-\(number)").found
                    #expect(found == all, "without the answer \(number), \(loss)")
                }
            }
        }
    }

    private static let atOnce = 6

    private static func eachAnswer(of act: Act, _ bucket: S3TestBucket) async throws -> Int {
        let usual = try await play(act, losing: nil, .closed, bucket, "\(act)")
        for loss in Loss.allCases {
            for number in usual.changes.indices {
                let found = try await play(act, losing: number, loss, bucket, "\(act)-\(loss)-\(number)")
                #expect(found.tree == usual.tree, "\(act) without the answer to \(usual.changes[number]), \(loss)")
            }
        }
        return usual.changes.count * Loss.allCases.count
    }
}
