import FileProvider
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import Volume

/// What the kernel may keep of a document's attributes while and after a program writes it: it gives up size and times by
/// itself at each write that goes through it.
@Suite struct KeptAttributeTests {
    private struct Times: Equatable {
        let size: Int64
        let modified: FileTime
        let changed: FileTime

        init(_ attributes: NodeAttributes) {
            let record = attributes.record
            (size, modified, changed) = (record.size, record.modified, record.changed)
        }
    }

    /// A new document that a program opened for writing only.
    private static func created(_ test: TestVolume) async throws -> (Lookup, Opened) {
        try await test.answer {
            try test.volume.create("a", in: .root, mode: 0o644, uid: 1_000, gid: 1_000, traits: .showsChanges)
        }
    }

    /// As the kernel does it, past the volume where it may.
    private static func write(_ test: TestVolume, _ opened: Opened, _ text: String, at offset: Int) throws {
        guard case .passthrough(let id) = opened.mode else {
            return try test.write(opened.handle, text, at: Int64(offset))
        }
        let descriptor = try #require(test.backing.registered[id])
        #expect(pwrite(descriptor, text, text.utf8.count, off_t(offset)) == text.utf8.count)
    }

    @Test(arguments: [false, true]) func whatAWriterIsShownStaysTrueWhenItCloses(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        try Self.write(test, opened, "some text", at: 0)
        let shown = try test.volume.attributes(of: lookup.node)
        #expect(shown.isStable)
        test.kernel.forgetEvents()
        try test.close(opened.handle)
        #expect(try Times(test.volume.attributes(of: lookup.node)) == Times(shown))
        #expect(!test.kernel.events.contains(.attributes(lookup.node)))
    }

    @Test(arguments: [false, true]) func aLaterWriteIsShownWithItsOwnTimes(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        try Self.write(test, opened, "some text", at: 0)
        let first = try test.volume.attributes(of: lookup.node)
        try test.volume.flush(opened.handle)
        // (The file system below has the time to a few milliseconds only.)
        #expect(
            try await eventually {
                try Self.write(test, opened, "more", at: 0)
                let now = try test.volume.attributes(of: lookup.node).record
                return now.modified > first.record.modified && now.changed > first.record.changed
            })
        let second = try test.volume.attributes(of: lookup.node)
        try test.close(opened.handle)
        #expect(try Times(test.volume.attributes(of: lookup.node)) == Times(second))
    }

    @Test(arguments: [false, true]) func aFileThatMayBeMappedIsAskedForAgain(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, seen) = try await Self.created(test)
        try Self.write(test, seen, "some text", at: 0)
        #expect(try test.volume.attributes(of: lookup.node).isStable)
        // A second writer, which may map it (or is a program of a scope).
        let unseen = try test.volume.open(lookup.node, flags: O_RDWR)
        #expect(try !test.volume.attributes(of: lookup.node).isStable)
        try test.close(unseen.handle)
        #expect(try !test.volume.attributes(of: lookup.node).isStable, "what it mapped may still be")
        test.kernel.forgetEvents()
        try test.close(seen.handle)
        #expect(test.kernel.events.contains(.attributes(lookup.node)))
    }

    /// The kernel has the answer of the create, and no write makes it ask again.
    @Test(arguments: [false, true]) func anEmptyNewDocumentKeepsTheTimesOfItsCreation(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        #expect(try Times(test.volume.attributes(of: lookup.node)) == Times(lookup.attributes))
        test.kernel.forgetEvents()
        try test.close(opened.handle)
        #expect(try Times(test.volume.attributes(of: lookup.node)) == Times(lookup.attributes))
        #expect(!test.kernel.events.contains(.attributes(lookup.node)))
    }

    /// Also if a writer may have mapped it, whose answers are not kept.
    @Test(arguments: [false, true], [O_WRONLY, O_RDWR])
    func aDateOfAnEmptyNewDocumentStays(passthrough: Bool, flags: Int32) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        let second = flags == O_RDWR ? try test.volume.open(lookup.node, flags: flags) : nil
        let date = FileTime(seconds: 1_000_000_000, nanoseconds: 5)
        _ = try test.volume.setAttributes(
            lookup.node, to: AttributeRequest(attributes: AttributeChange(modified: date), size: nil))
        if let second { try test.close(second.handle) }
        try test.close(opened.handle)
        #expect(try test.volume.attributes(of: lookup.node).record.modified == date)
    }

    /// A reader still has it open when the writer that may have mapped it is gone.
    @Test func aMappingIsNotForgottenWhenItsWriterHasClosedTheFile() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let (lookup, first) = try await Self.created(test)
        try Self.write(test, first, "some text", at: 0)
        try test.close(first.handle)
        let reader = try test.volume.open(lookup.node, flags: O_RDONLY)
        let mapping = try test.volume.open(lookup.node, flags: O_RDWR)
        try test.close(mapping.handle)
        let writer = try test.volume.open(lookup.node, flags: O_WRONLY, traits: .showsChanges)
        #expect(try !test.volume.attributes(of: lookup.node).isStable)
        try test.close(writer.handle)
        test.volume.close(reader.handle)
    }

    /// The kernel gives up the size only if the call succeeds.
    @Test func aFailedCallThatMayHaveChangedTheSizeIsTold() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        try Self.write(test, opened, "some text", at: 0)
        _ = try test.volume.attributes(of: lookup.node)
        #expect(throws: VolumeError.self) {
            try test.volume.allocate(opened.handle, mode: 0x7000, offset: 0, length: 10)
        }
        test.kernel.forgetEvents()
        try test.close(opened.handle)
        #expect(test.kernel.events.contains(.attributes(lookup.node)))
    }

    @Test(arguments: [false, true]) func aDateInTheFutureIsNoChangeInTheFuture(passthrough: Bool) async throws {
        let test = try TestVolume(passthrough: passthrough, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        try Self.write(test, opened, "some text", at: 0)
        let future = FileTime(seconds: 4_000_000_000, nanoseconds: 5)
        let shown = try test.volume.setAttributes(
            lookup.node, to: AttributeRequest(attributes: AttributeChange(modified: future), size: nil))
        #expect(shown.record.modified == future && shown.record.changed < future)
        test.kernel.forgetEvents()
        try test.close(opened.handle)
        #expect(try Times(test.volume.attributes(of: lookup.node)) == Times(shown))
        #expect(!test.kernel.events.contains(.attributes(lookup.node)))
    }

    /// What the kernel kept from before is given up at the end, if a writer may have mapped the file.
    @Test func attributesFromBeforeAWriterThatMapsAreGivenUp() async throws {
        let test = try TestVolume(passthrough: true, settle: 60)
        let (lookup, opened) = try await Self.created(test)
        try Self.write(test, opened, "some text", at: 0)
        _ = try test.volume.attributes(of: lookup.node)
        try test.close(opened.handle)
        let mapping = try test.volume.open(lookup.node, flags: O_RDWR)
        test.kernel.forgetEvents()
        try test.close(mapping.handle)
        #expect(test.kernel.events.contains(.attributes(lookup.node)))
    }
}
