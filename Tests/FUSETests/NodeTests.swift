import FUSE
import Glibc
import Synchronization
import Testing

/// Names for what is no plain file, and more names for what is.
@Suite("Nodes and links", .serialized)
struct NodeTests {
    @Test func fifosAndSockets() async throws {
        let fileSystem = MemoryFileSystem()
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"; umask 022
                mkfifo -m 640 p && stat -c '%F %a %t:%T' p
                (echo through > p &) ; cat p
                python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")' && stat -c '%F %a' s
                """, ["M": mounted.path])
            #expect(result.output == "fifo 640 0:0\nthrough\nsocket 755\n", "\(result.output)")
            #expect(fileSystem.calls("mknod") == 2)
            #expect(fileSystem.calls("read") == 0, "a fifo's bytes are the kernel's")
        }
    }

    /// As mknod answers, as a lookup does and as a listing does; one with a minor of more than 8 bits.
    @Test(.enabled(if: geteuid() == 0, "devices are root's"))
    func devices() async throws {
        let fileSystem = MemoryFileSystem(timeout: 60)
        fileSystem.state.withLock { state in
            for name in ["found", "listed"] {
                let node = MemoryFileSystem.Node(mode: S_IFBLK | 0o600, rdev: 0xaa1_03bb)
                _ = state.add(Array(name.utf8), node, to: 1)
            }
        }
        let options = FUSESession.Options(mountOptions: ["subtype=hydrant-test", "dev"])
        try await Mounted.with(fileSystem, options: options) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                mknod null c 1 3 && stat -c '%F %t:%T' null && echo gone > null && wc -c < null
                mknod zero c 1 5 && head -c 3 zero | od -An -tx1
                mknod big b 259 43707 && stat -c '%F %t:%T' big
                stat -c '%F %t:%T' found
                ls -l | awk 'NR > 1 {print $5, $6, $NF}'
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    character special file 1:3
                    0
                     00 00 00
                    block special file 103:aabb
                    block special file 103:aabb
                    259, 43707 big
                    259, 43707 found
                    259, 43707 listed
                    1, 3 null
                    1, 5 zero

                    """, "\(result.output)")
            let null = fileSystem.state.withLock { state in state.nodes.values.first { $0.rdev == 0x103 } }
            #expect(null?.mode == S_IFCHR | 0o644)
            #expect(fileSystem.calls("readdirplus") > 0)
            #expect(fileSystem.calls("read") + fileSystem.calls("write") == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "devices are root's"))
    func withoutTheOptionDevicesAreDead() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            let result = await Child.run(
                "mknod $M/null c 1 3; cat $M/null; grep \" $M \" /proc/mounts", ["M": mounted.path])
            #expect(result.output.contains("null: Permission denied"))
            #expect(result.output.contains("nosuid,nodev"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root may mount so"), arguments: [true, false])
    func setuidProgramsRunAsTheirOwner(withOption: Bool) async throws {
        let fileSystem = MemoryFileSystem()
        let options = ["subtype=hydrant-test", "allow_other"] + (withOption ? ["suid"] : [])
        try await Mounted.with(fileSystem, options: .init(mountOptions: options)) { mounted in
            let result = await Child.run(
                """
                cp /usr/bin/id $M/id && chmod 4755 $M/id
                setpriv --reuid=65534 --regid=65534 --clear-groups $M/id -u
                grep -c " $M .*nosuid" /proc/mounts
                """, ["M": mounted.path])
            #expect(result.output == (withOption ? "0\n0\n" : "65534\n1\n"), "\(result.output)")
        }
    }

    @Test func links() async throws {
        let fileSystem = MemoryFileSystem()
        let node = fileSystem.add("file", "text")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                mkdir d; ln file d/other; stat -c '%h %i' file d/other
                echo more >> d/other; cat file; rm file; cat d/other
                ln d/other d/other; ln d nowhere
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    2 2
                    2 2
                    textmore
                    textmore
                    ln: failed to create hard link 'd/other': File exists
                    ln: d: hard link not allowed for directory

                    """, "\(result.output)")
            #expect(fileSystem.contents(of: node) == "textmore\n")
            #expect(fileSystem.calls("link") == 1)
        }
    }

    /// Each is refused as its man page says, and what the kernel remembers is not asked twice.
    @Test func whatIsLeftOutIsRefused() async throws {
        let fileSystem = Bare()
        fileSystem.memory.add("file", "text")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run(
                """
                cd "$M"
                mkfifo p; ln file hard
                setfattr -n user.a -v b file; getfattr -n user.a file; setfattr -x user.a file; getfattr file
                fallocate -l 100 file; cp file copy; cat copy; echo
                python3 -c '
                import os
                file = os.open("file", os.O_RDONLY)
                print(os.lseek(file, 1, os.SEEK_DATA), os.lseek(file, 1, os.SEEK_HOLE))
                copy = os.open("copy", os.O_RDWR)
                print(os.copy_file_range(file, copy, 2, 2, 4))
                '; cat copy
                """, ["M": mounted.path])
            #expect(
                result.output == """
                    mkfifo: cannot create fifo 'p': Function not implemented
                    ln: failed to create hard link 'hard' => 'file': Operation not permitted
                    setfattr: file: Operation not supported
                    file: user.a: Operation not supported
                    setfattr: file: Operation not supported
                    getfattr: file: Operation not supported
                    fallocate: fallocate failed: Operation not supported
                    text
                    1 4
                    2
                    textxt
                    """, "\(result.output)")
        }
    }
}
