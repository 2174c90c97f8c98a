import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import SyncEngine
import Testing
import Volume

/// A program reads a document whose last name is gone, and not all of it is here.
@Suite struct HeldDeletionTests {
    private let test: TestVolume
    private let gate = Gate()
    private let text = String(repeating: "0123456789", count: 2_000)

    init() throws {
        // Long enough for a loaded machine to note that the bytes are wanted.
        test = try TestVolume(settle: 1.5)
        test.engine.start()
    }

    private func unlink(_ name: Filename) async throws {
        try await test.answer { try test.volume.unlink(name, in: .root) }
    }

    /// Time in which the engine would have done it.
    private func aWhile() async throws { try await Task.sleep(for: .milliseconds(2_500)) }

    @Test func theStoreKeepsItUntilAllIsHere() async throws {
        try test.remote.put("a", text)
        let opened = try await test.open("a")
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem)
        try await unlink("a")
        await gate.waitForArrivals()
        try await aWhile()
        #expect(test.remote.read("a") != nil)
        #expect(try test.pendingNames() == ["a"])
        gate.open()
        #expect(try await eventually { test.remote.read("a") == nil })
        // The program has all of it.
        #expect(try await test.read(opened.handle) == Array(text.utf8))
        test.volume.close(opened.handle)
        #expect(try await eventually { try test.pendingNames() == [] })
    }

    @Test func anotherVersionWaitsAsWell() async throws {
        try test.remote.put("a", text)
        let opened = try await test.open("a")
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem)
        try await test.save("tmp", "new version")
        try await test.answer { try test.volume.rename("tmp", in: .root, to: "a", in: .root, noReplace: false) }
        await gate.waitForArrivals()
        try await aWhile()
        #expect(test.remote.read("a") == Array(text.utf8))
        gate.open()
        #expect(try await eventually { test.remote.read("a") == Array("new version".utf8) })
        #expect(try await test.read(opened.handle) == Array(text.utf8))
        test.volume.close(opened.handle)
    }

    /// Nobody wants the bytes any more: nothing is waited for.
    @Test func whenItIsClosedNothingIsHeld() async throws {
        try test.remote.put("a", text)
        let opened = try await test.open("a")
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem)
        try await unlink("a")
        await gate.waitForArrivals()
        test.volume.close(opened.handle)
        #expect(try await eventually { test.remote.read("a") == nil })
        gate.open()
    }

    @Test func whatIsHereOrClosedIsDeletedAtOnce() async throws {
        try test.remote.put("read", text)
        try test.remote.put("closed", text)
        let opened = try await test.open("read")
        _ = try await test.read(opened.handle)
        test.volume.close(try await test.open("closed").handle)
        test.provider.plan.inject(.hang(gate), into: .startProvidingItem, times: 2)
        try await unlink("read")
        try await unlink("closed")
        #expect(try await eventually { test.remote.snapshot().isEmpty })
        #expect(try await test.read(opened.handle) == Array(text.utf8))
        test.volume.close(opened.handle)
        gate.open()
    }

    /// The store fails for a while: it is asked again, and deletes nothing before.
    @Test func aFailedDownloadIsTriedAgain() async throws {
        try test.remote.put("a", text)
        let opened = try await test.open("a")
        test.provider.plan.fail(.startProvidingItem, times: 3, with: .busy)
        try await unlink("a")
        #expect(try await eventually { test.remote.read("a") == nil })
        #expect(try await test.read(opened.handle) == Array(text.utf8))
        test.volume.close(opened.handle)
    }
}
