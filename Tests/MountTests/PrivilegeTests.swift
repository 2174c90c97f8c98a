import Foundation
import MountHarness
import Testing

/// Setuid, setgid and capabilities: who changes the bytes of such a program takes them away. Each answer here is
/// that of ext4.
@Suite("Setuid, setgid, capabilities at a real mount")
struct PrivilegeTests {
    static let modes: [MountOptions] = [true, false].map { passthrough in
        .with {
            $0.passthrough = passthrough
            $0.arguments = ["-o", "allow_other,suid"]
        }
    }

    /// `changed(mode, uid, change)`: what is left of a file's mode bits after a change by a user.
    private static let prelude = #"""
        os.umask(0)
        def mode(path): return oct(os.stat(path).st_mode & 0o7777)
        def make(path, bits, uid=0):
            if os.path.exists(path): os.unlink(path)
            write(path, b"#!/bin/sh\n"); os.chown(path, uid, uid); os.chmod(path, bits)
        def changed(bits, uid, change):
            make("file", bits, uid); as_user(change); return mode("file")
        def changed_by_root(bits, change):
            make("file", bits); change(); return mode("file")

        """#

    private static func python(_ mount: MountedStore, _ program: String) throws -> String {
        chmod(mount.sandbox.path, 0o755)
        chmod(mount.mountPoint, 0o777)
        return try mount.python(prelude + program)
    }

    @Test("a user's write, append, truncate and O_TRUNC clear setuid and an executable's setgid", arguments: modes)
    func byUser(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                changes = [lambda: write("file", b"x", 0), lambda: append("file", b"x"), lambda: os.truncate("file", 3), lambda: write("file", b"x", os.O_TRUNC)]
                for uid in [0, 65534]:
                    for bits in [0o4777, 0o2777, 0o6777, 0o1777]:
                        print({changed(bits, uid, change) for change in changes})
                print({changed(0o2767, 65534, change) for change in changes})
                print(changed(0o4777, 65534, lambda: os.chown("file", -1, 65534)), changed(0o6777, 65534, lambda: os.utime("file")))
                print(read("file"))
                """)
            let each = "{'0o777'}\n{'0o777'}\n{'0o777'}\n{'0o1777'}\n"
            #expect(shown == each + each + "{'0o2767'}\n0o777 0o6777\nb'#!/bin/sh\\n'\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    /// The bytes were written before.
    @Test(
        "cp -p, tar xp and setcap on a copy that is still open: the bits stay until somebody writes",
        arguments: modes)
    func setOnACopy(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                capability = bytes.fromhex("0100000200200000000000000000000000000000")
                def has(path): return "security.capability" in os.listxattr(path)
                outside = SCRATCH + "/program"; make(outside, 0o6755); os.utime(outside, (1000, 1000))
                subprocess.run(["cp", "-p", outside, "copied"], check=True)
                subprocess.run(["tar", "-C", SCRATCH, "-cf", SCRATCH + "/tar", "program"], check=True)
                subprocess.run(["tar", "-xpf", SCRATCH + "/tar"], check=True)
                for name in ["copied", "program"]: print(mode(name), os.stat(name).st_mtime, read(name))
                for later in [False, True]:
                    os.path.exists("file") and os.unlink("file")
                    file = os.open("file", os.O_RDWR | os.O_CREAT, 0o755); os.write(file, b"bytes")
                    os.fchmod(file, 0o4755); os.setxattr("file", "security.capability", capability)
                    if later: as_user(lambda: os.write(file, b"more"))
                    os.close(file); print(mode("file"), has("file"), read("file"))
                """)
            #expect(
                shown == "0o6755 1000.0 b'#!/bin/sh\\n'\n0o6755 1000.0 b'#!/bin/sh\\n'\n"
                    + "0o4755 True b'bytes'\n0o755 False b'bytesmore'\n")
            // (Of what goes to the store this says nothing.)
            try mount.sync()
        }
    }

    @Test("a user's fallocate and copy_file_range clear setuid and setgid as well", arguments: modes)
    func byUserRanges(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                write("source", b"abcdefgh")
                def allocate(): fallocate(os.open("file", os.O_RDWR), 0, 0, 9000)
                def punch(): fallocate(os.open("file", os.O_RDWR), 3, 0, 4)
                def copy(): os.copy_file_range(os.open("source", os.O_RDONLY), os.open("file", os.O_RDWR), 4)
                for uid in [0, 65534]: print([changed(0o6777, uid, change) for change in [allocate, punch, copy]])
                print([changed_by_root(0o6777, change) for change in [allocate, punch, copy]], read("file")[:6])
                """)
            let gone = "['0o777', '0o777', '0o777']\n"
            #expect(shown == gone + gone + "['0o6777', '0o6777', '0o6777'] b'abcdin'\n")
        }
    }

    @Test("root's writes and truncates keep the bits, root's chown clears them", arguments: modes)
    func byRoot(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                for bits in [0o4777, 0o2777, 0o6766]:
                    print([changed_by_root(bits, change) for change in [lambda: write("file", b"x", 0), lambda: os.truncate("file", 3), lambda: os.chown("file", 5, 5)]])
                os.mkdir("folder"); os.chmod("folder", 0o6777); os.chown("folder", 5, 5); print(mode("folder"))
                """)
            #expect(
                shown == """
                    ['0o4777', '0o4777', '0o777']
                    ['0o2777', '0o2777', '0o777']
                    ['0o6766', '0o6766', '0o2766']
                    0o6777

                    """)
        }
    }

    @Test("a file that was open for writing before chmod u+s loses the bit at the next write", arguments: modes)
    func openBefore(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                make("file", 0o777)
                def late():
                    file = os.open("file", os.O_RDWR)
                    open("go", "w").close()
                    while os.path.exists("go"): time.sleep(0.01)
                    os.write(file, b"late"); os.close(file)
                writer = threading.Thread(target=lambda: as_user(late)); writer.start()
                while not os.path.exists("go"): time.sleep(0.01)
                os.chmod("file", 0o4777); os.unlink("go"); writer.join()
                print(mode("file"), read("file"))
                """)
            #expect(shown == "0o777 b'latein/sh\\n'\n")
            try mount.sync()
            #expect(try Seeding(mount.store).text("file") == "latein/sh\n")
        }
    }

    @Test("a setuid program runs as its owner with -o suid, and not without")
    func runs() async throws {
        for isAllowed in [true, false] {
            try await withMount(.with { $0.arguments = ["-o", isAllowed ? "allow_other,suid" : "allow_other"] }) {
                mount in
                let shown = try Self.python(
                    mount,
                    """
                    subprocess.run("cp /usr/bin/id id; chown 12:12 id; chmod 4755 id", shell=True, check=True)
                    as_user(lambda: subprocess.run(["./id", "-u"], check=True))
                    """)
                #expect(shown == (isAllowed ? "12\n" : "65534\n"))
            }
        }
    }

    @Test("capabilities: kept by chmod, rename and reading, cleared by any write, also root's", arguments: modes)
    func capabilities(_ options: MountOptions) async throws {
        try await withMount(options) { mount in
            let shown = try Self.python(
                mount,
                """
                def capabilities(path): return subprocess.run(["/sbin/getcap", path], capture_output=True, text=True).stdout.strip()
                def after(change):
                    make("tool", 0o777)
                    subprocess.run(["/sbin/setcap", "cap_net_raw+ep", "tool"], check=True)
                    change()
                    return capabilities("tool")
                print(after(lambda: read("tool")))
                print(after(lambda: os.chmod("tool", 0o755)))
                print([after(change) for change in [lambda: write("tool", b"x", 0), lambda: os.truncate("tool", 3), lambda: write("tool", b"x", os.O_TRUNC), lambda: os.chown("tool", 1, 1), lambda: as_user(lambda: append("tool", b"x"))]])
                make("tool", 0o777); file = os.open("tool", os.O_RDWR)
                subprocess.run(["/sbin/setcap", "cap_net_raw+ep", "tool"], check=True)
                os.write(file, b"late"); os.close(file)
                print(capabilities("tool") == "", read("tool"))
                after(lambda: None); os.rename("tool", "renamed"); print(capabilities("renamed"))
                """)
            #expect(
                shown == """
                    tool cap_net_raw=ep
                    tool cap_net_raw=ep
                    ['', '', '', '', '']
                    True b'latein/sh\\n'
                    renamed cap_net_raw=ep

                    """)
            try mount.remount()
            #expect(try mount.run("/sbin/getcap renamed") == "renamed cap_net_raw=ep\n")
            try mount.run("echo more >> renamed")
            #expect(try mount.run("/sbin/getcap renamed") == "")
            try mount.sync()
            #expect(try mount.run("cd \"$STORE\"; getfattr -m security renamed") == "")
        }
    }

    @Test("a setgid folder passes on its group; a user cannot keep setgid for a group that is not his")
    func setgid() async throws {
        try await withMount(Self.modes[0]) { mount in
            let shown = try Self.python(
                mount,
                """
                os.mkdir("folder"); os.chown("folder", 0, 77); os.chmod("folder", 0o2777)
                def fill():
                    write("folder/file", b"x"); os.mkdir("folder/sub")
                    os.close(os.open("folder/tool", os.O_CREAT | os.O_WRONLY, 0o2775))
                    write("own", b"x"); os.chmod("own", 0o2755); print(mode("own"))
                as_user(fill)
                print([(os.stat("folder/" + name).st_gid, mode("folder/" + name)) for name in ["file", "sub", "tool"]])
                os.chown("own", 65534, 5); as_user(lambda: os.chmod("own", 0o2755)); print(mode("own"))
                """)
            #expect(shown == "0o2755\n[(77, '0o644'), (77, '0o2777'), (77, '0o775')]\n0o755\n")
        }
    }
}
