import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

/// Modified content says what it is, as long as it is nowhere else.
@Suite struct LabelTests {
    /// The label of a document's file.
    private func label(_ test: TestVolume, _ path: String) async throws -> ContentLabel? {
        let inode = try await test.lookUp(path).attributes.record
        return test.store.label(of: GenerationID(inode: inode.id.rawValue, number: inode.generation))
    }

    private func path(_ label: ContentLabel?) -> String? { label.map { String(decoding: $0.path, as: UTF8.self) } }

    @Test(arguments: [false, true])
    func aNewDocumentIsLabelledUntilTheStoreHasIt(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (_, created) = try await test.create("new")
        // Before a byte of it is written.
        #expect(path(try await label(test, "new")) == "new")
        try test.write(created.handle, "text")
        try test.volume.flush(created.handle)
        let flushed = try #require(try await label(test, "new"))
        #expect(flushed == ContentLabel(path: Array("new".utf8), mode: 0o644))
        test.volume.close(created.handle)
        #expect(try await test.sync().isEmpty)
        #expect(try await label(test, "new") == nil)
        #expect(test.remote.read("new") == Array("text".utf8))
    }

    @Test(arguments: [false, true])
    func anEditSaysWhatItStartedFrom(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        try test.remote.put("folder/doc", "before")
        #expect(try await test.contents("folder/doc") == "before")
        // The reader is answered before the catalog knows that all is here.
        let whole = ContinuousClock.now + .seconds(60)
        while try await test.lookUp("folder/doc").attributes.record.extents != nil, .now < whole { await Task.yield() }
        while try test.catalog.read({ try $0.resolve(["folder", "doc"]) }).extents != nil, .now < whole {
            try await Task.sleep(for: .milliseconds(5))
        }
        while try await label(test, "folder/doc") != nil, .now < whole { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await label(test, "folder/doc") == nil)
        let opened = try await test.open("folder/doc", O_RDWR)
        try test.write(opened.handle, "after!")
        try test.volume.flush(opened.handle)
        test.catalog.settle()
        let found = try #require(try await label(test, "folder/doc"))
        let inode = try await test.lookUp("folder/doc").attributes.record.id
        let item = try #require(try test.catalog.read { try $0.item(of: inode) })
        #expect(path(found) == "folder/doc" && found.extents == nil && found.modified == nil)
        #expect(found.identifier == item.identifier?.rawValue && found.base == item.baseVersion?.content.bytes)
        test.volume.close(opened.handle)
        #expect(try await test.sync().isEmpty)
        #expect(try await label(test, "folder/doc") == nil)
    }

    @Test func oneThatIsPartlyHereSaysWhichBytes() async throws {
        let test = try TestVolume(settle: 60)
        try test.remote.put("doc", String(repeating: "x", count: 100_000))
        let opened = try await test.open("doc", O_WRONLY)
        try test.write(opened.handle, "HERE", at: 50_000)
        try test.close(opened.handle)
        let found = try #require(try await label(test, "doc"))
        #expect(found.extents == LabelledExtents(baseSize: 100_000, ranges: [50_000..<50_004]))
        // A download that completes it says so.
        #expect(try await test.contents("doc").count == 100_000)
        #expect(try await eventually { test.store.label(of: GenerationID(inode: 2, number: 1))?.extents == nil })
        #expect(path(try await label(test, "doc")) == "doc")
    }

    @Test(arguments: [false, true])
    func aRenamedDocumentSaysItsNewName(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        try test.remote.put("doc", "old")
        try await test.save("temporary", "new bytes")
        let kept = try await test.open("temporary", O_RDWR)
        _ = try await test.answer {
            try test.volume.rename("temporary", in: .root, to: "doc", in: .root, noReplace: false)
        }
        let found = try #require(try await label(test, "doc"))
        // A save: the bytes are a new version of the store's document.
        #expect(path(found) == "doc" && found.identifier != nil && found.base != nil)
        test.volume.close(kept.handle)
        #expect(path(try await label(test, "doc")) == "doc")
    }

    @Test func dateAndModeGoAlong() async throws {
        let test = try TestVolume(settle: 60)
        let node = try await test.save("a", "text").node
        _ = try test.volume.setAttributes(
            node,
            to: AttributeRequest(
                attributes: AttributeChange(mode: 0o600, modified: FileTime(seconds: 5)), size: nil))
        let found = try await label(test, "a")
        #expect(found == ContentLabel(path: Array("a".utf8), modified: 5_000_000_000, mode: 0o600))
    }

    /// The local file cannot always have it.
    @Test(arguments: [FileTime(seconds: -28_501_372_800, nanoseconds: 5), FileTime(seconds: 16_725_225_600)])
    func aDateFarAwayStaysWhateverTheLocalFileHas(_ date: FileTime) async throws {
        let test = try TestVolume(settle: 60)
        let node = try await test.save("a", "text").node
        let change = AttributeRequest(attributes: AttributeChange(modified: date), size: nil)
        func shown() throws -> FileTime { try test.volume.attributes(of: node).record.modified }
        _ = try test.volume.setAttributes(node, to: change)
        #expect(try shown() == date)
        #expect(try await label(test, "a")?.modified == date.wideNanoseconds)
        // While a program has it open for writing, and after one that wrote nothing.
        let opened = try await test.open("a", O_RDWR)
        #expect(try shown() == date)
        _ = try test.volume.setAttributes(node, to: change)
        try test.close(opened.handle)
        #expect(try shown() == date)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.item(at: "a")?.contentModificationDate == date)
    }

    @Test func aTruncationAloneIsLabelled() async throws {
        let test = try TestVolume(settle: 60)
        try test.remote.put("a", "0123456789")
        #expect(try await test.contents("a") == "0123456789")
        _ = try test.volume.setAttributes(
            try await test.lookUp("a").node, to: AttributeRequest(attributes: AttributeChange(), size: 4))
        #expect(path(try await label(test, "a")) == "a")
    }

    /// The label changes the file's ctime, by which writes past us are known.
    @Test func aLabelIsNoWrite() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let first = try await test.save("a", "text")
        let revision = { try test.catalog.read { try $0.item(of: first.attributes.record.id) }?.contentRevision }
        let before = try revision()
        for _ in 0..<3 {
            let opened = try await test.open("a", O_RDWR)
            _ = try test.volume.setAttributes(
                first.node,
                to: AttributeRequest(attributes: AttributeChange(mode: .random(in: 0o600...0o677)), size: nil))
            try test.close(opened.handle)
        }
        #expect(try revision() == before)
        #expect(try test.catalog.read { try $0.inodesBeingWritten() }.isEmpty)
    }

    @Test(arguments: [false, true])
    func confirmedWhileItIsOpenItLosesItsLabelAtTheClose(_ passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 0)
        try await test.save("a", "text")
        let opened = try await test.open("a", O_RDWR)
        #expect(try await test.sync().isEmpty)
        #expect(path(try await label(test, "a")) == "a")
        try test.close(opened.handle)
        #expect(try await label(test, "a") == nil)
        #expect(try test.pendingNames() == [])
    }

    @Test func theNextMountLabelsWhatIsNot() async throws {
        let test = try TestVolume(settle: 60)
        let inode = try await test.save("a", "text").attributes.record
        let id = GenerationID(inode: inode.id.rawValue, number: inode.generation)
        try test.store.setLabel(nil, of: id)
        let next = try await test.killed()
        #expect(path(next.store.label(of: id)) == "a")
    }

    @Test func anUnchangedLabelIsNotWritten() async throws {
        let test = try TestVolume(settle: 60)
        let inode = try await test.save("a", "text").attributes.record
        let isWritten = try test.catalog.read { reader in
            try test.engine.mount.labels.update(try reader.inode(inode.id), in: reader)
        }
        #expect(!isWritten)
    }
}
