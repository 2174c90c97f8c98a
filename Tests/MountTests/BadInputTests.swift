import Foundation
import MountHarness
import Testing

/// A machine that is not as it should be: one clear line, and nothing lost.
@Suite("Bad input at a real mount")
struct BadInputTests {
    private static func command(_ mount: MountedStore) -> String {
        "\"$HYDRANT\" mount dir:\"$STORE\" \"$MOUNT\" --state-dir \(mount.sandbox.state)"
    }

    private static func checkOneLine(_ result: ChildResult, _ texts: String...) {
        #expect(result.status == 1 && !result.timedOut, "\(result)")
        #expect(result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1, "\(result)")
        for text in texts { #expect(result.stderr.contains(text), "\(result)") }
    }

    /// In mounts of its own, which go with the shell.
    private static func alone(_ mount: MountedStore, _ script: String) throws -> ChildResult {
        try mount.sandbox.run(
            ["unshare", "-m", "bash", "-c", Sandbox.withoutOthersMounts + "set -e; " + script], limit: 20)
    }

    private static func prepare(_ mount: MountedStore, _ command: String...) throws {
        let result = try mount.sandbox.run(command, limit: 5)
        guard result.succeeded else { throw HarnessError("\(command): \(result)") }
    }

    // MARK: FUSE

    @Test("no /dev/fuse; one that the user may not open; no fusermount3")
    func fuse() async throws {
        try await withSandbox { mount in
            let devices = "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; "
            let none = try Self.alone(mount, devices + Self.command(mount))
            Self.checkOneLine(none, "/dev/fuse", "modprobe fuse")

            try Self.prepare(mount, "chown", "-R", "65534:65534", mount.sandbox.path)
            let nobody = "exec setpriv --reuid=65534 --regid=65534 --clear-groups "
            let closed = try Self.alone(
                mount, devices + "mknod -m 600 /dev/fuse c 10 229; " + nobody + Self.command(mount))
            Self.checkOneLine(closed, "/dev/fuse", "Permission denied")

            let hidden = "mknod -m 666 /dev/fuse c 10 229; mount --bind /dev/null \"$(command -v fusermount3)\"; "
            let helperless = try Self.alone(mount, devices + hidden + nobody + Self.command(mount))
            Self.checkOneLine(helperless, "fusermount3", "apt install fuse3")
            #expect(!mount.isMounted)
        }
    }

    // MARK: The state directory

    @Test("a damaged catalog and one of a newer version are refused, and left unchanged")
    func catalogs() async throws {
        try await withMount {
            try Seeding($0).file("doc.txt", "x\n")
        } _: { mount in
            try mount.run("cat doc.txt")
            try mount.unmount()
            let catalog = mount.sandbox.state + "/catalog.sqlite"
            let state = Seeding(mount.sandbox.state)
            try Self.prepare(mount, "sqlite3", catalog, "INSERT INTO grdb_migrations VALUES ('99 of the future')")
            let newer = try state.read("catalog.sqlite")
            Self.checkOneLine(try mount.hydrant(mount.mountCommand()), catalog, "newer")
            #expect(try state.read("catalog.sqlite") == newer)

            try state.file("catalog.sqlite", noise(20_000))
            Self.checkOneLine(try mount.hydrant(mount.mountCommand()), catalog, "damaged", "hydrant rescue")
            #expect(try state.read("catalog.sqlite") == noise(20_000))
            #expect(!mount.isMounted)
        }
    }

    @Test("a state directory that cannot be written")
    func readOnlyState() async throws {
        try await withSandbox { mount in
            try Seeding(mount.sandbox.path).folder("state")
            let state = mount.sandbox.state
            let result = try Self.alone(
                mount, "mount --bind \(state) \(state); mount -o remount,ro,bind \(state); " + Self.command(mount))
            Self.checkOneLine(result, state, "Read-only file system")
        }
    }

    @Test("the state directory vanishes: EIO, the store's items stay, and a new mount works")
    func vanishedState() async throws {
        try await withMount {
            try Seeding($0).file("doc.txt", "text\n")
            try Seeding($0).file("here.txt", "here\n")
        } _: { mount in
            try mount.run("ls -l; cat here.txt")
            try FileManager.default.removeItem(atPath: mount.sandbox.state)
            for command in ["cat doc.txt", "echo new > new.txt", "cp here.txt copy.txt"] {
                let result = try mount.shell(command)
                #expect(!result.succeeded && result.stderr.contains("Input/output error"), "\(command): \(result)")
            }
            #expect(try mount.run("ls") == "doc.txt\nhere.txt\n")
            #expect(try Seeding(mount.store).names() == ["doc.txt", "here.txt"])
            try mount.unmount()
            try mount.mount()
            #expect(try mount.run("cat doc.txt here.txt; echo new > new.txt") == "text\nhere\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    // MARK: The disk under the cache

    @Test("the disk is full: ENOSPC for the writer, the mount goes on, and freed space is used again")
    func fullDisk() async throws {
        let huge = noise(24 << 20)
        try await withSandbox(.with { $0.arguments = ["--min-free", "0"] }) { mount in
            try Seeding(mount.sandbox.path).folder("state")
            try Self.prepare(mount, "mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", mount.sandbox.state)
            try Seeding(mount.store).file("huge", huge)
            try Seeding(mount.store).file("two", noise(2 << 20))
            try mount.mount()
            let written = try mount.shell("head -c 64M /dev/zero > new")
            #expect(!written.succeeded && written.stderr.contains("No space left on device"), "\(written)")
            // Larger than the disk; no part of it may keep another from being read.
            let read = try mount.shell("cat huge > /dev/null")
            #expect(!read.succeeded && read.stderr.contains("No space left on device"), "\(read)")
            // (The bytes of `new` may be held a moment longer: it was about to be sent.)
            try mount.run(
                """
                rm new
                for try in $(seq 600); do cmp -s two "$STORE/two" && break; sleep 0.1; done
                cmp two "$STORE/two"
                """)
            try mount.run("echo small > small; head -c 4M /dev/zero > four")
            try mount.sync()
            try mount.run("cmp four \"$STORE/four\"; cmp small \"$STORE/small\"; cmp two \"$STORE/two\"")
            #expect(try Seeding(mount.store).names() == ["four", "huge", "small", "two"])
            #expect(try Seeding(mount.store).read("huge") == huge)
            try mount.unmount()
        }
    }

    // MARK: Names

    @Test(
        "names of 255 and 256 bytes, and names that are not UTF-8, in both directions",
        arguments: [MountOptions(), .cached])
    func names(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file(String(repeating: "s", count: 255), "long\n")
        } _: { mount in
            let shown = try mount.python(
                """
                os.chdir(MOUNT)
                print(os.stat(b"s" * 255).st_size, fails(os.stat, b"s" * 256), fails(open, b"m" * 256, "w"))
                for name in [b"m" * 255, b"\\xff\\xfe-\\x80", b"caf\\xe9.txt", "é".encode() * 127]:
                    with open(name, "wb") as file: file.write(name)
                    if len(name) < 250: os.rename(name, name + b"2")
                print(fails(os.rename, b"m" * 255, b"m" * 256), fails(os.mkdir, b"d" * 256))
                with open(STORE.encode() + b"/\\xe9-there", "wb") as file: file.write(b"there")
                """)
            #expect(shown == "5 ENAMETOOLONG ENAMETOOLONG\nENAMETOOLONG ENAMETOOLONG\n")
            try mount.sync()
            try waitUntil(5, "store and mount are the same") { try mount.difference() == nil }
            let same = try mount.python(
                """
                print(sorted(os.listdir(MOUNT.encode())) == sorted(os.listdir(STORE.encode())))
                print(len(os.listdir(MOUNT.encode())))
                """)
            #expect(same == "True\n6\n")
        }
    }
}
