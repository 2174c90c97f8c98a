import ControlAPI
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

/// Stores through a mapping go on after the last close, and no close tells of their end.
@Suite("Mappings that outlive the last close")
struct HeldMappingTests {
    private static let text = String(repeating: "0123456789abcde\n", count: 512)
    private static let modes: [MountOptions] = [MountOptions(), .cached]

    private static func map(_ mount: MountedStore, _ flags: Int32, _ protection: Int32) throws
        -> UnsafeMutableRawBufferPointer
    {
        let number = open(mount.mountPoint + "/doc.txt", flags | O_CLOEXEC)
        guard number >= 0 else { throw HarnessError("open: \(String(cString: strerror(errno)))") }
        defer { close(number) }
        let memory = mmap(nil, text.utf8.count, protection, MAP_SHARED, number, 0)
        guard let memory, memory != MAP_FAILED else { throw HarnessError("mmap: \(String(cString: strerror(errno)))") }
        return UnsafeMutableRawBufferPointer(start: memory, count: text.utf8.count)
    }

    /// As a downloaded document, and as a placeholder.
    private static func prepare(_ mount: MountedStore, isDownloaded: Bool) throws {
        if isDownloaded { try mount.run("cat doc.txt >/dev/null; \"$HYDRANT\" download doc.txt") }
    }

    private static func seed(_ store: String) throws {
        try Seeding(store).file("doc.txt", text, modified: 1_600_000_000)
    }

    @Test("writes through the mapping reach the store", arguments: modes, [true, false])
    func stores(_ options: MountOptions, isDownloaded: Bool) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: isDownloaded)
            let memory = try Self.map(mount, O_RDWR, PROT_READ | PROT_WRITE)
            memory.copyBytes(from: Array("FIRST".utf8))
            // Longer than it takes to send what was closed.
            usleep(600_000)
            memory[100] = UInt8(ascii: "!")
            munmap(memory.baseAddress!, memory.count)
            var expected = Array(Self.text.utf8)
            expected.replaceSubrange(0..<5, with: Array("FIRST".utf8))
            expected[100] = UInt8(ascii: "!")
            let wanted = expected
            try waitUntil(10, "the store has what was mapped") { try Seeding(mount.store).read("doc.txt") == wanted }
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.status("doc.txt").modified == false)
        }
    }

    @Test(
        "a mapping keeps a document from being evicted and sent; at its end the document is sent once",
        arguments: [true, false])
    func held(isWritten: Bool) async throws {
        let options = MountOptions.with { $0.settleAfterSync = 60 }
        try await withMount(options, seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: true)
            let memory = try Self.map(mount, O_RDWR, PROT_READ | PROT_WRITE)
            if isWritten { memory[0] = UInt8(ascii: "X") }
            usleep(1_000_000)
            let refused = try mount.hydrant(["evict", mount.mountPoint + "/doc.txt"])
            #expect(refused.status == 1, "\(refused)")
            #expect(try Seeding(mount.store).text("doc.txt") == Self.text)
            if isWritten { memory[1] = UInt8(ascii: "Y") }
            munmap(memory.baseAddress!, memory.count)
            if isWritten {
                try waitUntil(10, "the store has it") {
                    try Seeding(mount.store).text("doc.txt").hasPrefix("XY23456789")
                }
            } else {
                usleep(1_500_000)
            }
            try mount.sync()
            #expect(mount.hookCalls().filter { $0.hook == .itemChanged }.count == (isWritten ? 1 : 0))
            let evicted = try mount.hydrant(["evict", mount.mountPoint + "/doc.txt"])
            #expect(evicted.succeeded, "\(evicted)")
            try mount.requireSameAsStore()
        }
    }

    @Test("writes through the mapping reach the store also when another program has read the document meanwhile")
    func readInBetween() async throws {
        try await withMount(seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: true)
            let memory = try Self.map(mount, O_RDWR, PROT_READ | PROT_WRITE)
            memory[0] = UInt8(ascii: "X")
            // Open for longer than it takes to look at the mapping, some times.
            let reader = open(mount.mountPoint + "/doc.txt", O_RDONLY | O_CLOEXEC)
            #expect(reader >= 0)
            usleep(2_500_000)
            close(reader)
            memory[1] = UInt8(ascii: "Y")
            munmap(memory.baseAddress!, memory.count)
            try waitUntil(10, "the store has it") {
                try Seeding(mount.store).text("doc.txt").hasPrefix("XY23456789")
            }
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.status("doc.txt").modified == false)
        }
    }

    /// A program that saves, lets go and sets the date (rsync, cp -p, tar), while its mapping or what is left of its
    /// descriptor in the kernel still lives.
    @Test("the date, mode and name set after the last close are kept", arguments: modes)
    func dates(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: true)
            let memory = try Self.map(mount, O_RDWR, PROT_READ | PROT_WRITE)
            try mount.run("printf changed | dd of=doc.txt conv=notrunc status=none")
            // (Not with touch: it opens the document.)
            try mount.run("python3 -c 'import os; os.utime(\"doc.txt\", (1500000000, 1500000000))'")
            try mount.run("chmod 640 doc.txt; mv doc.txt moved.txt; sync moved.txt")
            usleep(1_500_000)
            #expect(try mount.run("stat -c '%Y %a' moved.txt") == "1500000000 640\n")
            munmap(memory.baseAddress!, memory.count)
            usleep(1_500_000)
            try mount.sync()
            #expect(try mount.run("stat -c '%Y %a' moved.txt") == "1500000000 640\n")
            try mount.requireSameAsStore()
            #expect(mount.hookCalls().filter { $0.hook == .itemChanged }.count == 1)
        }
    }

    @Test("a read-only mapping prevents eviction, not sending")
    func readers() async throws {
        try await withMount(seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: true)
            let memory = try Self.map(mount, O_RDONLY, PROT_READ)
            try mount.run("printf changed | dd of=doc.txt conv=notrunc status=none")
            try mount.sync()
            #expect(try Seeding(mount.store).text("doc.txt").hasPrefix("changed789"))
            #expect(memory[0] == UInt8(ascii: "c"))
            let refused = try mount.hydrant(["evict", mount.mountPoint + "/doc.txt"])
            #expect(refused.status == 1, "\(refused)")
            munmap(memory.baseAddress!, memory.count)
            #expect(try mount.hydrant(["evict", mount.mountPoint + "/doc.txt"]).succeeded)
        }
    }

    @Test("a mapping without changes sends nothing, nor does opening for writing", arguments: modes)
    func nothing(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try Self.prepare(mount, isDownloaded: true)
            try mount.run(
                "exec 3<>doc.txt; exec 3>&-; python3 -c 'import os; os.close(os.open(\"doc.txt\", os.O_WRONLY))'")
            let memory = try Self.map(mount, O_RDWR, PROT_READ | PROT_WRITE)
            #expect(memory[0] == UInt8(ascii: "0"))
            munmap(memory.baseAddress!, memory.count)
            usleep(1_500_000)
            try mount.sync()
            #expect(!mount.hookCalls().contains { $0.hook == .itemChanged })
        }
    }
}
