import FUSE
import Glibc
import Synchronization
import Testing

@Suite("Ranges of files", .serialized)
struct RangeTests {
    @Test func dataAndHoles() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("file")
        fileSystem.state.withLock { $0.nodes[node]!.bytes = Array("ab\0\0\0cd\0".utf8) }
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                python3 -c '
                import os
                file = os.open(os.environ["M"] + "/file", os.O_RDONLY)
                def seek(offset, whence):
                    try: print(os.lseek(file, offset, whence), end=" ")
                    except OSError as error: print(error.strerror)
                for offset in [0, 2, 6]: seek(offset, os.SEEK_DATA); seek(offset, os.SEEK_HOLE)
                print(os.lseek(file, 0, os.SEEK_END))
                seek(7, os.SEEK_DATA); seek(8, os.SEEK_HOLE)
                '
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    0 2 5 2 6 7 8
                    No such device or address
                    No such device or address

                    """, "\(result.output)")
            #expect(fileSystem.calls("seek data") == 4)
            #expect(fileSystem.calls("seek hole") >= 3)
        }
    }

    @Test func allocation() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("file", "text")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                fallocate -o 3 -l 7 file; stat -c %s file
                fallocate -n -l 100 file; stat -c %s file
                fallocate -p -o 0 -l 2 file; fallocate -l 0 file
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    10
                    10
                    fallocate: fallocate failed: keep size mode is unsupported
                    fallocate: invalid length value specified

                    """, "\(result.output)")
            #expect(fileSystem.contents(of: node) == "text\0\0\0\0\0\0")
            #expect(fileSystem.calls("fallocate") == 3)
        }
    }

    @Test func copies() async throws {
        let fileSystem = MemoryFileSystem()
        let from = fileSystem.add("from", "0123456789")
        let to = fileSystem.add("to", "abcdefghij")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                python3 -c '
                import os
                os.chdir(os.environ["M"])
                source, target = os.open("from", os.O_RDONLY), os.open("to", os.O_RDWR)
                print(os.copy_file_range(source, target, 3, 2, 5))
                print(os.copy_file_range(source, target, 100, 8, 9))
                print(os.copy_file_range(source, target, 5, 10, 0))
                os.lseek(source, 9, 0)
                print(os.copy_file_range(source, target, 1), os.lseek(source, 0, 1), os.lseek(target, 0, 1))
                '
                cat "$M/to"
                """, ["M": mounted.path])
            #expect(result.output == "3\n2\n0\n1 10 1\n9bcde234i89", "\(result.output)")
            #expect(fileSystem.contents(of: to) == "9bcde234i89")
            #expect(fileSystem.contents(of: from) == "0123456789")
            #expect(fileSystem.calls("copy") >= 3)
            #expect(fileSystem.calls("write") == 0)
        }
    }

    /// As cp finds out by itself what to copy.
    @Test func cpCopiesOnlyData() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("sparse")
        let bytes = [UInt8](repeating: 7, count: 5000) + [UInt8](repeating: 0, count: 200_000) + [9, 9, 9]
        fileSystem.state.withLock { $0.nodes[node]!.bytes = bytes }
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                "cd $M; cp --sparse=always sparse copy && cmp sparse copy && echo same", ["M": mounted.path])
            #expect(result.output == "same\n")
            #expect(fileSystem.calls("copy") + fileSystem.calls("write") > 0)
        }
    }
}
