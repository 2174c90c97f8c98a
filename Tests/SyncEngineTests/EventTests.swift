import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

@Suite("Events of the engine", .timeLimit(.minutes(10))) struct EventTests {
    private let test: TestEngine

    init() throws { test = try TestEngine() }

    private func events(_ kind: SyncEvent.Kind) -> [SyncEvent] {
        test.engine.reports.log.listen(last: .max).now(most: .max >> 1).events.filter { $0.kind == kind }
    }

    private func sync() async throws {
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
    }

    @Test("every hook is reported by name, with item, bytes and time")
    func hooks() async throws {
        let item = try test.remote.put("a", "12345")
        try await test.engine.enumerate(.root)
        test.engine.start()
        #expect(events(.enumerateItems).first?.path == "")
        #expect(events(.enumerateItems).first?.identifier == .rootContainer)

        _ = try await test.engine.download(test.inode("a").id)
        // (Told when the provider has returned; the bytes may be here before that.)
        #expect(try await eventually { !events(.startProvidingItem).isEmpty })
        let download = try #require(events(.startProvidingItem).first)
        #expect(download.path == "a" && download.identifier == item.identifier && download.bytes == 5)
        #expect(download.duration.map { $0 > .zero } == true && download.code == nil)
        // Nobody's read: a user asked for it.
        #expect(download.process == nil)

        try test.write(test.inode("a").id, "1234567")
        try await sync()
        #expect(events(.itemChanged).map(\.path) == ["a"])
        #expect(events(.itemChanged).first?.bytes == 7)

        try test.save("b", "123")
        try await sync()
        let created = try #require(events(.createItem).first)
        #expect(created.path == "b" && created.bytes == 3)
        #expect(created.identifier == test.remote.item(at: "b")?.identifier)

        try test.rename("b", "c")
        try await sync()
        #expect(events(.moveItem).map(\.path) == ["c"])
        try test.unlink("c")
        try await sync()
        #expect(events(.deleteItem).count == 1)
        #expect(events(.error).isEmpty && events(.conflict).isEmpty)
        await test.engine.stop()
    }

    @Test("a read names the process, also if only a thread of it is known")
    func process() async throws {
        try test.remote.put("a", "12345")
        try await test.engine.enumerate(.root)
        let (content, target) = try test.download("a")
        // As FUSE has it: of whichever thread.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { Int32($0) }
        let thread = try #require(threads.first { $0 != getpid() })
        try await test.engine.downloader.provide(0..<5, of: content, for: target, by: .thread(thread))
        #expect(try await eventually { !events(.startProvidingItem).isEmpty })
        let process = try #require(events(.startProvidingItem).first?.process)
        let name = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(process == CausingProcess(pid: getpid(), name: name))
        #expect(CausingProcess.of(thread: 0) == nil)
        #expect(CausingProcess.of(thread: .max) == CausingProcess(pid: .max, name: nil))
    }

    @Test("an eviction reports the number of bytes")
    func evicted() async throws {
        try test.remote.put("f/a", "12345")
        try await test.engine.enumerate(.root)
        try await test.engine.enumerate(test.inode("f").id)
        let inode = try test.inode("f/a").id
        _ = try await test.engine.download(inode)
        _ = try test.engine.evict(inode)
        #expect(events(.evicted).map(\.path) == ["f/a"])
        #expect(events(.evicted).first?.bytes == 5)
        #expect(events(.evicted).first?.identifier == test.remote.item(at: "f/a")?.identifier)
    }

    @Test("remoteChange: changes of others, not our own, and not items seen for the first time")
    func remote() async throws {
        try test.remote.put("a", "1")
        try test.remote.put("b", "1")
        try await test.engine.enumerate(.root)
        test.engine.start()
        try test.write(test.inode("a").id, "2")
        try test.save("own", "3")
        try await sync()
        try await test.engine.enumerate(.root)
        #expect(events(.remoteChange).isEmpty)
        try test.remote.put("b", "22")
        try test.remote.put("new", "1")
        #expect(try await eventually { Set(events(.remoteChange).compactMap(\.path)) == ["b", "new"] })
        try test.remote.remove("a")
        #expect(try await eventually { events(.remoteChange).contains { $0.path == "a" } })
        await test.engine.stop()
    }

    @Test("a flood of changes is reported as a sum")
    func flood() async throws {
        try await test.engine.enumerate(.root)
        for number in 0..<150 { try test.remote.put("f\(number)", "1") }
        try await test.engine.enumerate(.root)
        #expect(events(.remoteChange).count == 101)
        #expect(events(.remoteChange).last?.message == "and 50 more")
    }

    @Test("conflict: the document, and the outcome")
    func conflict() async throws {
        try test.remote.put("a", "old")
        try await test.engine.enumerate(.root)
        try test.write(test.inode("a").id, "mine")
        try test.remote.put("a", "theirs")
        test.engine.start()
        try await sync()
        let conflict = try #require(events(.conflict).first)
        #expect(events(.conflict).count == 1)
        #expect(conflict.path?.contains("conflicted copy") == true)
        #expect(conflict.message?.contains("a") == true)
        await test.engine.stop()
    }

    @Test("offline and online, once each; a failed upload names the file, the reason and the next try")
    func offline() async throws {
        try test.remote.put("a", "12345")
        try await test.engine.enumerate(.root)
        test.plan.isOffline = true
        test.engine.start()
        try test.save("new", "text")
        #expect(try await eventually { events(.error).contains { $0.path == "new" } })
        let error = try #require(events(.error).first { $0.path == "new" })
        #expect(error.code == "serverUnreachable")
        let message = try #require(error.message)
        #expect(message.hasPrefix("new: ") && message.contains("cut the line"))
        #expect(message.contains("Hydrant tries again in "))
        test.plan.isOffline = false
        try await sync()
        #expect(events(.offline).count == 1 && events(.online).count == 1)
        await test.engine.stop()
    }

    @Test("a failed download keeps its message with the document until a download succeeds")
    func failedRead() async throws {
        try test.remote.put("f/a", "12345")
        try await test.engine.enumerate(.root)
        try await test.engine.enumerate(test.inode("f").id)
        let inode = try test.inode("f/a").id
        test.plan.fail(.startProvidingItem, with: .notAuthenticated)
        await #expect(throws: SyncError.self) { try await test.engine.download(inode) }
        let line = try #require(test.engine.downloadFailures.last(of: inode))
        #expect(line == "f/a: a test made this call fail; sign in again, then read it again")
        #expect(events(.error).map(\.message) == [line])
        #expect(events(.startProvidingItem).map(\.code) == ["notAuthenticated"])
        _ = try await test.engine.download(inode)
        #expect(try await eventually { test.engine.downloadFailures.last(of: inode) == nil })
    }

    @Test("a successful read clears the message, although the rest of the document is not here yet")
    func readAfterAFailure() async throws {
        try test.remote.put("a", [UInt8](repeating: 1, count: 1_000_000))
        try await test.engine.enumerate(.root)
        test.plan.fail(.startProvidingItem, with: .notAuthenticated)
        let (content, target) = try test.download("a")
        await #expect(throws: SyncError.self) {
            try await test.engine.downloader.provide(0..<4_096, of: content, for: target)
        }
        #expect(test.engine.downloadFailures.last(of: target.inode) != nil)
        test.plan.bandwidth = 50_000
        try await test.engine.downloader.provide(0..<4_096, of: content, for: target)
        #expect(!content.isComplete)
        #expect(test.engine.downloadFailures.last(of: target.inode) == nil)
        await test.engine.stop()
    }
}
