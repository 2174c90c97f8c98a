import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// Who is in the way of an unmount, what stays pending, and what --force does.
@Suite("hydrant unmount")
struct UnmountTests {
    private static let inUse: Int32 = 32

    private struct Report: Decodable {
        struct User: Decodable {
            struct Use: Decodable, Equatable {
                var kind: String
                var path: String
            }
            var pid: Int32
            var command: String
            var user: String
            var uses: [Use]
        }
        var mountPoint: String
        var unmounted: Bool
        var pid: Int32?
        var ended: String?
        var pending: [PendingChange]
        var users: [User]
        var unseen: Int
    }

    private static func seed(_ store: String) throws {
        try Seeding(store).file("doc.txt", "document\n")
        try Seeding(store).file("folder/tool", "#!/bin/sh\nexec sleep 600\n")
    }

    private static func report(_ mount: MountedStore, _ arguments: [String] = []) throws -> (Report, Int32) {
        let result = try mount.hydrant(["unmount", "--json", mount.mountPoint] + arguments, limit: 40)
        guard let report = try? JSONDecoder().decode(Report.self, from: Data(result.stdout.utf8)) else {
            throw HarnessError("unmount: \(result)")
        }
        return (report, result.status)
    }

    private static func ready(_ user: ChildProcess) throws {
        try waitUntil(10, "the mount is used") { user.stdout.contains("ready") }
    }

    private static func end(_ user: ChildProcess) {
        user.signal(SIGKILL)
        _ = user.wait(limit: 5)
    }

    @Test(
        "programs that use the mount are named with process, command and path; status 32, and it stays mounted",
        arguments: [MountOptions(), .cached])
    func users(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("cat doc.txt")
            let open = try mount.start("cd /; exec 3< \"$MOUNT/doc.txt\"; echo ready; exec sleep 600")
            let standing = try mount.start("cd folder; echo ready; exec sleep 600")
            let mapping = try mount.startPython(
                """
                os.chdir("/")
                file = os.open(MOUNT + "/doc.txt", os.O_RDONLY)
                # Python's own mmap keeps a descriptor.
                libc.mmap.restype = ctypes.c_void_p
                memory = libc.mmap(None, ctypes.c_size_t(9), mmap.PROT_READ, mmap.MAP_SHARED, file, ctypes.c_long(0))
                os.close(file)
                assert ctypes.string_at(memory, 8) == b"document"
                print("ready")
                time.sleep(600)
                """)
            for user in [open, standing, mapping] { try Self.ready(user) }
            let text = try mount.hydrant(["unmount", mount.mountPoint])
            #expect(text.status == Self.inUse && text.stderr.split(separator: "\n").count == 1)
            #expect(text.stderr.contains("not unmounted, 3 processes use it"))
            #expect(text.stdout.contains("sleep (pid \(open.pid), "))
            #expect(text.stdout.contains("\(mount.mountPoint)/folder (working directory)"))
            let (report, status) = try Self.report(mount)
            #expect(status == Self.inUse && !report.unmounted && report.ended == nil && mount.isMounted)
            let uses = Dictionary(uniqueKeysWithValues: report.users.map { ($0.pid, $0.uses) })
            #expect(uses[open.pid] == [.init(kind: "open", path: mount.mountPoint + "/doc.txt")])
            #expect(uses[standing.pid] == [.init(kind: "directory", path: mount.mountPoint + "/folder")])
            #expect(uses[mapping.pid]?.map(\.kind) == ["mapped"])
            #expect(report.users.first { $0.pid == open.pid }?.command == "sleep")
            #expect(uses.count == 3 && report.unseen == 0)
            #expect(try mount.run("cat doc.txt") == "document\n")
            for user in [open, standing, mapping] { Self.end(user) }
            try waitUntil(5, "it can be unmounted") { try Self.report(mount).0.unmounted }
        }
    }

    // Its files are closed one after the other, each made durable; until then the kernel says EBUSY. proc(5) shows none
    // of them any more, but still where it stood.
    @Test("unmount waits for a program that has just been killed", arguments: ["/", "$MOUNT"])
    func killed(standing place: String) async throws {
        try await withMount(seed: Self.seed) { mount in
            let user = try mount.startPython(
                """
                os.chdir(os.path.expandvars("\(place)"))
                files = [open(f"{MOUNT}/{number}", "wb", buffering=0) for number in range(400)]
                for file in files: file.write(b"closed by the kernel")
                print("ready")
                time.sleep(600)
                """)
            try Self.ready(user)
            #expect(kill(user.pid, SIGKILL) == 0)
            try mount.unmount()
            _ = user.wait(limit: 5)
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("399") == "closed by the kernel")
        }
    }

    // It waits at another mount, behind somebody who has a folder for himself there: the kernel does not break that off.
    @Test("unmount waits for a program killed in the middle of a call")
    func killedInACall() async throws {
        try await withHangingStore(seed: Self.seed) { mount, lower in
            let other = mount.scratch + "/other"
            try mount.run(
                """
                mkdir "$SCRATCH/other" "$SCRATCH/store2"
                "$HYDRANT" mount "dir:$SCRATCH/store2" "$SCRATCH/other" --state-dir "$SCRATCH/state2"
                """)
            defer { _ = try? mount.hydrant(["unmount", "--force", other]) }
            let first = try mount.start("cd /; exec touch \"$MOUNT/folder/new\"")
            try waitUntil(10, "it waits for the listing") { first.waits(as: "touch") }
            let user = try mount.start("cd \"$SCRATCH/other\"; exec mkdir \"$MOUNT/folder/made\"")
            try waitUntil(10, "it waits for the folder") { user.waits(as: "mkdir") }
            user.signal(SIGKILL)
            let unmounting = try mount.sandbox.spawn(
                [Sandbox.executable, "unmount", other], environment: mount.environment)
            usleep(1_000_000)
            #expect(user.isRunning && unmounting.isRunning)
            first.signal(SIGKILL)
            let result = unmounting.wait(limit: 20)
            #expect(result.succeeded, "\(result)")
            #expect(user.wait(limit: 10).status == 128 + SIGKILL && first.wait(limit: 10).status == 128 + SIGKILL)
            kill(lower, SIGCONT)
        }
    }

    @Test("a process in the directory below the mount does not prevent it, nor does our own working directory")
    func below() async throws {
        try await withSandbox { mount in
            let before = try mount.sandbox.spawn([
                "bash", "-c", "cd \"$MOUNT\"; echo ready; exec sleep 600",
            ])
            try Self.ready(before)
            try mount.mount()
            let user = try mount.start("echo ready; exec sleep 600")
            try Self.ready(user)
            #expect(try Self.report(mount).0.users.map(\.pid) == [user.pid])
            Self.end(user)
            // A shell that waits would be in the way itself.
            let result = try mount.sandbox.run(
                ["bash", "-c", "cd \"$MOUNT\"; exec \"$HYDRANT\" unmount ."], environment: mount.environment, limit: 20)
            #expect(result.succeeded, "\(result)")
            #expect(!mount.isMounted)
            Self.end(before)
        }
    }

    @Test("--force unmounts at once; closed files are sent after the next mount")
    func force() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            let pid = try mount.daemonPID()
            let user = try mount.start(
                "echo closed > new.txt; exec 3>> doc.txt; echo written >&3; echo ready; exec sleep 600")
            try Self.ready(user)
            let (report, status) = try Self.report(mount, ["--force", "--timeout", "1"])
            #expect(status == 0 && report.unmounted && report.ended == "terminated" && report.pid == pid)
            #expect(report.pending.map(\.path).contains(mount.mountPoint + "/new.txt"))
            #expect(!mount.isMounted && !MountedStore.isAlive(pid))
            Self.end(user)
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("new.txt") == "closed\n")
            #expect(try Seeding(mount.store).text("doc.txt") == "document\nwritten\n")
        }
    }

    @Test("a daemon that hangs is reported; --force ends it, and closed files are not lost")
    func hanging() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            let pid = try mount.daemonPID()
            try mount.run("echo closed > new.txt")
            kill(pid, SIGSTOP)
            let refused = try mount.hydrant(["unmount", mount.mountPoint])
            #expect(
                refused.status == 69 && refused.stderr.contains("pid \(pid)") && refused.stderr.contains("--force"),
                "\(refused)")
            #expect(mount.isMounted)
            // Not even SIGTERM moves it.
            let holder = try mount.sandbox.spawn(["bash", "-c", "while kill -STOP \(pid); do sleep 0.01; done"])
            let result = try mount.hydrant(["unmount", "--force", "--timeout", "0.5", mount.mountPoint], limit: 38)
            // (On a loaded machine it may find a moment to end in order.)
            let ends = ["was killed", "was terminated"]
            #expect(result.succeeded && ends.contains { result.stdout.contains($0) }, "\(result)")
            #expect(result.stdout.contains("did not list the pending changes"))
            #expect(!mount.isMounted && !MountedStore.isAlive(pid))
            Self.end(holder)
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("new.txt") == "closed\n")
        }
    }

    @Test("a daemon that has ended and was not reaped counts as dead", arguments: [true, false])
    func zombie(_ endsByUnmount: Bool) async throws {
        try await withSandbox { mount in
            let daemon = try mount.sandbox.spawn(
                [Sandbox.executable] + mount.mountCommand(["--foreground"]), environment: mount.environment)
            try waitUntil(10, "it is mounted") { try mount.hydrant(["status", mount.mountPoint]).succeeded }
            if !endsByUnmount {
                kill(daemon.pid, SIGKILL)
                try waitUntil(10, "it is a zombie") { !MountedStore.isAlive(daemon.pid) }
            }
            // Nobody has asked for its status so far.
            let (report, status) = try Self.report(mount)
            #expect(status == 0 && report.unmounted)
            #expect(report.ended == (endsByUnmount ? "byItself" : "none"))
            #expect(FileManager.default.fileExists(atPath: "/proc/\(daemon.pid)"), "it was collected by somebody")
            #expect(!mount.isMounted)
            _ = daemon.wait(limit: 5)
        }
    }

    @Test("a dead mount is unmounted although a shell stands in it")
    func dead() async throws {
        try await withMount(seed: Self.seed) { mount in
            let user = try mount.start("cd folder; echo ready; exec sleep 600")
            try Self.ready(user)
            try mount.kill9()
            #expect(try mount.hydrant(["unmount", mount.mountPoint]).succeeded)
            #expect(!mount.isMounted)
            Self.end(user)
        }
    }

    @Test("a file created and removed is not pending; a deleted item is named by its path")
    func pending() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("echo x > passing; mkdir gone; echo y > gone/inner; rm -r passing gone folder; echo z > kept")
            let (report, _) = try Self.report(mount)
            #expect(
                Set(report.pending.map { "\($0.what) \($0.path)" }) == [
                    "create \(mount.mountPoint)/kept", "delete \(mount.mountPoint)/folder",
                    "delete \(mount.mountPoint)/folder/tool",
                ])
        }
    }

    /// In a mount namespace of its own, for /dev/fuse may be root's here. The process that is in the way cannot be looked
    /// into (PR_SET_DUMPABLE of prctl(2)), as another user's could not.
    @Test("an ordinary user: through fusermount3; uninspectable processes are mentioned")
    func ordinaryUser() async throws {
        try await withSandbox { mount in
            try Self.seed(mount.store)
            let owned = try mount.sandbox.run(["chown", "-R", "65534:65534", mount.sandbox.path], limit: 5)
            try #require(owned.succeeded)
            try Seeding(mount.scratch).file(
                "script",
                """
                "$HYDRANT" mount "dir:$STORE" "$MOUNT" --state-dir "\(mount.sandbox.state)"
                cd "$MOUNT"
                python3 -uc 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print("ready"); time.sleep(600)' \
                    > "\(mount.sandbox.path)/held" &
                cd /
                until grep -q ready "\(mount.sandbox.path)/held"; do sleep 0.05; done
                "$HYDRANT" unmount "$MOUNT"; echo "status $?"
                echo closed > "$MOUNT/new.txt"
                "$HYDRANT" unmount --force --timeout 1 "$MOUNT"; echo "status $?"
                kill $!
                grep -c " $MOUNT " /proc/self/mounts
                """)
            let result = try mount.sandbox.run(
                [
                    "unshare", "-m", "bash", "-c",
                    Sandbox.withoutOthersMounts + """
                        set -e
                        mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/fuse c 10 229
                        exec setpriv --reuid=65534 --regid=65534 --clear-groups bash "$SCRATCH/script"
                        """,
                ], environment: ["HYDRANT_SETTLE": "3600"], limit: 35)
            #expect(
                result.stdout.hasPrefix("status 32\n") && result.stderr.contains("that you may not see"),
                "\(result)")
            #expect(result.stderr.contains("could not be inspected"))
            #expect(result.stdout.contains("create   \(mount.mountPoint)/new.txt"))
            #expect(result.stdout.hasSuffix("status 0\n0\n"), "\(result)")
        }
    }
}
