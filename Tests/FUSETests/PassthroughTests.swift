import FUSE
import Foundation
import Glibc
import Synchronization
import Testing

/// Needs CAP_SYS_ADMIN and a kernel of 6.9 or later.
@Suite("Passthrough", .serialized, .enabled(if: geteuid() == 0))
struct PassthroughTests {
    /// Every open is passed through to one file below.
    final class Through: MemoryFileSystem, @unchecked Sendable {
        let below: String
        let backing = Mutex<BackingID?>(nil)
        let session = Mutex<FUSESession?>(nil)

        init(below: String) {
            self.below = below
            super.init()
        }

        override func openReply(node: UInt64, flags: Int32) -> FUSEOpenReply {
            let id = backing.withLock { backing in
                if let backing { return backing }
                let fd = Glibc.open(below, O_RDWR)
                defer { close(fd) }
                backing = session.withLock { session in
                    do { return try session!.openBacking(fileDescriptor: fd) } catch {
                        Issue.record(error)
                        return nil
                    }
                }
                return backing!
            }
            return FUSEOpenReply(
                handle: node + 1000, keepCache: true, noFlush: flags & O_ACCMODE == O_RDONLY, backing: id)
        }

        override func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
            count("open")
            let pending = FUSEPendingRequest(request)
            Task.detached { pending.take()?.reply(open: self.openReply(node: node, flags: flags)) }
        }

        /// As the design has it: while it is passed through, the size is the file's below.
        override func attributes(_ node: UInt64) -> stat? {
            var out = super.attributes(node)
            var there = stat()
            if node > 1, lstat(below, &there) == 0 { out?.st_size = there.st_size }
            return out
        }
    }

    private func contents(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    private func with(_ body: (Through, Mounted, String) async throws -> Void) async throws {
        let below = "/tmp/hydrant-fuse-test.\(getpid()).below"
        #expect(FileManager.default.createFile(atPath: below, contents: Data("the bytes below\n".utf8)))
        defer { unlink(below) }
        let fileSystem = Through(below: below)
        try await Mounted.with(fileSystem) { mounted in
            fileSystem.session.withLock { $0 = mounted.session }
            defer { fileSystem.session.withLock { $0 = nil } }
            try await body(fileSystem, mounted, below)
        }
    }

    @Test func readsAndWritesGoBelow() async throws {
        try await with { fileSystem, mounted, below in
            fileSystem.add("file", "")
            let result = await Child.run("cat $M/file; echo more >> $M/file; cat $M/file", ["M": mounted.path])
            #expect(result.output == "the bytes below\nthe bytes below\nmore\n")
            #expect(contents(of: below) == "the bytes below\nmore\n")
            #expect(fileSystem.calls("open") == 3)
            #expect(fileSystem.calls("read") == 0)
            #expect(fileSystem.calls("write") == 0)
            #expect(mounted.session.passthroughAvailable)
            mounted.session.closeBacking(fileSystem.backing.withLock { $0! })
        }
    }

    @Test func createGoesBelow() async throws {
        try await with { fileSystem, mounted, below in
            let result = await Child.run("(echo created >&3; stat -c '%a %n' $M/file) 3<> $M/file", ["M": mounted.path])
            #expect(result.output == "644 \(mounted.path)/file\n")
            #expect(contents(of: below) == "created\ns below\n")
            #expect(fileSystem.calls("create") == 1)
            #expect(fileSystem.calls("write") == 0)
        }
    }

    @Test func aFolderIsNoBackingFile() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            #expect(await Child.run("ls $M", ["M": mounted.path]).status == 0)
            let folder = Glibc.open("/tmp", O_RDONLY | O_DIRECTORY)
            defer { close(folder) }
            let error = #expect(throws: FUSEError.self) { try mounted.session.openBacking(fileDescriptor: folder) }
            #expect((error?.errno ?? 0) > 0)
            // (No process gets so many; a small one may belong to another test.)
            let bad = #expect(throws: FUSEError.self) { try mounted.session.openBacking(fileDescriptor: 1 << 30) }
            #expect(bad?.errno == EBADF)
            #expect(mounted.session.passthroughAvailable, "only EPERM ends it")
        }
    }

    /// As for an ordinary user: a thread gives up CAP_SYS_ADMIN, for itself alone, and asks.
    @Test func aRefusalIsRemembered() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            #expect(await Child.run("ls $M", ["M": mounted.path]).status == 0)
            #expect(mounted.session.passthroughAvailable)
            let error = Mutex<FUSEError?>(nil)
            let isDone = Atomic(false)
            Thread {
                dropSysAdmin()
                let fd = Glibc.open("/etc/passwd", O_RDONLY)
                do throws(FUSEError) { _ = try mounted.session.openBacking(fileDescriptor: fd) } catch let refusal {
                    error.withLock { $0 = refusal }
                }
                close(fd)
                isDone.store(true, ordering: .releasing)
            }.start()
            #expect(await eventually(within: 3) { isDone.load(ordering: .acquiring) })
            #expect(error.withLock { $0?.errno } == EPERM)
            #expect(error.withLock { $0?.description.contains("CAP_SYS_ADMIN") } == true)
            #expect(!mounted.session.passthroughAvailable)
        }
    }

    @Test func notWhenItIsNotWanted() async throws {
        try await Mounted.with(MemoryFileSystem(), options: .init(passthrough: false)) { mounted in
            #expect(await Child.run("ls $M", ["M": mounted.path]).status == 0)
            #expect(!mounted.session.passthroughAvailable)
            #expect(throws: FUSEError.self) { try mounted.session.openBacking(fileDescriptor: 0) }
        }
    }
}

/// In glibc, but in no header of it.
@_silgen_name("capget") private func capget(
    _ header: UnsafeMutablePointer<UInt32>, _ data: UnsafeMutablePointer<UInt32>
) -> Int32
@_silgen_name("capset") private func capset(
    _ header: UnsafeMutablePointer<UInt32>, _ data: UnsafeMutablePointer<UInt32>
) -> Int32

private func dropSysAdmin() {
    // Version 3, this thread; then effective, permitted, inheritable, twice.
    var header: [UInt32] = [0x2008_0522, 0]
    var data = [UInt32](repeating: 0, count: 6)
    #expect(capget(&header, &data) == 0)
    data[0] &= ~(1 << 21)
    #expect(capset(&header, &data) == 0)
}
