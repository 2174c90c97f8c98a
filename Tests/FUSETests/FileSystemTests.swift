import FUSE
import Glibc
import Synchronization
import Testing

/// Everyday use through /bin/sh.
@Suite("A mounted file system", .serialized)
struct FileSystemTests {
    @Test func filesAreListedReadAndWritten() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("hello.txt", "Hello, world\n")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                set -e; cd "$M"
                cat hello.txt
                stat -c '%s %A %i %Y' hello.txt
                echo one > new; echo two >> new; cat new
                mkdir folder; mv new folder/moved; ls folder
                ln -s folder/moved link; readlink link; cat link
                chmod 600 folder/moved; stat -c %a folder/moved
                touch -d @1234567890 folder/moved; stat -c %Y folder/moved
                truncate -s 2 folder/moved; cat folder/moved; echo
                dd if=/dev/zero of=big bs=1M count=3 conv=fsync 2>/dev/null; stat -c %s big
                rm big folder/moved link; rmdir folder; ls -a
                stat -f -c '%b %l' .
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    Hello, world
                    13 -rw-r--r-- 2 1000000000
                    one
                    two
                    moved
                    folder/moved
                    one
                    two
                    600
                    1234567890
                    on
                    3145728
                    .
                    ..
                    hello.txt
                    12345 255

                    """)
            #expect(result.status == 0)
            #expect(fileSystem.calls("fsync") == 1)
            #expect(fileSystem.calls("create") == 2)
        }
    }

    @Test func namesAreBytes() async throws {
        let fileSystem = MemoryFileSystem()
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                #"cd "$M"; f=$(printf '\377\376 x'); echo a > "$f"; ls | od -An -tx1; cat "$f""#, ["M": mounted.path])
            #expect(result.output == " ff fe 20 78 0a\na\n")
        }
    }

    @Test func errorsReachTheProcess() async throws {
        let fileSystem = MemoryFileSystem()
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                cat missing; mkdir d; touch d/x; rmdir d; mkdir d; setfattr -x user.none d/x
                """, ["M": mounted.path])
            for text in [
                "cat: missing: No such file or directory", "rmdir: failed to remove 'd': Directory not empty",
                "'d': File exists", "setfattr: d/x: No such attribute",
            ] {
                #expect(result.output.contains(text), "\(result.output)")
            }
        }
    }

    @Test func aLargeFolderIsListedWithAttributes() async throws {
        let fileSystem = MemoryFileSystem(timeout: 60)
        for number in 0..<10_000 { fileSystem.add("file-\(number)", String(repeating: "x", count: number % 7)) }
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                "ls -lU \"$M\" | awk 'NR > 1 {n++; s += $5; names[$9] = 1} END {print n, s, length(names)}'",
                ["M": mounted.path])
            #expect(result.output == "10000 \((0..<10_000).map { $0 % 7 }.reduce(0, +)) 10000\n")
            #expect(fileSystem.calls("readdirplus") > 0)
            #expect(fileSystem.calls("lookup") + fileSystem.calls("getattr") < 100)
        }
    }

    /// Bytes of a large file arrive whole however the kernel cuts its requests.
    @Test func aLargeFileIsReadAndWrittenWhole() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("big")
        fileSystem.state.withLock {
            $0.nodes[node]!.bytes = (0..<5_000_001).map { UInt8(truncatingIfNeeded: $0 / 3 ^ $0) }
        }
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run("cd \"$M\"; cp big copy && cmp big copy && echo same", ["M": mounted.path])
            #expect(result.output == "same\n")
            // Many pages at a time, not page by page.
            #expect(fileSystem.calls("write") < 100)
            if geteuid() == 0 { #expect(fileSystem.calls("read") <= 40, "\(fileSystem.calls("read"))") }
        }
    }

    @Test func writersFlushAndReadersNeedNot() async throws {
        final class Quiet: MemoryFileSystem, @unchecked Sendable {
            override func openReply(node: UInt64, flags: Int32) -> FUSEOpenReply {
                FUSEOpenReply(handle: node + 1000, noFlush: flags & O_ACCMODE == O_RDONLY)
            }
        }
        let fileSystem = Quiet()
        fileSystem.add("file", "text")
        try await Mounted.with(fileSystem) { mounted in
            _ = await Child.run("cat $M/file; cat $M/file", ["M": mounted.path])
            #expect(fileSystem.calls("flush") == 0)
            _ = await Child.run("echo x > $M/file", ["M": mounted.path])
            #expect(fileSystem.calls("flush") > 0)
            #expect(await eventually(within: 2) { fileSystem.calls("release") == 3 })
        }
    }

    /// What the kernel gave up it gives back: no lookup stays counted after the unmount's
    /// forgets (readdirplus entries and a link's among them).
    @Test(.enabled(if: geteuid() == 0, "drop_caches is root's"))
    func forgetsBalanceLookups() async throws {
        let fileSystem = MemoryFileSystem(timeout: 60)
        for number in 0..<500 { fileSystem.add("f\(number)") }
        try await Mounted.with(fileSystem) { mounted in
            _ = await Child.run("ls -l $M > /dev/null; cat $M/f7; rm $M/f8; ln $M/f9 $M/link", ["M": mounted.path])
            func isBalanced() -> Bool {
                fileSystem.state.withLock { state in state.lookups.values.allSatisfy { $0 == 0 } }
            }
            // (What was used a moment ago may survive the first time.)
            for _ in 0..<600 where !isBalanced() {
                _ = await Child.run("echo 2 > /proc/sys/vm/drop_caches; sleep 0.1")
            }
            #expect(isBalanced())
            #expect(fileSystem.state.withLock { $0.lookups.count } == 500)
        }
    }
}
