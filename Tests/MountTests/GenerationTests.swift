import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

/// A document that the store replaces while programs have it open: whoever has the old bytes keeps them, every new
/// open sees the new ones, and what is written into the old ones is kept apart.
@Suite("A document is replaced while it is open")
struct GenerationTests {
    private static let old = "the first version\n"
    private static let new = "the second version, which is longer\n"
    private static let modes: [MountOptions] = [MountOptions(), .cached]

    private static func seed(_ store: String) throws {
        try Seeding(store).file("doc.txt", old, modified: 1_600_000_000)
    }

    /// The store's other client replaces it; returns when a fresh open shows that.
    private static func replace(_ mount: MountedStore) throws {
        try Seeding(mount.store).file("doc.txt", new)
        let files = RealFileSystem(root: mount.mountPoint)
        try waitUntil(3, "a fresh open shows the new version") { try files.text("doc.txt") == new }
    }

    private static func copies(_ folder: String) throws -> [String] {
        try Seeding(folder).names().filter { $0.contains("conflicted copy") }
    }

    private static func descriptor(_ mount: MountedStore, _ flags: Int32) throws -> Int32 {
        let number = open(mount.mountPoint + "/doc.txt", flags | O_CLOEXEC)
        guard number >= 0 else { throw HarnessError("open: \(String(cString: strerror(errno)))") }
        return number
    }

    private static func text(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? String(cString: strerror(errno)) : String(decoding: bytes[..<count], as: UTF8.self)
    }

    private static func inode(_ descriptor: Int32) -> UInt64 {
        var status = stat()
        fstat(descriptor, &status)
        return UInt64(status.st_ino)
    }

    @Test("a reader keeps the old version, under the same inode number", arguments: modes)
    func reader(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let reader = try Self.descriptor(mount, O_RDONLY)
            defer { close(reader) }
            #expect(Self.text(reader) == Self.old)
            let inode = Self.inode(reader)
            try Self.replace(mount)
            #expect(Self.text(reader) == Self.old)
            #expect(try RealFileSystem(root: mount.mountPoint).stat("doc.txt").inode == inode)
            #expect(Self.inode(reader) == inode)
            try mount.requireSameAsStore()
        }
    }

    @Test("a mapping shows the old version, also after its descriptor is closed", arguments: modes)
    func mapping(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let reader = try Self.descriptor(mount, O_RDONLY)
            #expect(Self.text(reader) == Self.old)
            let memory = mmap(nil, 4_096, PROT_READ, MAP_SHARED, reader, 0)
            close(reader)
            guard let memory, memory != MAP_FAILED else { throw HarnessError("mmap failed") }
            defer { munmap(memory, 4_096) }
            try Self.replace(mount)
            let bytes = UnsafeRawBufferPointer(start: memory, count: Self.old.utf8.count)
            #expect(String(decoding: bytes, as: UTF8.self) == Self.old)
        }
    }

    @Test("a writer that changed nothing leaves no conflicted copy", arguments: modes)
    func idleWriter(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let writer = try Self.descriptor(mount, O_RDWR)
            #expect(Self.text(writer) == Self.old)
            try Self.replace(mount)
            #expect(Self.text(writer) == Self.old)
            close(writer)
            try mount.sync()
            #expect(try Self.copies(mount.mountPoint) == [])
            #expect(!mount.hookCalls().contains { $0.hook == .itemChanged })
            try mount.requireSameAsStore()
        }
    }

    @Test("a write into the old version becomes a conflicted copy", arguments: modes)
    func laterWriter(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let writer = try Self.descriptor(mount, O_RDWR)
            #expect(Self.text(writer) == Self.old)
            try Self.replace(mount)
            #expect(pwrite(writer, "MINE", 4, 4) == 4)
            #expect(Self.text(writer) == "the MINEt version\n")
            #expect(try RealFileSystem(root: mount.mountPoint).text("doc.txt") == Self.new)
            #expect(close(writer) == 0)
            // The change is not lost from here on, and seen.
            let copies = try Self.copies(mount.mountPoint)
            #expect(copies.count == 1)
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try Seeding(mount.store).text("doc.txt") == Self.new)
            #expect(try copies.map { try Seeding(mount.store).text($0) } == ["the MINEt version\n"])
        }
    }

    @Test("earlier writes become a conflicted copy too, and later writes go there", arguments: modes)
    func earlierWriter(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let writer = try Self.descriptor(mount, O_RDWR)
            #expect(Self.text(writer) == Self.old)
            #expect(pwrite(writer, "ONE", 3, 0) == 3)
            // Another descriptor of the same file is closed: FLUSH.
            close(dup(writer))
            try Self.replace(mount)
            #expect(pwrite(writer, "TWO", 3, 4) == 3)
            #expect(close(writer) == 0)
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try Seeding(mount.store).text("doc.txt") == Self.new)
            let copies = try Self.copies(mount.store)
            #expect(try copies.map { try Seeding(mount.store).text($0) } == ["ONE TWOst version\n"])
        }
    }

    @Test("a killed daemon does not lose the conflicted copy", arguments: modes)
    func killed(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let writer = try Self.descriptor(mount, O_RDWR)
            defer { close(writer) }
            #expect(Self.text(writer) == Self.old)
            try Self.replace(mount)
            #expect(pwrite(writer, "MINE", 4, 4) == 4)
            if !options.passthrough { #expect(fsync(writer) == 0) }
            try mount.kill9()
            try mount.mount()
            try mount.sync()
            try mount.requireSameAsStore()
            let copies = try Self.copies(mount.store)
            #expect(try copies.map { try Seeding(mount.store).text($0) } == ["the MINEt version\n"])
            #expect(try Seeding(mount.store).text("doc.txt") == Self.new)
        }
    }
}
