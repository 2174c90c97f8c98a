import FileProvider
import FileProviderTesting
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import SyncEngine

@Suite("Pause", .timeLimit(.minutes(10))) struct PauseTests {
    private func prepared() async throws -> TestEngine {
        let test = try TestEngine()
        try test.remote.put("a", "first")
        try await test.engine.enumerate(.root)
        return test
    }

    @Test("nothing is sent while paused, and sync does not wait; resume sends the changes")
    func uploads() async throws {
        let test = try await prepared()
        test.engine.start()
        try await test.engine.setPaused(true)
        try test.save("new", "text")
        try test.rename("a", "b")
        // No time-out: it is told at once.
        #expect(try await test.engine.sync(timeout: nil).count == 2)
        #expect(test.remote.calls(of: .createItem).isEmpty && test.remote.calls(of: .moveItem).isEmpty)
        try await test.engine.setPaused(false)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.snapshot().keys.sorted() == ["b", "new"])
        await test.engine.stop()
    }

    @Test("a catalog that cannot say whether it is paused sends nothing")
    func unreadable() throws {
        let test = try TestEngine()
        try SQLite.execute("ALTER TABLE domain RENAME TO elsewhere", in: test.catalog.path)
        let pause = PauseSwitch(test.catalog)
        #expect(pause.isOn)
        try SQLite.execute("ALTER TABLE elsewhere RENAME TO domain", in: test.catalog.path)
        #expect(!pause.isOn)
        try pause.set(true, in: test.catalog)
        #expect(pause.isOn && PauseSwitch(test.catalog).isOn)
    }

    @Test("a waiting sync ends when the domain is paused")
    func syncUnderWay() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .moveItem)
        test.engine.start()
        try test.rename("a", "b")
        let sync = Task { try await test.engine.sync(timeout: nil) }
        await gate.waitForArrivals()
        try await test.engine.setPaused(true)
        #expect(try await sync.value.count == 1)
        gate.open()
        await test.engine.stop()
    }

    @Test("an upload in progress is stopped, without a failure, and starts again later")
    func underWay() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .itemChanged)
        test.engine.start()
        try test.write(test.inode("a").id, "second")
        await gate.waitForArrivals()
        try await test.engine.setPaused(true)
        #expect(try await eventually { gate.waitingCount == 0 })
        #expect(try await eventually { test.engine.transfers.now().isEmpty })
        #expect(try test.item("a").failure == nil)
        #expect(test.remote.read("a") == Array("first".utf8))
        try await test.engine.setPaused(false)
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("a") == Array("second".utf8))
        await test.engine.stop()
    }

    @Test("pinned documents wait; reads and requested downloads go on")
    func downloads() async throws {
        let test = try await prepared()
        try test.remote.put("b", "other")
        try await test.engine.enumerate(.root)
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .startProvidingItem)
        test.engine.start()
        try await test.engine.setPinned(test.item("a").id, true)
        await gate.waitForArrivals()
        try await test.engine.setPaused(true)
        // Broken off.
        #expect(try await eventually { gate.waitingCount == 0 })
        let (content, target) = try test.download("b")
        try await test.engine.downloader.provide(0..<5, of: content, for: target)
        try await test.engine.setPinned(test.item("b").id, true)
        #expect(try test.inode("a").extents == RangeSet())
        try await test.engine.setPaused(false)
        #expect(try await eventually { try test.inode("a").extents == nil })
        await test.engine.stop()
    }

    @Test("the pause survives a restart")
    func restart() async throws {
        let test = try await prepared()
        try await test.engine.setPaused(true)
        await test.engine.stop()
        #expect(PauseSwitch(test.catalog).isOn)
        try await test.engine.setPaused(false)
        #expect(!PauseSwitch(test.catalog).isOn)
    }
}
