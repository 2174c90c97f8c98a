import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Synchronization
import Testing
import Trees
import Volume

/// Cached and passthrough exclude each other for one node (EIO in the kernel).
@Suite struct OpenModeTests {
    private func backing(_ opened: Opened) -> Int32? {
        if case .passthrough(let id) = opened.mode { id } else { nil }
    }

    @Test func aPlaceholderIsOpenedCachedAndStaysSoWhileOpen() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("a", "text")
        let first = try await test.open("a")
        #expect(first.mode == .cached)
        #expect(first.isReadOnly)
        #expect(try await test.read(first.handle) == Array("text".utf8))
        // Complete by now, but open through the page cache.
        let second = try await test.open("a", O_RDWR)
        #expect(second.mode == .cached)
        #expect(!second.isReadOnly)
        test.volume.close(first.handle)
        #expect(try await test.open("a").mode == .cached)
        #expect(test.backing.registrations == 0)
    }

    @Test func whereItIsDearOnlyWritersAndReadersOfLargeOnesArePassedThrough() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("small", "text")
        try test.remote.put("large", String(repeating: "text", count: 1_000))
        test.backing.pays(from: 1_000)
        for name in ["small", "large"] { _ = try await test.contents(name) }
        let reader = try await test.open("small")
        #expect(reader.mode == .cached)
        test.volume.close(reader.handle)
        let writer = try await test.open("small", O_RDWR)
        #expect(backing(writer) != nil)
        try test.close(writer.handle)
        #expect(backing(try await test.open("large")) != nil)
    }

    @Test func aDownloadedDocumentIsPassedThroughWithOneBackingID() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        let first = try await test.open("a")
        let id = try #require(backing(first))
        let second = try await test.open("a", O_RDWR)
        #expect(backing(second) == id)
        #expect(test.backing.registrations == 1)
        test.volume.close(first.handle)
        #expect(test.backing.registered.keys.contains(id))
        let third = try await test.open("a")
        #expect(backing(third) == id)
        try test.close(second.handle)
        test.volume.close(third.handle)
        #expect(test.backing.registered.isEmpty)
        // Once all are closed the choice is free again.
        let later = try await test.open("a")
        #expect(backing(later) != nil && backing(later) != id)
        test.volume.close(later.handle)
        #expect(test.backing.registered.isEmpty)
    }

    /// The kernel opens the local file with the flags of the open, and takes none of them away with fcntl(2).
    @Test func whatIsOpenWithFlagsThatMayGoIsReadAndWrittenThroughUs() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("a", "text")
        _ = try await test.contents("a")
        let node = try await test.lookUp("a").node
        let first = try test.volume.open(node, flags: O_RDWR | O_APPEND, traits: .mayDropFlags)
        guard case .direct(let id) = first.mode else { Issue.record("\(first.mode)"); return }
        // Others are passed through as ever, on the same backing file, and see what is written.
        let second = try await test.open("a", O_RDWR)
        #expect(backing(second) == id)
        let third = try test.volume.open(node, flags: O_RDWR | O_APPEND, traits: .mayDropFlags)
        #expect(third.mode == .direct(backing: id))
        try test.write(first.handle, "WO", at: 0)
        #expect(try await test.read(second.handle) == Array("WOxt".utf8))
        #expect(test.backing.registrations == 1)
        test.kernel.forgetEvents()
        for opened in [second, first] { try test.close(opened.handle) }
        #expect(!test.kernel.events.contains(.contents(node)))
        try test.close(third.handle)
        // splice(2) from such a file goes through the page cache.
        #expect(test.kernel.events.contains(.contents(node)))
        #expect(test.backing.registered.isEmpty)
        #expect(try await test.contents("a") == "WOxt")
        #expect(try test.pendingNames() == ["a"])
        let (_, made) = try await test.answer {
            try test.volume.create("new", in: .root, mode: 0o644, uid: 1_000, gid: 1_000, traits: .mayDropFlags)
        }
        guard case .direct = made.mode else { Issue.record("\(made.mode)"); return }
        try test.close(made.handle)
    }

    @Test func whatIsCachedStaysCachedWhateverItsFlagsAre() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("a", "text")
        let placeholder = try await test.open("a")
        let node = try await test.lookUp("a").node
        #expect(try test.volume.open(node, flags: O_WRONLY | O_APPEND, traits: .mayDropFlags).mode == .cached)
        test.volume.close(placeholder.handle)
    }

    /// The kernel drops the pages of an asynchronous one before it, and not after it.
    @Test func afterAWritePastTheCacheTheKernelDropsItsPagesBeforeTheAnswer() async throws {
        for passthrough in [false, true] {
            let test = try TestVolume(passthrough: passthrough)
            let (lookup, opened) = try await test.create("a")
            let answers = Mutex(0)
            test.kernel.forgetEvents()
            try test.write(opened.handle, "text", at: 4_096)
            #expect(test.kernel.events.isEmpty)
            test.volume.wasWrittenDirectly(lookup.node, 4_096..<8_192) { answers.withLock { $0 += 1 } }
            #expect(test.kernel.events == (passthrough ? [] : [.pages(lookup.node, 4_096..<8_192)]))
            // With passthrough there are no pages; else it is answered when the kernel has dropped them.
            #expect(answers.withLock { $0 } == (passthrough ? 1 : 0))
            test.kernel.drop()
            #expect(answers.withLock { $0 } == 1)
            try test.close(opened.handle)
        }
    }

    @Test func nobodyWaitsForPagesThatAReadOfAPlaceholderMayHaveLocked() async throws {
        let test = try TestVolume()
        try test.remote.put("a", String(repeating: "text", count: 10_000))
        let lookup = try await test.lookUp("a")
        let opened = try await test.open("a", O_RDWR)
        try test.write(opened.handle, "TEXT")
        let answers = Mutex(0)
        test.volume.wasWrittenDirectly(lookup.node, 0..<4) { answers.withLock { $0 += 1 } }
        #expect(answers.withLock { $0 } == 1)
        #expect(test.kernel.events.contains(.pages(lookup.node, 0..<4)))
        try test.close(opened.handle)
    }

    @Test func withoutTheRightToItEverythingIsCached() async throws {
        let test = try TestVolume(passthrough: false)
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        #expect(try await test.open("a").mode == .cached)
        #expect(try await test.create("b").1.mode == .cached)
    }

    @Test func aNewDocumentIsPassedThroughFromTheStart() async throws {
        let test = try TestVolume(passthrough: true)
        let (lookup, opened) = try await test.create("a")
        let id = try #require(backing(opened))
        let descriptor = try #require(test.backing.registered[id])
        // The kernel writes without us.
        #expect(pwrite(descriptor, "hello", 5, 0) == 5)
        let seen = try test.volume.attributes(of: lookup.node)
        #expect(seen.record.size == 5)
        #expect(!seen.isStable)
        try test.volume.flush(opened.handle)
        #expect(try test.catalog.read { try $0.child(of: .root, named: "a") }?.size == 5)
        test.volume.close(opened.handle)
        #expect(try test.volume.attributes(of: lookup.node).isStable)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("hello".utf8))
    }

    @Test func aPassthroughWriteIsPendingBeforeCloseReturns() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        try test.remote.put("a", "old text")
        #expect(try await test.contents("a") == "old text")
        let opened = try await test.open("a", O_RDWR)
        #expect(try test.pendingNames() == [])
        // Durably so before the first byte.
        let marked = try test.durably { try $0.inodesBeingWritten() }
        #expect(marked.count == 1)
        let descriptor = try #require(test.backing.registered.values.first)
        #expect(pwrite(descriptor, "NEW", 3, 0) == 3)
        try test.volume.flush(opened.handle)
        #expect(try test.catalog.read { try $0.allPending(limit: 9) }.count == 1)
        test.volume.close(opened.handle)
        test.volume.endWritingNow()
        // (A child of another test that is just being started has the file open for a moment, as if it had it mapped.)
        #expect(try await eventually { try test.durably { try $0.inodesBeingWritten() }.isEmpty })
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("a") == Array("NEW text".utf8))
    }

    /// As the kernel does it: a document that was replaced (evicted) between look-up and open is looked up again.
    private static func reopened(_ path: String, _ test: TestVolume) async throws -> Opened {
        while true {
            do { return try await test.open(path, O_WRONLY | O_APPEND) } catch {
                guard (error as? VolumeError)?.errno == ESTALE else { throw error }
            }
        }
    }

    // Uploads, evictions and downloads open the local file as well. Whichever comes when, none gives it an old size.
    @Test func whatIsAppendedPastUsStaysWhoeverElseOpensTheFile() async throws {
        let test = try TestVolume(passthrough: true)
        test.engine.start()
        let (lookup, first) = try await test.create("log")
        try test.close(first.handle)
        let inode = lookup.attributes.record.id
        let evictor = Task {
            while !Task.isCancelled {
                _ = try? test.engine.evict(inode)
                await Task.yield()
            }
        }
        defer { evictor.cancel() }
        for number in 0..<1_500 {
            let opened = try await Self.reopened("log", test)
            let line = Array("line \(number)\n".utf8)
            if let backing = backing(opened), let descriptor = test.backing.registered[backing] {
                var status = stat()
                #expect(
                    fstat(descriptor, &status) == 0
                        && pwrite(descriptor, line, line.count, status.st_size) == line.count)
            } else {
                let size = try await test.lookUp("log").attributes.record.size
                try test.write(opened.handle, "line \(number)\n", at: size)
            }
            try test.close(opened.handle)
        }
        evictor.cancel()
        await evictor.value
        let expected = (0..<1_500).map { "line \($0)\n" }.joined()
        #expect(try await test.contents("log") == expected)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.read("log").map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test func aPassthroughOpenThatWritesNothingChangesNothing() async throws {
        let test = try TestVolume(passthrough: true)
        try test.remote.put("a", "text", modified: FileTime(seconds: 5_000, nanoseconds: 7))
        #expect(try await test.contents("a") == "text")
        let opened = try await test.open("a", O_RDWR)
        #expect(backing(opened) != nil)
        #expect(try await test.read(opened.handle) == Array("text".utf8))
        try test.close(opened.handle)
        #expect(try test.pendingNames() == [])
        #expect(try test.durably { try $0.inodesBeingWritten() }.isEmpty)
        let attributes = try await test.lookUp("a").attributes
        #expect(attributes.record.modified == FileTime(seconds: 5_000, nanoseconds: 7))
    }
}
