import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// What `hydrant mount` and `unmount` refuse, and how they say it.
@Suite("hydrant mount, hydrant unmount")
struct MountCommandTests {
    /// One line on standard error that names what is wrong, a status that is not 0, and nothing mounted.
    private static func checkRefused(_ mount: MountedStore, _ arguments: [String], names: String, status: Int32? = nil)
        throws
    {
        let result = try mount.hydrant(arguments)
        #expect(result.status != 0 && !result.timedOut)
        if let status { #expect(result.status == status) }
        #expect(result.stdout.isEmpty)
        #expect(result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1)
        #expect(result.stderr.contains(names))
        #expect(!mount.isMounted)
    }

    private static func command(_ mount: MountedStore, store: String? = nil, at mountPoint: String? = nil) -> [String] {
        ["mount", store ?? "dir:\(mount.store)", mountPoint ?? mount.mountPoint, "--state-dir", mount.sandbox.state]
    }

    /// A shell's open file in another mount would keep that mount busy.
    @Test("a daemon in the background keeps no file that its command has inherited")
    func inheritedFiles() async throws {
        try await withSandbox { mount in
            try Seeding(mount.scratch).file("document", "x")
            let words = [Sandbox.executable] + Self.command(mount)
            let script = #"exec 7<"$0/document" 8>"$0/other"; exec "$@""#
            let result = try mount.sandbox.run(
                ["bash", "-c", script, mount.scratch] + words, environment: mount.environment, limit: 20)
            #expect(result.succeeded, "\(result)")
            let daemon = try mount.daemonPID()
            let folder = "/proc/\(daemon)/fd"
            let links = try FileManager.default.contentsOfDirectory(atPath: folder)
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
            #expect(!links.isEmpty && !links.contains { $0.hasPrefix(mount.scratch) }, "\(links)")
            try mount.unmount()
        }
    }

    @Test("a store that does not exist, or is not a directory")
    func storeMissing() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(
                mount, Self.command(mount, store: "dir:\(mount.scratch)/none"), names: "\(mount.scratch)/none")
            try Seeding(mount.scratch).file("document", "x")
            try Self.checkRefused(
                mount, Self.command(mount, store: "dir:\(mount.scratch)/document"), names: "not a directory")
            try Self.checkRefused(mount, Self.command(mount, store: "dir:"), names: "dir:/PATH")
        }
    }

    @Test("an unknown scheme, and no scheme")
    func scheme() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(mount, Self.command(mount, store: "gopher://host/x"), names: "gopher")
            try Self.checkRefused(mount, Self.command(mount, store: mount.store), names: "dir:/PATH")
        }
    }

    @Test("a mount point that is missing, not a directory, or not empty")
    func mountPoint() async throws {
        try await withSandbox { mount in
            let seeding = Seeding(mount.scratch)
            try seeding.file("document", "x")
            try seeding.file("full/document", "x")
            for (name, text) in [("none", "does not exist"), ("document", "not a directory"), ("full", "not empty")] {
                let path = mount.scratch + "/" + name
                try Self.checkRefused(mount, Self.command(mount, at: path), names: path)
                try Self.checkRefused(mount, Self.command(mount, at: path), names: text)
            }
            #expect(try seeding.names("full") == ["document"])
        }
    }

    @Test("a mount point in the store, and a store in the mount point")
    func nested() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).folder("inside")
            try Self.checkRefused(mount, Self.command(mount, at: mount.store + "/inside"), names: "inside the store")
            try Seeding(mount.scratch).folder("outer/store")
            // It is not empty then, which says as much.
            try Self.checkRefused(
                mount, Self.command(mount, store: "dir:\(mount.scratch)/outer/store", at: mount.scratch + "/outer"),
                names: mount.scratch + "/outer")
            try Seeding(mount.scratch).folder("same")
            try Self.checkRefused(
                mount, Self.command(mount, store: "dir:\(mount.scratch)/same", at: mount.scratch + "/same"),
                names: "same")
        }
    }

    @Test(
        "another folder is refused as a state directory, and left unchanged; our own or an empty one is accepted"
    )
    func otherFolders() async throws {
        try await withSandbox { mount in
            let seeding = Seeding(mount.scratch)
            func command(_ state: String) -> [String] {
                ["mount", "dir:\(mount.store)", mount.mountPoint, "--state-dir", state]
            }
            let theirs: [(String, [String])] = [
                ("home", [".profile"]), ("project", ["catalog.sqlite", "main.c"]), ("locked", ["lock", "notes"]),
                ("web", ["content/index.html"]),
            ]
            for (name, files) in theirs {
                for file in files { try seeding.file(name + "/" + file, "mine\n") }
                let folder = mount.scratch + "/" + name
                chmod(folder, 0o755)
                let before = try FileManager.default.subpathsOfDirectory(atPath: folder)
                try Self.checkRefused(mount, command(folder), names: "neither empty nor a state directory")
                #expect(try FileManager.default.subpathsOfDirectory(atPath: folder) == before)
                var status = stat()
                #expect(stat(folder, &status) == 0 && status.st_mode & 0o777 == 0o755)
            }
            // As a daemon leaves it that is killed at its very start; and a disk of its own.
            for (name, files) in [("killed", ["lock"]), ("disk", ["lost+found/x"]), ("empty", [])] {
                try seeding.folder(name)
                for file in files { try seeding.file(name + "/" + file, "") }
                for _ in 0..<2 {
                    let result = try mount.hydrant(command(mount.scratch + "/" + name))
                    #expect(result.succeeded, "\(name): \(result)")
                    try mount.unmount()
                }
            }
        }
    }

    @Test(
        "root's state directory is refused where others could replace a folder above it",
        .enabled(if: geteuid() == 0, "is about root"))
    func stateBelowOthers() async throws {
        try await withSandbox { mount in
            let seeding = Seeding(mount.scratch)
            func command(_ state: String) -> [String] {
                ["mount", "dir:\(mount.store)", mount.mountPoint, "--state-dir", mount.scratch + "/" + state]
            }
            for name in ["theirs/in", "loose", "sticky"] { try seeding.folder(name) }
            chown(mount.scratch + "/theirs", 65534, 65534)
            chmod(mount.scratch + "/loose", 0o777)
            chmod(mount.scratch + "/sticky", 0o1777)
            symlink("theirs/in", mount.scratch + "/link")
            for (state, reason) in [
                ("theirs/in/state", "belongs to user 65534"), ("link/state", "belongs to user 65534"),
                ("loose/state", "users other than root may write to"),
            ] {
                try Self.checkRefused(mount, command(state), names: reason)
                #expect(!FileManager.default.fileExists(atPath: mount.scratch + "/" + state))
            }
            let result = try mount.hydrant(command("sticky/new/state"))
            #expect(result.succeeded, "\(result)")
            try mount.unmount()
        }
    }

    @Test("a state directory in the mount point, in the store, around them, or in another mount is refused")
    func entangledState() async throws {
        try await withSandbox { mount in
            let seeding = Seeding(mount.scratch)
            func check(_ state: String, at mountPoint: String? = nil, store: String? = nil, _ says: String) throws {
                let arguments = [
                    "mount", "dir:\(store ?? mount.store)", mountPoint ?? mount.mountPoint, "--state-dir", state,
                ]
                try Self.checkRefused(mount, arguments, names: says)
            }
            try check(mount.mountPoint + "/a/state", "the mount point")
            try check(mount.mountPoint, "the mount point")
            try check(mount.store + "/state", "the store")
            try check(mount.store + "/a/b/c", "the store")
            #expect(symlink(mount.store, mount.scratch + "/link") == 0)
            try check(mount.scratch + "/link/x/state", "the store")
            try check(mount.scratch + "/none/../../store/x", "the store")
            try check(mount.scratch + "/none/../link/./x", "the store")
            for folder in ["outer/store", "outer/mnt"] { try seeding.folder(folder) }
            try check(mount.scratch + "/outer", store: mount.scratch + "/outer/store", "the store")
            try check(mount.scratch + "/outer", at: mount.scratch + "/outer/mnt", "the mount point")
            #expect(try Seeding(mount.store).names() == [])
            #expect(try FileManager.default.contentsOfDirectory(atPath: mount.mountPoint) == [])

            try mount.mount()
            for folder in ["other/store", "other/mnt"] { try seeding.folder(folder) }
            let other = mount.scratch + "/other"
            let result = try mount.hydrant([
                "mount", "dir:\(other)/store", other + "/mnt", "--state-dir", mount.mountPoint + "/state",
            ])
            #expect(result.status == 1 && result.stderr.contains("is in the mount"), "\(result)")
            try mount.unmount()
        }
    }

    @Test("a mount point that is mounted already")
    func alreadyMounted() async throws {
        try await withMount { mount in
            let result = try mount.hydrant(
                ["mount", "dir:\(mount.store)", mount.mountPoint, "--state-dir", mount.sandbox.path + "/state2"])
            #expect(result.status != 0)
            #expect(result.stderr.contains("mounted there already"))
            #expect(result.stderr.split(separator: "\n").count == 1)
            // The first one goes on.
            #expect(try mount.hydrant(["status", mount.mountPoint]).succeeded)
        }
    }

    @Test("a bad -o option is named")
    func badOption() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(mount, Self.command(mount) + ["-o", "no_such_option"], names: "no_such_option")
        }
    }

    @Test("-o reaches the kernel: ro")
    func readOnly() async throws {
        try await withMount(.with { $0.arguments = ["-o", "ro"] }) {
            try Seeding($0).file("doc.txt", "x\n")
        } _: { mount in
            let text = try mount.run("cat doc.txt")
            #expect(text == "x\n")
            let result = try mount.shell("echo more >> doc.txt")
            #expect(!result.succeeded && result.stderr.contains("Read-only"))
        }
    }

    @Test("a second daemon on one state directory is refused, with the process id of the first")
    func secondDaemon() async throws {
        try await withMount { mount in
            try Seeding(mount.scratch).folder("other")
            let result = try mount.hydrant(Self.command(mount, at: mount.scratch + "/other"))
            #expect(result.status != 0)
            #expect(result.stderr.contains("pid \(try mount.daemonPID())"))
            #expect(result.stderr.split(separator: "\n").count == 1)
            let other = try mount.run("ls -A \"$SCRATCH/other\"; ls \"$MOUNT\"")
            #expect(other.isEmpty)
        }
    }

    @Test("another store's state directory is refused")
    func wrongState() async throws {
        try await withMount { mount in
            try mount.unmount()
            try Seeding(mount.scratch).folder("store2")
            try Self.checkRefused(mount, Self.command(mount, store: "dir:\(mount.scratch)/store2"), names: mount.store)
        }
    }

    /// Whether the kernel has the root's attributes cached makes a difference to who asks with stat(2).
    @Test("a dead mount left by kill -9 is cleared by the next mount", arguments: [true, false])
    func dead(_ isCached: Bool) async throws {
        try await withMount {
            try Seeding($0).file("doc.txt", "x\n")
        } _: { mount in
            try mount.run(isCached ? "ls -la; stat . doc.txt" : "touch made")
            try mount.kill9()
            // (What the kernel has of a listing it shows all the same.)
            let reading = try mount.sandbox.run(["cat", mount.mountPoint + "/doc.txt"], limit: 5)
            #expect(!reading.succeeded && reading.stderr.contains("not connected"))
            try mount.mount()
            let text = try mount.run("cat doc.txt")
            #expect(text == "x\n")
        }
    }

    @Test("unmount is refused while a program uses the mount, which goes on")
    func busy() async throws {
        try await withMount {
            try Seeding($0).file("doc.txt", "x\n")
        } _: { mount in
            let user = try mount.start("exec 3< doc.txt; echo open; exec sleep 600")
            try waitUntil(5, "it is open") { user.stdout.contains("open") }
            let result = try mount.hydrant(["unmount", mount.mountPoint])
            #expect(result.status == 32)
            #expect(result.stderr.hasPrefix("hydrant: ") && result.stderr.contains(mount.mountPoint))
            #expect(try mount.run("cat doc.txt; echo y > new; cat new") == "x\ny\n")
            user.signal(SIGKILL)
            _ = user.wait(limit: 5)
            try mount.unmount()
            #expect(!mount.isMounted)
        }
    }

    @Test("unmount returns when the daemon has ended; pending changes are kept, and listed")
    func unmountPending() async throws {
        try await withMount(.lateUploads) { mount in
            let pid = try mount.daemonPID()
            try mount.run("echo pending > new.txt")
            let result = try mount.hydrant(["unmount", mount.mountPoint])
            #expect(result.succeeded)
            #expect(result.stdout.contains("new.txt") && result.stdout.contains("pending"))
            #expect(!MountedStore.isAlive(pid))
            #expect(!mount.isMounted)
            #expect(try Seeding(mount.store).names() == [])
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("new.txt") == "pending\n")
        }
    }

    @Test("unmount without a mount: one line, status 69")
    func notMounted() async throws {
        try await withSandbox { mount in
            try Self.checkRefused(mount, ["unmount", mount.mountPoint], names: mount.mountPoint, status: 69)
            try Self.checkRefused(mount, ["sync", mount.mountPoint], names: mount.mountPoint, status: 69)
        }
    }

    @Test("a domain is shown under its given name, else under the name of its mount point")
    func title() async throws {
        try await withSandbox { mount in
            let folder = (mount.mountPoint as NSString).lastPathComponent
            for (arguments, title) in [([], folder), (["--domain", "letters"], "letters")] as [([String], String)] {
                let mounted = try mount.hydrant(["mount", "dir:\(mount.store)", mount.mountPoint] + arguments)
                #expect(mounted.succeeded, "\(mounted)")
                let pickers = try mount.hydrant(["pickers", "--json"])
                #expect(pickers.stdout.contains("\"title\" : \"\(title)\""), "\(pickers)")
                try mount.unmount()
            }
        }
    }

    @Test("hydrant --version")
    func version() async throws {
        try await withSandbox { mount in
            let result = try mount.hydrant(["--version"])
            #expect(result.succeeded && result.stderr.isEmpty, "\(result)")
            #expect(result.stdout.wholeMatch(of: /hydrant \d+\.\d+\.\d+ \(daemon protocol \d+\)\n/) != nil, "\(result)")
        }
    }

    @Test("--foreground stays, and ends cleanly on SIGTERM")
    func foreground() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "x\n")
            let daemon = try mount.sandbox.spawn([Sandbox.executable] + mount.mountCommand(["--foreground"]))
            let files = RealFileSystem(root: mount.mountPoint)
            try waitUntil(10, "it is mounted") { try mount.isMounted && files.exists("doc.txt") }
            #expect(try files.text("doc.txt") == "x\n")
            #expect(daemon.isRunning)
            daemon.signal(SIGTERM)
            #expect(daemon.wait(limit: 10).status == 0)
            #expect(!mount.isMounted)
        }
    }

    @Test("the daemon ends cleanly during uploads; unsent changes are sent after the next mount")
    func endDuringUploads() async throws {
        try await withSandbox(.with { $0.settle = 0 }) { mount in
            for round in 1...5 {
                let daemon = try mount.sandbox.spawn(
                    [Sandbox.executable] + mount.mountCommand(["--foreground"]), environment: mount.environment)
                try waitUntil(10, "it is mounted") { try mount.hydrant(["status", mount.mountPoint]).succeeded }
                try mount.run("for n in $(seq 60); do echo \(round) > r\(round)-$n; done; cd /")
                let unmount = try mount.sandbox.spawn([Sandbox.executable, "unmount", mount.mountPoint])
                // Collected here, or the command would wait for it for ever.
                let result = daemon.wait(limit: 20)
                #expect(result.status == 0 && !result.timedOut)
                #expect(unmount.wait(limit: 20).succeeded)
            }
            try mount.mount()
            try mount.sync()
            try mount.requireSameAsStore()
            let names = try Seeding(mount.store).names()
            #expect(names.count == 300)
        }
    }
}
