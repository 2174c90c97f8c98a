import Foundation
import MountHarness
import Testing

/// Pipes, sockets and devices, which no store has, and owners, which no store is told.
@Suite("Special files and owners at a real mount")
struct SpecialFileTests {
    static let modes: [MountOptions] = [true, false].map { passthrough in
        .with {
            $0.passthrough = passthrough
            $0.arguments = ["-o", "dev"]
        }
    }

    private static func documents(_ mount: MountedStore) throws -> String {
        try mount.run("cd \"$STORE\"; find . -mindepth 1 -not -name '.hydrant-*' -printf '%y %P\\n' | sort")
    }

    @Test("a pipe between two processes, a socket between two, devices as root", arguments: modes)
    func use(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try mount.python(
                """
                os.mkfifo("pipe", 0o640)
                reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
                with open("pipe", "w") as pipe: pipe.write("through the pipe")
                print(reader.communicate()[0])
                server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
                server.bind("socket"); server.listen(1); client.connect("socket")
                client.send(b"hello"); print(server.accept()[0].recv(10))
                print(fails(socket.socket(socket.AF_UNIX).bind, "socket"))
                os.mknod("null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
                os.mknod("zero", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
                os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(7, 99))
                os.mknod("plain", 0o600 | stat.S_IFREG)
                print(os.write(os.open("null", os.O_WRONLY), b"gone"), os.read(os.open("zero", os.O_RDONLY), 3))
                print([oct(os.stat(name).st_mode) for name in ["pipe", "socket", "null", "disk", "plain"]])
                print(os.stat("disk").st_rdev == os.makedev(7, 99))
                print(fails(os.open, "socket", os.O_RDONLY), fails(os.mkfifo, "pipe"), fails(os.truncate, "pipe", 3))
                """)
            #expect(
                shown == """
                    b'through the pipe'
                    b'hello'
                    EADDRINUSE
                    4 b'\\x00\\x00\\x00'
                    ['0o10640', '0o140755', '0o20600', '0o60600', '0o100600']
                    True
                    ENXIO EEXIST EINVAL

                    """)
            try mount.sync()
            #expect(try Self.documents(mount) == "f plain\n")
        }
    }

    @Test(
        "special files survive a remount, can be renamed and linked, and are removed with their folder",
        arguments: modes)
    func remount(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            try mount.python(
                """
                os.mkdir("holder")
                os.mkfifo("pipe", 0o640)
                os.rename("pipe", "holder/renamed"); os.link("holder/renamed", "holder/linked")
                socket.socket(socket.AF_UNIX).bind("holder/socket")
                os.mknod("holder/null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
                write("holder/document", b"text")
                """)
            try mount.sync()
            #expect(try Self.documents(mount) == "d holder\nf holder/document\n")
            let list = "find . -mindepth 1 -printf '%y %P %i %n %m\\n' | sort; stat -c '%t %T' holder/null"
            let before = try mount.run(list)
            try mount.unmount()
            try mount.mount()
            #expect(try mount.run(list) == before)
            #expect(before.contains("p holder/linked") && before.hasSuffix("1 3\n"))
            let through = try mount.run("cat holder/linked & echo works > holder/renamed; wait")
            #expect(through == "works\n")
            try mount.run("rm -r holder")
            try mount.sync()
            #expect(try Self.documents(mount) == "")
            #expect(try mount.run("ls -A") == "")
        }
    }

    @Test("without -o dev a device cannot be opened")
    func noDevices() async throws {
        try await withMount { mount in
            let shown = try mount.python(
                """
                os.mknod("null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
                print(fails(os.open, "null", os.O_RDONLY))
                """)
            #expect(shown == "EACCES\n")
        }
    }

    @Test("owners stay here, over a remount too; the store keeps its own", arguments: [MountOptions(), .cached])
    func owners(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file("letter.txt", "Dear reader,\n")
            try Seeding(store).file("folder/inner.txt", "inside\n")
        } _: { mount in
            try mount.run(
                """
                cat letter.txt >/dev/null; chown 12:34 letter.txt folder; chmod 604 letter.txt; chmod 750 folder
                ln -s letter.txt link; chown -h 56:78 link; mkfifo pipe; chown 9:9 pipe
                """)
            let list = "stat -c '%n %u %g %a' letter.txt folder folder/inner.txt link pipe"
            let before = try mount.run(list)
            #expect(
                before
                    == "letter.txt 12 34 604\nfolder 12 34 750\nfolder/inner.txt 0 0 \(try mount.run("stat -c %a \"$STORE/folder/inner.txt\""))link 56 78 777\npipe 9 9 644\n"
            )
            try mount.sync()
            try mount.remount()
            #expect(try mount.run(list) == before)
            #expect(try mount.run("cd \"$STORE\"; stat -c '%u %g' letter.txt folder | sort -u") == "0 0\n")
            // A new version of the bytes changes nothing of that.
            try mount.run("echo more >> letter.txt")
            try mount.sync()
            #expect(try mount.run(list) == before)
        }
    }
}
