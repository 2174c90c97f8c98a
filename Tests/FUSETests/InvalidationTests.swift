import FUSE
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("Invalidation", .serialized)
struct InvalidationTests {
    final class Caching: MemoryFileSystem, @unchecked Sendable {
        override func openReply(node: UInt64, flags: Int32) -> FUSEOpenReply {
            FUSEOpenReply(handle: node + 1000, keepCache: true)
        }
    }

    @Test func bytes() async throws {
        let fileSystem = Caching(timeout: 1000)
        let node = fileSystem.add("file", "old")
        try await Mounted.with(fileSystem) { mounted in
            func cat() async -> String { await Child.run("cat $M/file", ["M": mounted.path]).output }
            #expect(await cat() == "old")
            fileSystem.set("new", of: node)
            #expect(await cat() == "old", "the kernel keeps what it was told")
            mounted.session.invalidateInode(node, offset: 0, length: 0)
            mounted.session.drainInvalidations()
            #expect(await cat() == "new")
        }
    }

    @Test func attributesOnly() async throws {
        let fileSystem = Caching(timeout: 1000)
        let node = fileSystem.add("file", "abc")
        try await Mounted.with(fileSystem) { mounted in
            func size() async -> String { await Child.run("stat -c %s $M/file", ["M": mounted.path]).output }
            #expect(await size() == "3\n")
            fileSystem.set("abcdef", of: node)
            #expect(await size() == "3\n")
            mounted.session.invalidateInode(node, offset: -1, length: 0)
            mounted.session.drainInvalidations()
            #expect(await size() == "6\n")
        }
    }

    @Test func names() async throws {
        let fileSystem = MemoryFileSystem(timeout: 1000)
        try await Mounted.with(fileSystem) { mounted in
            func exists() async -> Bool { await Child.run("test -e $M/file", ["M": mounted.path]).status == 0 }
            #expect(await !exists())
            fileSystem.add("file")
            #expect(await !exists(), "a cached ENOENT")
            mounted.session.invalidateEntry(parent: 1, name: Array("file".utf8))
            mounted.session.drainInvalidations()
            #expect(await exists())
        }
    }

    /// Who has it open, or stands there, does not see it called deleted (getcwd(3) goes by the same mark).
    @Test(arguments: [true, false])
    func anExpiredNameIsKeptIfItStillMeansTheSame(_ isExpired: Bool) async throws {
        let fileSystem = MemoryFileSystem(timeout: 1000)
        try await Mounted.with(fileSystem) { mounted in
            func exists() async -> Bool { await Child.run("test -e $M/file", ["M": mounted.path]).status == 0 }
            func forget() {
                let name = Array("file".utf8)
                if isExpired {
                    mounted.session.expireEntry(parent: 1, name: name)
                } else {
                    mounted.session.invalidateEntry(parent: 1, name: name)
                }
                mounted.session.drainInvalidations()
            }
            #expect(await !exists())
            fileSystem.add("file")
            forget()
            #expect(await exists())
            let descriptor = open(mounted.path + "/file", O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            forget()
            let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            #expect(path == mounted.path + (isExpired ? "/file" : "/file (deleted)"))
        }
    }

    @Test func whatTheKernelDoesNotKnowIsNoTrouble() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            for node: UInt64 in 2..<200 {
                mounted.session.invalidateInode(node, offset: 0, length: 0)
                mounted.session.invalidateEntry(parent: node, name: Array("x".utf8))
            }
            mounted.session.drainInvalidations()
            #expect(await Child.run("ls $M", ["M": mounted.path]).status == 0)
        }
    }

    /// The pages that a hung read has locked keep their own invalidation, and no other.
    @Test func aHungReadDoesNotHoldUpTheOthers() async throws {
        let fileSystem = RequestTests.Hanging(directIO: false)
        let other = fileSystem.add("other", "abc")
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.calls("read") > 0 })
            mounted.session.invalidateInode(2, offset: 0, length: 0)
            mounted.session.invalidateInode(other, offset: -1, length: 0)
            try await Task.sleep(for: .milliseconds(500))
            #expect(await Child.run("stat -c %s $M/other", ["M": mounted.path], limit: 3).output == "3\n")
            fileSystem.failPending()
            #expect(await child.end(limit: 3).timedOut == false)
            mounted.session.drainInvalidations()
        }
    }

    /// Even with a notification stuck in the kernel, which holds the device.
    @Test func exitEndsASessionWithAStuckInvalidation() async throws {
        let fileSystem = RequestTests.Hanging(directIO: false)
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.calls("read") > 0 })
            mounted.session.invalidateInode(2, offset: 0, length: 0)
            try await Task.sleep(for: .milliseconds(200))
            mounted.session.exit()
            #expect(await mounted.runEnds(within: 3))
            fileSystem.pending.withLock { $0 = [] }
            #expect(await child.end(limit: 3).timedOut == false)
        }
    }
}
