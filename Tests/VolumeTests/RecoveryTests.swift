import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees

@testable import Volume

/// What the next daemon makes of what a killed one left.
@Suite struct RecoveryTests {
    private let test: TestVolume

    init() throws { test = try TestVolume(settle: 60) }

    @Test func aWriterThatNeverClosedIsPendingWithItsBytes() async throws {
        try test.remote.put("old", "before")
        let edited = try await test.open("old", O_RDWR)
        _ = try await test.read(edited.handle)
        try test.write(edited.handle, "after!")
        let (_, created) = try await test.create("new")
        try test.write(created.handle, "fresh")

        let next = try await test.killed()
        #expect(try next.pendingNames() == ["new", "old"])
        #expect(try next.catalog.read { try $0.inodesBeingWritten() }.isEmpty)
        #expect(try await next.contents("old") == "after!")
        #expect(try await next.contents("new") == "fresh")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("old") == Array("after!".utf8))
        #expect(next.remote.read("new") == Array("fresh".utf8))
    }

    @Test func whatWasClosedSurvives() async throws {
        try await test.save("a", "kept")
        let next = try await test.killed()
        #expect(try next.pendingNames() == ["a"])
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("kept".utf8))
    }

    /// close(2) has returned, and no transaction has recorded the changes yet.
    @Test(arguments: [false, true], [false, true])
    func whatWasFlushedSurvives(passthrough: Bool, isReleased: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        try test.remote.put("old", "before")
        #expect(try await test.contents("old") == "before")
        let edited = try await test.open("old", O_RDWR)
        try test.write(edited.handle, "after and more")
        let (lookup, created) = try await test.create("new")
        try test.write(created.handle, "fresh")
        for opened in [edited, created] {
            try test.volume.flush(opened.handle)
            if isReleased { test.volume.close(opened.handle) }
        }
        let modified = try test.volume.attributes(of: lookup.node).record.modified

        let next = try await test.killed()
        #expect(try next.pendingNames() == ["new", "old"])
        #expect(try next.catalog.read { try $0.inodesBeingWritten() }.isEmpty)
        #expect(try await next.lookUp("new").attributes.record.modified == modified)
        #expect(try await next.contents("old") == "after and more")
        #expect(try await next.contents("new") == "fresh")
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("old") == Array("after and more".utf8))
        #expect(next.remote.read("new") == Array("fresh".utf8))
    }

    @Test func aWriterThatWroteNothingLeavesNothing() async throws {
        let date = FileTime(seconds: 5_000)
        try test.remote.put("a", "text", modified: date)
        #expect(try await test.contents("a") == "text")
        _ = try await test.open("a", O_RDWR)
        let next = try await test.killed()
        #expect(try next.pendingNames() == [])
        #expect(try next.catalog.read { try $0.inodesBeingWritten() }.isEmpty)
        #expect(try await next.lookUp("a").attributes.record.modified == date)
    }

    enum Cut: CaseIterable { case whenOpened, whileWritten, afterwards }

    /// The daemon is killed when the catalog has a truncation and the local file has not: what of a partial document never
    /// came is no contents. (Ours: it was as long as before, of zeros, and they were sent.)
    @Test(arguments: Cut.allCases, [Int64(0), 6_000])
    func aTruncationThatWasBrokenOffLeavesNoHoles(_ cut: Cut, size: Int64) async throws {
        let old = String(repeating: "0123456789", count: 2_000)
        try test.remote.put("a", old)
        let node = try await test.lookUp("a").node
        func truncate() throws {
            let request = AttributeRequest(attributes: AttributeChange(), size: size)
            _ = try test.volume.setAttributes(node, to: request)
        }
        switch cut {
        case .whenOpened:
            _ = try test.volume.open(node, flags: O_WRONLY | (size == 0 ? O_TRUNC : 0))
            if size != 0 { try truncate() }
        case .whileWritten:
            let opened = try test.volume.open(node, flags: O_RDWR)
            try test.write(opened.handle, "NEW", at: 3_000)
            try truncate()
        case .afterwards:
            let opened = try test.volume.open(node, flags: O_RDWR)
            try test.write(opened.handle, "NEW", at: 3_000)
            try test.volume.flush(opened.handle)
            test.volume.close(opened.handle)
            // Before the mark has been taken away.
            test.volume.closedWriters.cancel(try test.volume.attributes(of: node).record.id)
            try truncate()
        }
        let record = try test.volume.attributes(of: node).record
        let file = test.directory + "/content/storage/"
        let name = GenerationID(inode: record.id.rawValue, number: record.generation).description
        let path = try #require(
            FileManager.default.subpaths(atPath: file)?.first { $0.hasSuffix(name) }, "no file \(name)")
        #expect(Glibc.truncate(file + path, 20_000) == 0)
        let next = try await test.killed()
        var expected = Array(old.utf8.prefix(Int(size)))
        if cut != .whenOpened, size > 0 { expected.replaceSubrange(3_000..<3_003, with: Array("NEW".utf8)) }
        #expect(try await next.contents("a") == String(decoding: expected, as: UTF8.self))
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == expected)
    }

    /// The daemon is killed between the mark and the first byte, and nothing of the document is here: it is no change that
    /// would wait for bytes which the store has no more.
    @Test func aPlaceholderThatWasOnlyMarkedIsNoChange() async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a", O_RDWR)
        let node = try await test.lookUp("a").node
        let record = try test.volume.attributes(of: node).record
        try test.catalog.write { try $0.beginWriting(record.id, generation: record.generation, mark: .modified) }
        #expect(try test.pendingNames() == ["a"])
        let next = try await test.killed()
        #expect(try next.pendingNames() == [])
        try next.remote.remove("a")
        try next.remote.put("a", "another")
        try await next.engine.enumerate(.root)
        #expect(try await next.contents("a") == "another")
        _ = opened
    }

    /// Nothing of it is here and nothing was written: there is nothing that could be sent.
    @Test(arguments: [false, true])
    func aPlaceholderThatWasOpenWhenTheStoreReplacedItGoes(_ isKilled: Bool) async throws {
        try test.remote.put("a", "text")
        let opened = try await test.open("a", O_RDWR)
        try test.remote.remove("a")
        try test.remote.put("a", "another")
        try await test.engine.enumerate(.root)
        if !isKilled { try test.close(opened.handle) }
        let next = isKilled ? try await test.killed() : test
        #expect(try await next.sync().isEmpty)
        try await next.engine.enumerate(.root)
        #expect(try await next.contents("a") == "another")
        #expect(next.remote.snapshot() == ["a": .document(Array("another".utf8))])
    }

    /// Only a download wrote to the file.
    @Test func aDownloadUnderAWriterIsNoChange() async throws {
        let date = FileTime(seconds: 5_000)
        try test.remote.put("a", "text", modified: date)
        let opened = try await test.open("a", O_RDWR)
        #expect(try await test.read(opened.handle) == Array("text".utf8))
        let next = try await test.killed()
        #expect(try next.pendingNames() == [])
        #expect(try await next.lookUp("a").attributes.record.modified == date)
    }

    @Test func aPassthroughWriteIsFoundByItsStamp() async throws {
        let passing = try TestVolume(passthrough: true, settle: 60)
        try passing.remote.put("a", "text")
        #expect(try await passing.contents("a") == "text")
        _ = try await passing.open("a", O_RDWR)
        let descriptor = try #require(passing.backing.registered.values.first)
        #expect(pwrite(descriptor, "TEXT", 4, 0) == 4)
        let next = try await passing.killed()
        #expect(try next.pendingNames() == ["a"])
        #expect(try await next.sync().isEmpty)
        #expect(next.remote.read("a") == Array("TEXT".utf8))
    }

    @Test func aPartialWriteIntoAPlaceholderIsNotOverwrittenByTheDownload() async throws {
        let text = String(repeating: "x", count: 20_000)
        try test.remote.put("a", text)
        let opened = try await test.open("a", O_WRONLY)
        try test.write(opened.handle, "MINE", at: 10_000)
        let next = try await test.killed()
        #expect(try next.pendingNames() == ["a"])
        #expect(try await next.sync().isEmpty)
        var expected = Array(text.utf8)
        expected.replaceSubrange(10_000..<10_004, with: Array("MINE".utf8))
        #expect(next.remote.read("a") == expected)
    }

    /// A download's bytes are here before the catalog knows: until then they would come again after a crash.
    @Test func aWriteIntoBytesThatHaveJustComeIsNotOverwrittenByTheDownload() async throws {
        test.provider.plan.bandwidth = 20_000
        try test.remote.put("a", String(repeating: "x", count: 200_000))
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle, 0, 4_096)
        try test.write(opened.handle, "MINE", at: 10)
        let known = try #require(try test.durably { try $0.child(of: .root, named: "a") }?.extents)
        #expect(known.isSuperset(of: RangeSet(10..<14)))
        try test.close(opened.handle)
    }

    /// What was here when it was changed stays here: the store may have another version when it would come again.
    @Test func whatWasReadBeforeAChangeIsKnownToBeHere() async throws {
        test.provider.plan.bandwidth = 20_000
        try test.remote.put("a", String(repeating: "x", count: 200_000))
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle, 0, 4_096)
        try test.write(opened.handle, "MINE", at: 200_000)
        let known = try #require(try test.durably { try $0.child(of: .root, named: "a") }?.extents)
        #expect(known.isSuperset(of: RangeSet(0..<4_096)))
        try test.close(opened.handle)
    }

    @Test func anUnlinkedOpenFileIsReclaimed() async throws {
        let lookup = try await test.save("a", "text")
        _ = try await test.open("a")
        try await test.answer { try test.volume.unlink("a", in: .root) }
        let inode = lookup.attributes.record.id
        #expect(test.store.status(GenerationID(inode: inode.rawValue, number: 1)) != nil)
        let next = try await test.killed()
        #expect(try next.catalog.read { try $0.inodeIfPresent(inode) } == nil)
        #expect(next.store.status(GenerationID(inode: inode.rawValue, number: 1)) == nil)
    }

    @Test func bytesThatNoCatalogKnowsStay() async throws {
        try await test.save("a", "text")
        let folder = test.directory + "/content/storage/ff"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let unknown = folder + "/767.1"
        try Data("somebody's work".utf8).write(to: URL(filePath: unknown, directoryHint: .notDirectory))
        let next = try await test.killed()
        // Aside, so that no inode is ever given its number.
        #expect(!FileManager.default.fileExists(atPath: unknown))
        let aside = test.directory + "/content/lost+found/767.1"
        #expect(FileManager.default.contents(atPath: aside) == Data("somebody's work".utf8))
        #expect(try next.pendingNames() == ["a"])
    }

    @Test func aDownloadIsNotRepeated() async throws {
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        // The catalog learns of a download when its stream ends.
        #expect(
            try await eventually { try test.durably { try $0.child(of: .root, named: "a") }?.extents == nil })
        let next = try await test.killed()
        test.remote.forgetCalls()
        #expect(try await next.contents("a") == "text")
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
    }

    @Test func lostBytesOfAnUnmodifiedDocumentComeAgain() async throws {
        try test.remote.put("a", "text")
        #expect(try await test.contents("a") == "text")
        #expect(
            try await eventually { try test.durably { try $0.child(of: .root, named: "a") }?.extents == nil })
        let lookup = try await test.lookUp("a")
        try FileManager.default.removeItem(atPath: file(lookup))
        let next = try await test.killed()
        let node = try await next.lookUp("a").node
        #expect(await errnoOf { _ = try next.volume.open(node, flags: O_RDONLY) } == ESTALE)
        #expect(try await next.contents("a") == "text")
    }

    @Test func lostBytesOfAModifiedDocumentAreAnErrorNotZeros() async throws {
        let lookup = try await test.save("a", "work")
        try FileManager.default.removeItem(atPath: file(lookup))
        let next = try await test.killed()
        let node = try await next.lookUp("a").node
        #expect(await errnoOf { _ = try next.volume.open(node, flags: O_RDONLY) } == EIO)
        #expect(try next.pendingNames() == ["a"])
    }

    /// Nor are zeros uploaded in their place.
    @Test func lostBytesOfAModifiedDocumentAreNeverUploaded() async throws {
        try test.remote.put("a", "precious")
        let opened = try await test.open("a", O_RDWR)
        _ = try await test.read(opened.handle)
        try test.write(opened.handle, "PRECIOUS")
        try test.close(opened.handle)
        try FileManager.default.removeItem(atPath: file(try await test.lookUp("a")))
        let next = try await test.killed()
        next.engine.start()
        _ = try await next.engine.sync(timeout: 1)
        #expect(next.remote.read("a") == Array("precious".utf8))
    }

    private func file(_ lookup: Lookup) -> String {
        let inode = lookup.attributes.record.id.rawValue
        let shard = inode < 16 ? "0" + String(inode, radix: 16) : String(inode & 0xff, radix: 16)
        return "\(test.directory)/content/storage/\(shard)/\(inode).\(lookup.attributes.record.generation)"
    }
}
