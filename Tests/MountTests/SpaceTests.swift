import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// fallocate, lseek, copy_file_range, and sizes that 32 bits do not hold.
@Suite("Space at a real mount")
struct SpaceTests {
    static let modes = [MountOptions(), .cached]
    static let size = 8 << 20
    static func seed(_ store: String) throws {
        try Seeding(store).file("large", noise(size))
        try Seeding(store).file("small", "hello\n")
    }

    private static func downloads(_ mount: MountedStore) -> [Range<Int64>] {
        mount.hookCalls().filter { $0.hook == .startProvidingItem }.compactMap(\.range)
    }

    @Test("fallocate: grow, keep the size, zero, punch; its refusals", arguments: modes)
    func allocate(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.run(
                """
                echo hi > n
                fallocate -l 1M n; stat -c %s n
                fallocate -n -l 2M n; stat -c %s n
                fallocate -z -l 2 n; head -c 4 n | od -An -c
                fallocate -z -n -o 4M -l 4096 n; stat -c %s n
                fallocate -z -o 4M -l 4096 n; stat -c %s n
                fallocate -p -o 4M -l 1G n; stat -c %s n
                fallocate -c -l 4096 n 2>/dev/null || echo 'no collapse'
                fallocate -i -l 4096 n 2>/dev/null || echo 'no insert'
                """)
            #expect(
                shown
                    == "1048576\n1048576\n  \\0  \\0  \\n  \\0\n1048576\n4198400\n4198400\nno collapse\nno insert\n")
            let errors = try mount.python(
                """
                file = os.open("n", os.O_RDWR); os.posix_fallocate(file, 0, 5 << 20); print(os.fstat(file).st_size)
                print(fails(os.posix_fallocate, file, 0, 0), fails(os.posix_fallocate, file, -1, 3))
                print(fails(fallocate, file, 2, 0, 4096), fails(fallocate, file, 0, 0, 1 << 62))
                print(fails(fallocate, os.open("n", os.O_RDONLY), 0, 0, 10))
                """)
            #expect(errors == "5242880\nEINVAL EINVAL\nENOTSUP EFBIG\nEBADF\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a hole punched into a placeholder: no byte of the hole is downloaded, the rest is kept", arguments: modes)
    func punch(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                file = os.open("large", os.O_RDWR)
                print(os.lseek(file, 0, os.SEEK_DATA), os.lseek(file, 100, os.SEEK_DATA), os.lseek(file, 0, os.SEEK_HOLE) >> 20)
                print(fails(os.lseek, file, 8 << 20, os.SEEK_DATA), fails(os.lseek, file, 9 << 20, os.SEEK_HOLE))
                fallocate(file, 3, 1 << 20, 6 << 20)
                print(os.lseek(file, 0, os.SEEK_HOLE) >> 20, os.lseek(file, 1 << 20, os.SEEK_DATA) >> 20, os.fstat(file).st_size >> 20)
                print(os.pread(file, 6 << 20, 1 << 20) == bytes(6 << 20))
                """)
            #expect(shown == "0 100 8\nENXIO ENXIO\n1 7 8\nTrue\n")
            try mount.sync()
            let hole: Range<Int64> = (1 << 20)..<(7 << 20)
            #expect(Self.downloads(mount).allSatisfy { !$0.overlaps(hole) })
            var bytes = noise(Self.size)
            bytes.replaceSubrange((1 << 20)..<(7 << 20), with: repeatElement(0, count: 6 << 20))
            #expect(try Seeding(mount.store).read("large") == bytes)
            try mount.requireSameAsStore()
        }
    }

    @Test("zeroing all but the ends of a placeholder", arguments: modes)
    func zero(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("fallocate -z -o 3 -l \(Self.size - 6) large")
            try mount.sync()
            let bytes = noise(Self.size)
            #expect(
                try Seeding(mount.store).read("large")
                    == Array(bytes.prefix(3)) + [UInt8](repeating: 0, count: Self.size - 6) + bytes.suffix(3))
            try mount.requireSameAsStore()
        }
    }

    @Test("copy_file_range: from a placeholder, into one, within one", arguments: modes)
    func copyRange(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let shown = try mount.python(
                """
                large = read(STORE + "/large")
                source, new = os.open("large", os.O_RDWR), os.open("new", os.O_RDWR | os.O_CREAT)
                print(os.copy_file_range(source, new, 1 << 20, 5, 7), read("new") == bytes(7) + large[5:5 + (1 << 20)])
                print(os.copy_file_range(source, new, 100, (8 << 20) - 3, 0), os.copy_file_range(source, new, 100, 9 << 20, 0))
                print(fails(os.copy_file_range, source, source, 1000, 0, 10), fails(os.copy_file_range, source, os.open("small", os.O_RDONLY), 3))
                print(os.copy_file_range(source, source, 1000, 0, 4 << 20))
                small = os.open("small", os.O_RDWR)
                print(os.copy_file_range(source, small, 3, 1, 6))
                print(read("large") == large[:4 << 20] + large[:1000] + large[(4 << 20) + 1000:], read("small") == b"hello\\n" + large[1:4])
                """)
            #expect(shown == "1048576 True\n3 0\nEINVAL EBADF\n1000\n3\nTrue True\n")
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.run("cmp -n 4000000 large \"$STORE/large\"; stat -c %s \"$STORE/new\"") == "1048583\n")
        }
    }

    @Test("cp --reflink, cp --sparse and tar -S take a placeholder for data", arguments: modes)
    func programs(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            for name in ["one", "two", "three"] { try Seeding(store).file(name, noise(Self.size)) }
        } _: { mount in
            try mount.run(
                """
                cp --reflink=auto one copied; cmp copied "$STORE/one"
                cp --sparse=always two sparse; cmp sparse "$STORE/two"
                tar -cSf "$SCRATCH/t.tar" three; tar -C "$SCRATCH" -xf "$SCRATCH/t.tar"; cmp "$SCRATCH/three" "$STORE/three"
                truncate -s 4M holes; printf end >> holes
                tar -cSf "$SCRATCH/h.tar" holes; mkdir out; tar -C out -xSf "$SCRATCH/h.tar"; cmp holes out/holes
                """)
            let size = try RealFileSystem(root: mount.scratch).stat("h.tar").size
            #expect(size < 100_000)
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("to 1 TiB and back", arguments: modes)
    func huge(_ options: MountOptions) async throws {
        try await withMount(
            .with {
                $0 = .lateUploads
                $0.passthrough = options.passthrough
            }, seed: Self.seed
        ) { mount in
            let shown = try mount.run(
                "truncate -s 1T small; stat -c %s small; tail -c 2 small | od -An -c; truncate -s 5 small; cat small")
            #expect(shown == "1099511627776\n  \\0  \\0\nhello")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    /// On a disk whose files may be as large as any.
    @Test(
        "more than 8 PiB is refused as by a disk; larger files written by passthrough break nothing", arguments: modes)
    func tooLarge(_ options: MountOptions) async throws {
        try await withSandbox(
            .with {
                $0 = .lateUploads
                $0.passthrough = options.passthrough
            }
        ) { mount in
            let made = try mount.sandbox.run(
                ["sh", "-c", "mkdir -p '\(mount.sandbox.state)' && mount -t tmpfs tmpfs '\(mount.sandbox.state)'"],
                limit: 20)
            try #require(made.succeeded, "\(made)")
            try mount.mount()
            let shown = try mount.python(
                """
                most = 1 << 53
                write("a", b""); write("b", b"0123456789")
                file = os.open("a", os.O_RDWR)
                print(fails(os.truncate, "a", (1 << 63) - 1), fails(os.ftruncate, file, most + 1), fails(os.ftruncate, file, most))
                print(fails(fallocate, file, 1, most, 1), fails(os.copy_file_range, os.open("b", os.O_RDONLY), file, 4, 0, most))
                print(os.pread(file, 10, most), os.pread(file, 10, 1 << 62), fails(os.lseek, file, most, os.SEEK_DATA))
                print(fails(os.lseek, file, most - 1, os.SEEK_HOLE), os.fstat(file).st_size == most)
                appending = os.open("a", os.O_WRONLY | os.O_APPEND)
                print(fails(os.write, appending, b"x"))
                os.close(appending)
                # (Where the kernel writes by itself, the disk below says how far.)
                for name in ["c", "d"]:
                    far = os.open(name, os.O_RDWR | os.O_CREAT)
                    print(fails(os.pwrite, far, b"x", (1 << 62)) in ("EFBIG", "ok"))
                    os.close(far)
                """)
            #expect(shown == "EFBIG EFBIG ok\nEFBIG EFBIG\nb'' b'' ENXIO\nok True\nEFBIG\nTrue\nTrue\n")
            try mount.run("df . > /dev/null; stat a b c d > /dev/null; rm a")
            let status = try mount.hydrant(["status", mount.mountPoint])
            #expect(status.succeeded && !status.stdout.contains("PiB") && !status.stdout.contains("EiB"), "\(status)")
            try mount.unmount()
        }
    }

    @Test("at 5 GiB of a placeholder: only the bytes read are downloaded", arguments: modes)
    func farOffset(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file("huge", "begin")
            let handle = try FileHandle(forUpdating: URL(filePath: store + "/huge", directoryHint: .notDirectory))
            try handle.seek(toOffset: 5 << 30)
            try handle.write(contentsOf: noise(1 << 20))
            try handle.truncate(atOffset: 6 << 30)
            try handle.close()
        } _: { mount in
            let files = RealFileSystem(root: mount.mountPoint)
            let gigabyte: Int64 = 1 << 30
            #expect(try files.stat("huge").size == 6 * gigabyte)
            let shown = try files.read("huge", at: 5 * gigabyte + 1_000, 5_000)
            #expect(shown == Array(noise(1 << 20)[1_000..<6_000]))
            #expect(try #require(Self.downloads(mount).first).lowerBound >= 5 * gigabyte)
            #expect(try mount.status("huge").bytesDownloaded < gigabyte / 2)
            #expect(try files.read("huge", at: 6 * gigabyte - 3, 10) == [0, 0, 0])
        }
    }

    @Test("written at 5 GiB and read back; the bytes before are zeros", arguments: modes)
    func farWrite(_ options: MountOptions) async throws {
        try await withMount(
            .with {
                $0 = .lateUploads
                $0.passthrough = options.passthrough
            }
        ) { mount in
            let shown = try mount.python(
                """
                write("new", b"far away", os.O_CREAT, 5 << 30)
                file = os.open("new", os.O_RDONLY)
                print(os.stat("new").st_size - (5 << 30), os.pread(file, 20, 5 << 30), os.pread(file, 2, 4 << 30))
                print(os.lseek(file, 0, os.SEEK_DATA) == 5 << 30)
                """)
            #expect(shown == "8 b'far away' b'\\x00\\x00'\nTrue\n")
            try mount.remount()
            #expect(try mount.run("tail -c 8 new") == "far away")
            let blocks = try RealFileSystem(root: mount.mountPoint).stat("new").blocks
            #expect(blocks < 1_000)
        }
    }
}
