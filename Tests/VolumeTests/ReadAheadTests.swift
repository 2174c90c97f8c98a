import ContentStore
import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees

@testable import Volume

/// Programs that read a folder's documents one after another.
@Suite(.timeLimit(.minutes(10))) struct ReadAheadTests {
    private let test: TestVolume
    private static let count = 100

    init() throws { test = try Self.volume() }

    private static func volume(_ cache: CacheLimits = .none) throws -> TestVolume {
        let test = try TestVolume(cache: cache)
        for number in 0..<Self.count { try test.remote.put(name(number), text(number)) }
        try test.remote.put("zz large", String(repeating: "large ", count: 200_000))
        return test
    }

    private static func name(_ number: Int) -> String { "doc \(number + 100)" }
    private static func text(_ number: Int) -> String { "text \(number) " + String(repeating: "x", count: 1_000) }

    private func read(_ name: String, of test: TestVolume? = nil) async throws -> String {
        let test = test ?? self.test
        let opened = try await test.open(name)
        defer { test.volume.close(opened.handle) }
        return String(decoding: try await test.read(opened.handle, thread: getpid()), as: UTF8.self)
    }

    private func isHere(_ number: Int) async throws -> Bool { try await isHere(Self.name(number)) }

    private func isHere(_ name: String) async throws -> Bool {
        let inode = try await test.lookUp(name).attributes.record.id
        return try test.catalog.read { try $0.inode(inode).extents == nil }
    }

    private func countHere() async throws -> Int {
        var count = 0
        for number in 0..<Self.count where try await isHere(number) { count += 1 }
        return count
    }

    private var downloads: Int { test.provider.plan.attempts(of: .startProvidingItem) }

    @Test func theNextOnesComeBeforeTheyAreAskedFor() async throws {
        for number in 0..<3 { #expect(try await read(Self.name(number)) == Self.text(number)) }
        #expect(try await eventually { test.engine.readAhead.figures.downloaded > 0 })
        #expect(try await eventually { downloads == 5 })
        let fourth = try await test.lookUp(Self.name(3)).attributes.record.id
        #expect(try await eventually { try test.catalog.read { try $0.inode(fourth).extents == nil } })
        // At its end no more than the largest window has come for nothing.
        for number in 3..<40 {
            #expect(try await read(Self.name(number)) == Self.text(number))
            for _ in 0..<1_000 where try await !isHere(number + 1) { try await Task.sleep(for: .milliseconds(2)) }
        }
        // Until what was asked for ahead has come.
        var (before, here) = (-1, 0)
        while before != here || downloads != here {
            before = here
            try await Task.sleep(for: .milliseconds(200))
            here = try await countHere()
        }
        #expect(here > 40 + 2 && here <= 40 + 24)
        let figures = test.engine.readAhead.figures
        let size = Int64(Self.text(50).utf8.count)
        #expect(figures.downloaded - figures.used <= 24 * (size + 1) && figures.used >= 25 * size)
        // Each of them came once.
        #expect(downloads == here)
        // When all are read nothing of it was for nothing.
        for number in 40..<Self.count { #expect(try await read(Self.name(number)) == Self.text(number)) }
        #expect(try await eventually { test.engine.readAhead.figures.downloaded == test.engine.readAhead.figures.used })
        #expect(downloads == Self.count)
    }

    /// As when the read-ahead records the download of the document that a program is just opening.
    @Test func aDownloadRecordedDuringAnOpenIsNotRepeated() async throws {
        let before = try await test.lookUp(Self.name(0)).attributes.record
        #expect(try await test.contents(Self.name(0)) == Self.text(0))
        test.engine.recordAllDownloads()
        let id = GenerationID(inode: before.id.rawValue, number: before.generation)
        #expect(try await eventually { test.store.opened(id) == nil })
        #expect(try test.volume.openContent(before).isComplete)
    }

    @Test func whoReadsHereAndThereGetsWhatHeAsksFor() async throws {
        for number in [0, 50, 1, 80, 20, 99, 40, 3] {
            #expect(try await read(Self.name(number)) == Self.text(number))
        }
        try await Task.sleep(for: .milliseconds(100))
        #expect(downloads == 8)
        #expect(test.engine.readAhead.figures.downloaded == 0)
    }

    @Test func whoOnlyOpensAndLooksGetsNothing() async throws {
        for number in 0..<10 {
            test.volume.close(try await test.open(Self.name(number)).handle)
            // Our own readers are no programs.
            _ = try await test.contents(Self.name(number))
        }
        try await Task.sleep(for: .milliseconds(100))
        #expect(downloads == 10)
    }

    @Test func whoReadsOnlyOneKindGetsOnlyThat() async throws {
        for number in 0..<20 {
            for kind in ["c", "d", "o"] { try test.remote.put("p \(number + 10).\(kind)", "\(number)") }
        }
        try await test.refresh()
        for number in 0..<4 { #expect(try await read("p \(number + 10).d") == "\(number)") }
        #expect(try await eventually { downloads > 4 })
        try await Task.sleep(for: .milliseconds(100))
        for number in 0..<20 {
            #expect(try await !isHere("p \(number + 10).c"))
            #expect(try await !isHere("p \(number + 10).o"))
        }
    }

    @Test func whatIsLargeComesWhenItIsAskedFor() async throws {
        for number in 97..<100 { _ = try await read(Self.name(number)) }
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await !isHere("zz large"))
    }

    @Test(arguments: ["paused", "limited", "unwanted"]) func notThen(_ why: String) async throws {
        var limits = CacheLimits.none
        if why == "unwanted" { limits.ahead = 0 }
        let test = try Self.volume(limits)
        if why == "paused" { try await test.engine.setPaused(true) }
        if why == "limited" { test.engine.transfers.downloadLimit.set(1 << 30) }
        for number in 0..<10 { #expect(try await read(Self.name(number), of: test) == Self.text(number)) }
        try await Task.sleep(for: .milliseconds(100))
        #expect(test.provider.plan.attempts(of: .startProvidingItem) == 10)
    }

    @Test func aStoreThatFailsIsAskedByWhoNeedsIt() async throws {
        for number in 0..<2 { _ = try await read(Self.name(number)) }
        let away = FileProviderError(.permissionDenied, "not today")
        test.provider.plan.inject(.error(away), into: .startProvidingItem, times: 1_000)
        await #expect(throws: VolumeError.self) { try await read(Self.name(2)) }
        try await Task.sleep(for: .milliseconds(200))
        #expect(downloads <= 5)
        test.provider.plan.clear()
        #expect(try await read(Self.name(3)) == Self.text(3))
    }
}
