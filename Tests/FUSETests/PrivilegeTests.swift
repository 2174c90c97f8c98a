import FUSE
import Glibc
import Synchronization
import Testing

/// Dropping setuid and setgid (HANDLE_KILLPRIV_V2): the kernel says when, and asks nothing more.
@Suite("Privileges of files", .serialized, .enabled(if: geteuid() == 0, "becomes someone else"))
struct PrivilegeTests {
    /// Timeouts as a mount has them: without, each stat would make the kernel look for capabilities anew.
    private func with(
        killPrivileges: Bool = true, mode: UInt32 = 0o4777, _ body: (MemoryFileSystem, UInt64, Mounted) async -> Void
    ) async throws {
        let fileSystem = MemoryFileSystem(timeout: 60)
        let node = fileSystem.add("file", "0123456789")
        fileSystem.state.withLock { $0.nodes[node]!.mode = S_IFREG | mode }
        let options = FUSESession.Options(
            mountOptions: ["subtype=hydrant-test", "allow_other"], killPrivileges: killPrivileges)
        try await Mounted.with(fileSystem, options: options) { await body(fileSystem, node, $0) }
    }

    /// Python, as the user of this number, in the mount.
    private func run(_ script: String, as user: Int, _ mounted: Mounted) async {
        let result = await Child.run(
            """
            cd "$M" && exec setpriv --reuid=$U --regid=$U --clear-groups python3 -c "$S"
            """, ["M": mounted.path, "U": "\(user)", "S": "import os\n" + script])
        #expect(result.status == 0, "\(result.output)")
    }

    private let write = """
        file = os.open("file", os.O_WRONLY)
        for _ in range(10): os.write(file, b"x")
        """

    @Test(arguments: [0o4777, 0o2777, 0o6777] as [UInt32])
    func aWriteByAUser(mode: UInt32) async throws {
        try await with(mode: mode) { fileSystem, node, mounted in
            await run(write, as: 65534, mounted)
            #expect(fileSystem.calls("write") == 10)
            #expect(fileSystem.calls("kill by write") == 10)
            // The kernel leaves it to us; while it knows of setuid it sends a setattr before a write, of nothing.
            #expect(fileSystem.calls("setattr") == fileSystem.calls("setattr of nothing"))
            #expect(fileSystem.calls("setattr") < 10)
            #expect(fileSystem.state.withLock { $0.nodes[node]!.mode } == S_IFREG | 0o777)
        }
    }

    @Test func aWriteByRootDropsNothing() async throws {
        try await with { fileSystem, node, mounted in
            await run(write, as: 0, mounted)
            #expect(fileSystem.calls("write") == 10)
            #expect(fileSystem.calls("kill by write") == 0)
            #expect(fileSystem.state.withLock { $0.nodes[node]!.mode } == S_IFREG | 0o4777)
        }
    }

    @Test func setgidWithoutExecuteStays() async throws {
        try await with(mode: 0o6766) { fileSystem, node, mounted in
            await run(write, as: 65534, mounted)
            #expect(fileSystem.state.withLock { $0.nodes[node]!.mode } == S_IFREG | 0o2766)
        }
    }

    @Test(arguments: [0, 65534])
    func truncation(by user: Int) async throws {
        try await with { fileSystem, _, mounted in
            await run(
                """
                os.truncate("file", 5)
                os.ftruncate(os.open("file", os.O_WRONLY), 4)
                os.close(os.open("file", os.O_WRONLY | os.O_TRUNC))
                os.close(os.open("file", os.O_WRONLY | os.O_TRUNC | os.O_CREAT))
                os.close(os.open("new", os.O_WRONLY | os.O_TRUNC | os.O_CREAT))
                """, as: user, mounted)
            #expect(fileSystem.calls("setattr") == 2)
            #expect(fileSystem.calls("kill by setattr") == (user == 0 ? 0 : 2))
            #expect(fileSystem.calls("open") == 3)
            #expect(fileSystem.calls("kill by open") == (user == 0 ? 0 : 2))
            #expect(fileSystem.calls("create") == 1)
            #expect(fileSystem.calls("kill by create") == (user == 0 ? 0 : 1))
        }
    }

    /// What one request says is not taken for the next one's, on the same thread.
    @Test func nothingElseIsSaid() async throws {
        try await with(mode: 0o777) { fileSystem, _, mounted in
            await run(
                """
                for _ in range(50):
                    os.truncate("file", 5)
                    os.chmod("file", 0o777); os.utime("file", (1, 1))
                    os.close(os.open("file", os.O_WRONLY))
                    os.close(os.open("new", os.O_WRONLY | os.O_CREAT)); os.unlink("new")
                """, as: 65534, mounted)
            #expect(fileSystem.calls("setattr") == 150)
            #expect(fileSystem.calls("kill by setattr") == 50)
            #expect(fileSystem.calls("create") == 50)
            #expect(fileSystem.calls("kill by open") + fileSystem.calls("kill by create") == 0)
        }
    }

    /// By root too, as chown(2) has it. The kernel's own way is to send a new mode along.
    @Test(arguments: [true, false])
    func aChangeOfOwner(killPrivileges: Bool) async throws {
        try await with(killPrivileges: killPrivileges) { fileSystem, node, mounted in
            let folder = fileSystem.state.withLock {
                $0.add(Array("folder".utf8), MemoryFileSystem.Node(mode: S_IFDIR | 0o2777), to: 1)
            }
            await run("os.chown('file', 1, 1); os.chown('folder', 1, 1)", as: 0, mounted)
            #expect(fileSystem.calls("setattr") == 2)
            #expect(fileSystem.calls("kill by setattr") == (killPrivileges ? 1 : 0))
            let (file, other) = fileSystem.state.withLock { ($0.nodes[node]!.mode, $0.nodes[folder]!.mode) }
            #expect(file == S_IFREG | 0o777)
            #expect(other == S_IFDIR | 0o2777, "a folder's setgid is for its files")
        }
    }

    /// A question before each write is what it spares us: one at most is left, before the first.
    @Test(arguments: [true, false])
    func capabilitiesAreNotAskedFor(killPrivileges: Bool) async throws {
        try await with(killPrivileges: killPrivileges, mode: 0o666) { fileSystem, _, mounted in
            for user in [0, 65534] { await run(write, as: user, mounted) }
            #expect(fileSystem.calls("write") == 20)
            let asked = fileSystem.calls("getxattr security.capability")
            #expect(killPrivileges ? asked <= 2 : asked >= 20, "\(asked)")
            #expect(fileSystem.calls("kill by write") == (killPrivileges ? 10 : 0))
        }
    }

    /// Without it, all is the kernel's own doing.
    @Test func withoutTheOption() async throws {
        try await with(killPrivileges: false) { fileSystem, node, mounted in
            await run(write, as: 65534, mounted)
            #expect(fileSystem.calls("kill by write") == 0)
            #expect(fileSystem.calls("setattr") == 1)
            #expect(fileSystem.state.withLock { $0.nodes[node]!.mode } == S_IFREG | 0o777)
        }
    }
}
