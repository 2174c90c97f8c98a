import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// mmap(2), O_DIRECT, and files that lose their name while a program has them open.
@Suite("Mappings and open files at a real mount")
struct MappingTests {
    static let modes = [MountOptions(), .cached]
    static let size = 8 << 20
    static func seed(_ store: String) throws {
        try Seeding(store).file("placeholder", noise(size))
        try Seeding(store).file("here", noise(size, seed: 2))
        try Seeding(store).file("folder/inner.txt", "inside\n")
    }

    @Test("a shared mapping: stores through it reach the store, also after close", arguments: modes)
    func shared(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                read("here")
                for name in ["placeholder", "here"]:
                    want = bytearray(read(STORE + "/" + name))
                    file = os.open(name, os.O_RDWR)
                    mapping = mmap.mmap(file, \(Self.size)); os.close(file)
                    print(mapping[:] == want)
                    mapping[5 << 20:(5 << 20) + 4] = want[5 << 20:(5 << 20) + 4] = b"EDIT"
                    time.sleep(1)
                    # The first change may have been sent by now.
                    mapping[0:2] = want[0:2] = b"HI"
                    print(read(name) == want)
                    mapping.close()
                    print(read(name) == want)
                    write(SCRATCH + "/" + name, want)
                """, limit: 30)
            #expect(shown == "True\nTrue\nTrue\nTrue\nTrue\nTrue\n")
            try waitUntil(20, "the store has it") {
                try mount.sync()
                return try mount.shell(
                    "cd \"$SCRATCH\"; cmp here \"$STORE/here\"; cmp placeholder \"$STORE/placeholder\""
                )
                .succeeded
            }
        }
    }

    @Test("a private mapping changes nothing", arguments: modes)
    func privateMapping(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                read("here")
                for name in ["placeholder", "here"]:
                    file = os.open(name, os.O_RDWR)
                    mapping = mmap.mmap(file, \(Self.size), flags=mmap.MAP_PRIVATE); os.close(file)
                    mapping[0:4] = b"MINE"; mapping[7 << 20:(7 << 20) + 1] = b"!"
                    print(read(name) == read(STORE + "/" + name)); mapping.close()
                """)
            #expect(shown == "True\nTrue\n")
            try mount.sync()
            #expect(!mount.hookCalls().contains { $0.hook == .itemChanged })
            try mount.requireSameAsStore()
        }
    }

    @Test(
        "two processes with shared mappings see each other's stores", arguments: modes, ["placeholder", "here", "new"])
    func twoProcesses(_ options: MountOptions, _ name: String) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                read("here"); write("new", bytes(4096))
                def mapped(): return mmap.mmap(os.open("\(name)", os.O_RDWR), 4096)
                child = os.fork()
                if child == 0:
                    mapping = mapped()
                    while mapping[100:104] != b"PING": time.sleep(0.01)
                    mapping[200:204] = b"PONG"
                    os._exit(0)
                mapping = mapped(); mapping[100:104] = b"PING"
                end = time.time() + 60
                while mapping[200:204] != b"PONG" and time.time() < end: time.sleep(0.01)
                os.waitpid(child, os.WNOHANG)
                print(mapping[200:204], os.pread(os.open("\(name)", os.O_RDONLY), 4, 100))
                """)
            #expect(shown == "b'PONG' b'PING'\n")
            try waitUntil(10, "the store has it") {
                try mount.sync()
                return try mount.difference() == nil
            }
        }
    }

    @Test(
        "O_DIRECT reads and writes, of placeholders and downloaded documents", arguments: modes,
        ["placeholder", "here"])
    func direct(_ options: MountOptions, _ name: String) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                read("here")
                want = bytearray(read(STORE + "/\(name)"))
                file = os.open("\(name)", os.O_RDWR | os.O_DIRECT)
                block = mmap.mmap(-1, 1 << 20)
                print(os.preadv(file, [block], 1 << 20), block[:] == want[1 << 20:2 << 20])
                block[:] = b"D" * (1 << 20)
                print(os.pwritev(file, [block], 2 << 20)); want[2 << 20:3 << 20] = block[:]
                print(os.preadv(file, [block], \(Self.size) - 4096), block[:4096] == want[-4096:])
                block[:] = b"E" * (1 << 20)
                print(os.pwritev(file, [block], \(Self.size))); want += block[:]
                os.close(file)
                print(read("\(name)") == want)
                """)
            #expect(shown == "1048576 True\n1048576\n4096 True\n1048576\nTrue\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a document renamed and unlinked while it is read and written, and its folder removed", arguments: modes)
    func names(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                want = read(STORE + "/placeholder"); inside = os.open("folder", os.O_RDONLY)
                file = os.open("placeholder", os.O_RDWR)
                print(os.pread(file, 100, 0) == want[:100])
                os.rename("placeholder", "folder/renamed"); os.pwrite(file, b"one", 0)
                print(os.pread(file, 100, 6 << 20) == want[6 << 20:(6 << 20) + 100], read("folder/renamed")[:3])
                os.unlink("folder/renamed"); os.pwrite(file, b"two", 0); os.ftruncate(file, 5 << 20)
                print(os.pread(file, 3, 0), os.pread(file, 100, 4 << 20) == want[4 << 20:(4 << 20) + 100])
                print(os.fstat(file).st_nlink, os.fstat(file).st_size)
                os.unlink("folder/inner.txt"); os.rmdir("folder")
                print(os.listdir(inside), fails(os.open, "x", os.O_CREAT | os.O_WRONLY, dir_fd=inside), os.fstat(inside).st_nlink)
                os.close(file); os.close(inside); print(os.listdir("."))
                """)
            #expect(
                shown == "True\nTrue b'one'\nb'two' True\n0 5242880\n[] ENOENT 0\n['here']\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }
}
