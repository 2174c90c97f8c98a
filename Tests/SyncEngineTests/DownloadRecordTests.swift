import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import Synchronization
import Testing
import Trees

@testable import SyncEngine

@Suite("Records of finished downloads in the catalog", .timeLimit(.minutes(5))) struct DownloadRecordTests {
    private let bytes = [UInt8](repeating: 7, count: 10_000)

    private func prepared(_ count: Int) async throws -> (TestEngine, [String]) {
        let test = try TestEngine()
        let names = (1...count).map { "doc\($0)" }
        for name in names { try test.remote.put(name, bytes) }
        try await test.engine.enumerate(.root)
        return (test, names)
    }

    private func isRecorded(_ name: String, _ test: TestEngine) throws -> Bool { try test.inode(name).extents == nil }

    @Test("all of many downloads are recorded, in few transactions") func together() async throws {
        let (test, names) = try await prepared(60)
        let downloads = try names.map { try test.download($0) }
        let edition = test.catalog.edition
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (content, target) in downloads {
                group.addTask {
                    try await test.engine.downloader.provide(0..<content.baseSize, of: content, for: target)
                }
            }
            try await group.waitForAll()
        }
        // (The catalog has it first, then the file is told.)
        #expect(
            try await eventually {
                try names.allSatisfy { try isRecorded($0, test) } && downloads.allSatisfy { $0.0.isRecorded }
            })
        #expect(test.catalog.edition - edition < 40)
        #expect(try test.catalog.read { try $0.undurable().count } == 60)
        test.engine.makeDownloadsDurable()
        #expect(try test.catalog.read { try $0.undurable().isEmpty })
    }

    @Test("a document opened before its download is recorded is found here: the store is not asked again")
    func openedBefore() async throws {
        let (test, _) = try await prepared(1)
        try await {
            let (content, target) = try test.download("doc1")
            try await test.engine.downloader.provide(0..<content.baseSize, of: content, for: target)
        }()
        let (again, target) = try test.download("doc1")
        #expect(again.isComplete)
        try await test.engine.downloader.provide(0..<again.baseSize, of: again, for: target)
        #expect(test.plan.attempts(of: .startProvidingItem) == 1)
    }

    @Test("a user's download is recorded when it is reported, and an evicted document is not recorded later")
    func byHand() async throws {
        let (test, _) = try await prepared(2)
        for name in ["doc1", "doc2"] {
            let inode = try test.inode(name)
            #expect(try await test.engine.download(inode.id) == 10_000)
            #expect(try isRecorded(name, test))
        }
        let (content, _) = try test.download("doc1")
        #expect(try test.engine.evict(test.inode("doc1").id) == 10_000)
        let number = try test.inode("doc1").generation
        // As if the end of a stream of the old bytes came now.
        let records = DownloadRecords(mount: test.engine.mount)
        records.add(content, name: "doc1")
        records.recordNow()
        let after = try test.inode("doc1")
        #expect(after.generation == number && after.extents?.isEmpty == true)
        #expect(try test.catalog.read { try $0.undurable(after.id)?.number } != number)
    }

    /// As when a program opens the document for writing while its download is recorded in the background: had the second
    /// one recorded too, an fsync in between would not have counted.
    @Test("two threads that record at the same moment record a download once") func atOnce() async throws {
        let (test, _) = try await prepared(1)
        let (content, _) = try test.download("doc1")
        let records = DownloadRecords(mount: test.engine.mount)
        try bytes.withUnsafeBytes { try content.store($0, at: 0) }
        let inode = try test.inode("doc1").id
        let commits = Mutex(0)
        test.engine.publisher.onCommit { changes, _ in
            if changes.contains(.attributes(inode)) { commits.withLock { $0 += 1 } }
        }
        records.add(content, name: "doc1")
        let begun = Mutex(0)
        try test.catalog.write { _ in
            // Both have seen that there is something to record, and wait for the catalog.
            for _ in 0..<2 {
                Thread {
                    begun.withLock { $0 += 1 }
                    records.recordNow()
                    begun.withLock { $0 += 1 }
                }.start()
            }
            while begun.withLock({ $0 < 2 }) { usleep(1_000) }
            usleep(50_000)
        }
        #expect(try await eventually { begun.withLock { $0 == 4 } })
        #expect(commits.withLock { $0 } == 1)
    }

    @Test("what has come is recorded when it is asked for, although the provider has not returned yet")
    func lingering() async throws {
        let (test, _) = try await prepared(2)
        let (end, engine) = (Gate(), test.engine)
        test.plan.inject(.lateEnd(end), into: .startProvidingItem, times: 2)
        defer { end.open() }
        // (All but the last piece.)
        let come = RangeSet(Int64(0)..<8_192)
        for name in ["doc1", "doc2"] {
            let (content, target) = try test.download(name)
            try await engine.downloader.provide(0..<8_192, of: content, for: target)
        }
        // As before a program writes to it, or syncs it.
        engine.recordDownload(of: try test.inode("doc1").id)
        #expect(try test.inode("doc1").extents == come)
        // As when the daemon ends.
        engine.makeDownloadsDurable()
        #expect(try test.inode("doc2").extents == come)
        #expect(try test.catalog.read { try $0.undurable().isEmpty })
    }

    @Test("a file that cannot be changed does not affect the others") func oneFails() async throws {
        let (test, _) = try await prepared(2)
        let downloads = try ["doc1", "doc2"].map { try test.download($0).0 }
        let records = DownloadRecords(mount: test.engine.mount)
        for content in downloads {
            try bytes.withUnsafeBytes { try content.store($0, at: 0) }
            records.add(content, name: "doc")
        }
        // Whose date cannot be set: of a descriptor that only names something (open(2), O_PATH, which Swift does not have).
        let place = open("/", 0o10000000 | O_CLOEXEC)
        try #require(place >= 0 && dup2(place, downloads[0].descriptor) >= 0)
        close(place)
        records.recordNow()
        #expect(try isRecorded("doc2", test))
        #expect(try !isRecorded("doc1", test))
    }
}
