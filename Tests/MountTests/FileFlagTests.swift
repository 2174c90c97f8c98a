import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// Flags of an open file that change what reading and writing does: O_APPEND and O_DIRECT, which fcntl(2) may set and
/// take away.
@Suite("Flags of open files at a real mount")
struct FileFlagTests {
    static let modes = [MountOptions(), .cached]

    /// `IO(file, write, data, offset)`: io_submit(2) and its end, without a library.
    private static let prelude = """
        import platform, random, struct
        SETUP, DESTROY, GETEVENTS, SUBMIT = (206, 207, 208, 209) if platform.machine() == "x86_64" else (0, 1, 4, 2)
        libc.syscall.restype = ctypes.c_long
        def syscall(*arguments):
            result = libc.syscall(*[ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments])
            if result < 0: raise OSError(ctypes.get_errno(), "system call")
            return result
        class Writer:
            def __init__(self, depth):
                self.context = ctypes.c_ulong(0)
                syscall(SETUP, depth, ctypes.byref(self.context))
                self.depth, self.flying, self.memory = depth, 0, mmap.mmap(-1, depth * 4096)
                self.blocks = [ctypes.create_string_buffer(64) for _ in range(depth)]
                self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
                self.free = list(range(depth)); self.events = ctypes.create_string_buffer(32 * depth)
            def write(self, file, page, data):
                while not self.free: self.wait()
                slot = self.free.pop(); self.memory[slot * 4096:(slot + 1) * 4096] = data
                self.blocks[slot].raw = struct.pack("<QIIHhIQQqQII", slot, 0, 0, 1, 0, file, self.address + slot * 4096, 4096, page * 4096, 0, 0, 0)
                syscall(SUBMIT, self.context.value, 1, ctypes.byref(ctypes.c_void_p(ctypes.addressof(self.blocks[slot]))))
            def wait(self):
                for index in range(syscall(GETEVENTS, self.context.value, 1, self.depth, self.events, None)):
                    slot, _, result, _ = struct.unpack_from("<QQqq", self.events.raw, 32 * index)
                    if result != 4096: raise OSError(-result, "write")
                    self.free.append(slot)
            def end(self):
                while len(self.free) < self.depth: self.wait()

        """

    @Test("fcntl(2) can set and clear O_APPEND on files opened with and without it", arguments: modes)
    func append(_ options: MountOptions) async throws {
        try await withMount(options, seed: { try Seeding($0).file("there", "0123456789") }) { mount in
            let shown = try mount.python(
                """
                def flags(file, mask): fcntl.fcntl(file, fcntl.F_SETFL, mask)
                read("there") # (To be here.)
                for name in ["there", "new"]:
                    for other in [False, True]:
                        write("doc", b"0123456789"); name = "doc" if name == "new" else name
                        held = os.open(name, os.O_RDWR) if other else None
                        file = os.open(name, os.O_RDWR | os.O_APPEND)
                        os.pwrite(file, b"A", 0); os.write(file, b"B")
                        flags(file, 0); os.pwrite(file, b"C", 0); os.lseek(file, 1, 0); os.write(file, b"D")
                        flags(file, os.O_APPEND); os.write(file, b"E")
                        plain = os.open(name, os.O_RDWR); flags(plain, os.O_APPEND); os.write(plain, b"F"); flags(plain, 0)
                        os.pwrite(plain, b"G", 2)
                        print(os.pread(file, 100, 0), os.pread(plain, 100, 0) == read(name), os.fstat(file).st_size)
                        if held: print(os.pread(held, 100, 0) == read(name)); os.close(held)
                        mapping = mmap.mmap(file, 0); mapping[3:4] = b"M"; print(read(name)[:5]); mapping.close()
                        os.close(file); os.close(plain)
                        if name == "there": write("there", b"0123456789")
                """)
            let each = "b'CDG3456789ABEF' True 14\n"
            #expect(shown == String(repeating: each + "b'CDGM4'\n" + each + "True\nb'CDGM4'\n", count: 2))
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("fcntl(2) works too on a file opened with O_CREAT and O_APPEND", arguments: modes)
    func created(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try mount.python(
                """
                file = os.open("new", os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
                os.write(file, b"01234"); os.pwrite(file, b"5", 0)
                fcntl.fcntl(file, fcntl.F_SETFL, 0); os.pwrite(file, b"X", 0)
                print(read("new")); os.close(file); print(read("new"))
                """)
            #expect(shown == "b'X12345'\nb'X12345'\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    /// dd(1) takes O_DIRECT away before the last, shorter block.
    @Test(
        "dd with oflag=direct and iflag=direct copies a file whose size is not a multiple of the block size",
        arguments: modes)
    func direct(_ options: MountOptions) async throws {
        try await withMount(options, seed: { try Seeding($0).file("there", noise(10_000)) }) { mount in
            try mount.run(
                """
                cat there >/dev/null
                dd if="$STORE/there" of=new bs=4096 oflag=direct status=none; cmp new "$STORE/there"
                dd if=there of="$SCRATCH/copy" bs=4096 iflag=direct status=none; cmp "$SCRATCH/copy" "$STORE/there"
                exec 9<>there
                dd if="$STORE/there" of=there bs=4096 oflag=direct status=none; cmp there "$STORE/there"
                exec 9>&-
                dd if="$STORE/there" of=new bs=4096 oflag=direct,append conv=notrunc status=none
                cat "$STORE/there" "$STORE/there" | cmp - new
                """)
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("splicing from a file open for appending gives the bytes that others have written", arguments: modes)
    func spliced(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try mount.python(
                """
                def sent(file):
                    inner, outer = os.pipe(); os.sendfile(outer, file, 0, 4); os.close(outer)
                    try: return os.read(inner, 10)
                    finally: os.close(inner)
                write("doc", b"old!")
                file = os.open("doc", os.O_RDWR | os.O_APPEND); print(sent(file))
                write("doc", b"new!", 0); os.close(file)
                file = os.open("doc", os.O_RDWR | os.O_APPEND); print(sent(file), read("doc")); os.close(file)
                """)
            #expect(shown == "b'old!'\nb'new!' b'new!'\n")
        }
    }

    /// The kernel keeps pages from one open to the next, and drops those of a write past them before it only.
    @Test("after asynchronous writes with O_DIRECT nobody reads the earlier bytes", arguments: modes)
    func asynchronous(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file("there", noise(64 * 4096))
        } _: { mount in
            let shown = try mount.python(
                Self.prelude + """
                    pages = 64; read("there"); write("new", os.urandom(pages * 4096))
                    for name in ["there", "new"]:
                        children = []
                        for _ in range(2):
                            children.append(os.fork())
                            if children[-1] == 0:
                                file = os.open(name, os.O_RDONLY)
                                while True: os.pread(file, 4096, random.randrange(pages) * 4096)
                        file, reader = os.open(name, os.O_RDWR | os.O_DIRECT), os.open(name, os.O_RDONLY)
                        writer, want, stale, end = Writer(16), bytearray(read(name)), 0, time.time() + 2
                        while time.time() < end:
                            for page in random.sample(range(pages), 16):
                                data = os.urandom(4096); want[page * 4096:(page + 1) * 4096] = data
                                writer.write(file, page, data)
                            writer.end() # What has ended can be read.
                            stale += os.pread(reader, len(want), 0) != want
                        for child in children: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
                        print(stale, read(name) == want); os.close(file)
                        direct = subprocess.run(["dd", "if=" + name, "iflag=direct", "bs=64k", "status=none"], capture_output=True).stdout
                        print(direct == want, read(name) == want)
                    """, limit: 40)
            #expect(shown == "0 True\nTrue True\n0 True\nTrue True\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }
}
