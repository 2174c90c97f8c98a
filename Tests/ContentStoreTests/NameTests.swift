import ContentStore
import Foundation
import Testing

/// Bytes that get a second name, and who else can still change them.
@Suite struct NameTests {
    private let test: TestStore
    private let old = GenerationID(inode: 5, number: 1)
    private let new = GenerationID(inode: 9, number: 1)

    init() throws { test = try TestStore() }

    private func document() throws -> ContentFile {
        let file = try test.open(size: 4, present: nil)
        try file.write([1, 2, 3, 4], at: 0)
        return file
    }

    // MARK: link, rename

    @Test func theOpenerGoesOnUnderTheNewName() throws {
        let file = try document()
        try test.store.link(old, to: new)
        test.store.rename(file, to: new)
        #expect(file.id == new)
        #expect(test.store.opened(new) === file && test.store.opened(old) == nil)
        let again = try test.store.open(new, size: 4, baseSize: 0, present: nil)
        #expect(again === file)
        // The document's own next generation takes the old name's file away.
        test.store.remove(old)
        #expect(test.store.status(old) == nil && test.store.status(new)?.size == 4)
        try file.write([9], at: 0)
        #expect(try test.store.open(new, size: 4, baseSize: 0, present: nil).bytes(0..<4) == [9, 2, 3, 4])
        // A snapshot is taken of it as of any other.
        #expect(try test.store.snapshot(of: file).read(at: 0, upTo: 4) == [9, 2, 3, 4])
    }

    @Test func aLinkNobodyHasOpenHasTheSameBytes() throws {
        do { _ = try document() }
        try test.store.link(old, to: new)
        test.store.remove(old)
        #expect(try test.store.open(new, size: 4, baseSize: 0, present: nil).bytes(0..<4) == [1, 2, 3, 4])
    }

    /// Left by a transaction that did not come to its end.
    @Test func aLeftoverIsReplaced() throws {
        do {
            _ = try document()
            try test.open(9, size: 2, present: nil).write([7, 7], at: 0)
        }
        try test.store.link(old, to: new)
        #expect(try test.store.open(new, size: 4, baseSize: 0, present: nil).bytes(0..<4) == [1, 2, 3, 4])
    }

    @Test func whatIsNotThereHasNoSecondName() throws {
        let error = #expect(throws: ContentError.self) { try test.store.link(old, to: new) }
        #expect(error?.code == .system(ENOENT))
        #expect(test.store.status(new) == nil)
    }

    // MARK: Who can change it

    private func mapped(_ flags: Int32, protection: Int32, openedFor access: Int32) throws -> UnsafeMutableRawPointer {
        let descriptor = open(test.path(), access | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let mapping = try #require(mmap(nil, 4, protection, flags, descriptor, 0))
        try #require(mapping != MAP_FAILED)
        return mapping
    }

    @Test func nobodyCan() throws {
        do { _ = try document() }
        #expect(soon { !test.store.isWritable(old) })
        // Nor what does not exist.
        #expect(soon { !test.store.isWritable(new) })
    }

    @Test func weOurselvesDoNotCount() throws {
        let file = try document()
        #expect(test.store.opened(old) === file)
        #expect(soon { !test.store.isWritable(old) })
    }

    @Test func aReaderCannot() throws {
        do { _ = try document() }
        let reader = open(test.path(), O_RDONLY | O_CLOEXEC)
        try #require(reader >= 0)
        #expect(soon { !test.store.isWritable(old) })
        close(reader)
    }

    /// Then only a write lease tells, and that one a reader keeps us from.
    @Test func aReaderCountsWhileWeHaveItOpen() throws {
        let file = try document()
        let reader = open(test.path(), O_RDONLY | O_CLOEXEC)
        try #require(reader >= 0)
        #expect(test.store.isWritable(old))
        close(reader)
        #expect(soon { !test.store.isWritable(old) })
        #expect(file.id == old)
    }

    @Test(arguments: [O_WRONLY, O_RDWR])
    func aWriterCan(access: Int32) throws {
        do { _ = try document() }
        let writer = open(test.path(), access | O_CLOEXEC)
        try #require(writer >= 0)
        #expect(test.store.isWritable(old))
        close(writer)
        #expect(soon { !test.store.isWritable(old) })
        // The question left no lease behind.
        let next = open(test.path(), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        #expect(next >= 0)
        close(next)
    }

    @Test func aSharedMappingCanWhenItsDescriptorIsClosed() throws {
        do { _ = try document() }
        let mapping = try mapped(MAP_SHARED, protection: PROT_READ | PROT_WRITE, openedFor: O_RDWR)
        #expect(test.store.isWritable(old))
        mapping.storeBytes(of: 9, as: UInt8.self)
        munmap(mapping, 4)
        #expect(soon { !test.store.isWritable(old) })
        #expect(try test.open(size: 4, present: nil).bytes(0..<4) == [9, 2, 3, 4])
    }

    @Test func aMappingForReadingCannot() throws {
        do { _ = try document() }
        for flags in [MAP_SHARED, MAP_PRIVATE] {
            let mapping = try mapped(flags, protection: PROT_READ, openedFor: O_RDONLY)
            #expect(soon { !test.store.isWritable(old) })
            munmap(mapping, 4)
        }
        // What is written to a private one stays with its program.
        let mapping = try mapped(MAP_PRIVATE, protection: PROT_READ | PROT_WRITE, openedFor: O_RDONLY)
        mapping.storeBytes(of: 9, as: UInt8.self)
        #expect(soon { !test.store.isWritable(old) })
        munmap(mapping, 4)
        #expect(try test.open(size: 4, present: nil).bytes(0..<1) == [1])
    }

    /// The kernel keeps the descriptor's right to write for as long as the mapping lives: better too careful.
    @Test func aPrivateMappingOfAWritableDescriptorCounts() throws {
        do { _ = try document() }
        let mapping = try mapped(MAP_PRIVATE, protection: PROT_READ, openedFor: O_RDWR)
        #expect(test.store.isWritable(old))
        munmap(mapping, 4)
        #expect(soon { !test.store.isWritable(old) })
    }
}
