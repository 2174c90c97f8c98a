import ControlAPI
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

@Suite("hydrant events, pause, limit, and output during transfers")
struct EventTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("doc.bin", noise(1_000_000))
        try seeding.file("folder/one.txt", "one\n")
        try seeding.file("folder/two.txt", "two\n")
    }

    private static func events(_ mount: MountedStore) throws -> [EventRecord] {
        let result = try mount.hydrant(["events", mount.mountPoint, "--last", "1000", "--no-follow", "--json"])
        guard result.succeeded else { throw HarnessError("events: \(result)") }
        return try result.stdout.split(separator: "\n").map {
            try JSONDecoder().decode(EventRecord.self, from: Data($0.utf8))
        }
    }

    @Test("events --json: an object a line, with the process that caused a download")
    func events() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("cat folder/one.txt >/dev/null; echo more >> folder/two.txt")
            try mount.sync()
            try waitUntil(5, "the download is over") {
                try Self.events(mount).contains {
                    $0.event == "startProvidingItem" && $0.path?.hasSuffix("one.txt") == true
                }
            }
            let events = try Self.events(mount)
            let download = try #require(
                events.first { $0.event == "startProvidingItem" && $0.path?.hasSuffix("one.txt") == true })
            #expect(download.path == mount.mountPoint + "/folder/one.txt")
            #expect(download.process?.name == "cat" && download.process.map { $0.pid > 1 } == true)
            #expect(download.bytes == 4 && download.durationMs.map { $0 > 0 } == true)
            #expect(download.identifier == (try mount.status("folder/one.txt").identifier))
            #expect(download.time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(
                events.contains { $0.event == "itemChanged" && $0.path?.hasSuffix("two.txt") == true && $0.bytes == 9 })
            #expect(events.contains { $0.event == "enumerateItems" && $0.path == mount.mountPoint })
            let raw = try mount.hydrant(["events", mount.mountPoint, "--last", "1", "--no-follow", "--json"])
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(raw.stdout.utf8)) as? [String: Any])
            #expect(object.count == 10)
        }
    }

    @Test("events follows until interrupted, and ends when its reader or the mount ends (status 69)")
    func follow() async throws {
        try await withMount(seed: Self.seed) { mount in
            let follower = try mount.sandbox.spawn(
                [Sandbox.executable, "events", mount.mountPoint], environment: mount.environment)
            let head = try mount.start("cd /; \"$HYDRANT\" events \"$MOUNT\" --json | head -n 1")
            // It learns that nobody reads any more when it writes the next one.
            try waitUntil(20, "events show in both, and the one in front of head has ended") {
                try mount.run("cat folder/one.txt >/dev/null")
                _ = try mount.hydrant(["evict", mount.mountPoint + "/folder/one.txt"])
                return follower.stdout.contains("evicted") && !head.isRunning
            }
            // By SIGPIPE, as any other program there.
            #expect(head.wait(limit: 10).status == 128 + SIGPIPE)
            #expect(head.stdout.split(separator: "\n").count == 1)
            try mount.unmount()
            #expect(follower.wait(limit: 10).status == 69)
        }
    }

    @Test(
        "a read that fails: the program gets its errno; events, status and log name the file, the reason and the next step"
    )
    func failedRead() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("ls -lR >/dev/null")
            try mount.run("mv \"$STORE\" \"$STORE.away\"")
            let read = try mount.shell("cat folder/one.txt")
            #expect(!read.succeeded)
            let error = try #require(try mount.status("folder/one.txt").error)
            #expect(error.contains("folder/one.txt") && error.contains("; "))
            let event = try #require(
                try Self.events(mount).first { $0.event == "error" && $0.path?.hasSuffix("one.txt") == true })
            #expect(event.message == error && event.code == "serverUnreachable")
            #expect(event.process?.name == "cat")
            #expect(try Self.events(mount).contains { $0.event == "offline" })
            #expect(mount.logTail.contains("download failed"))
            try mount.run("mv \"$STORE.away\" \"$STORE\"; cat folder/one.txt")
            try waitUntil(5, "it is forgotten") { try mount.status("folder/one.txt").error == nil }
            #expect(try Self.events(mount).contains { $0.event == "online" })
        }
    }

    @Test("pause: nothing is sent, also after a remount; status and sync say so; resume sends the changes")
    func pause() async throws {
        try await withMount(seed: Self.seed) { mount in
            #expect(try mount.hydrant(["pause", mount.mountPoint]).stdout.contains("paused"))
            try mount.run("echo more >> folder/one.txt")
            let sync = try mount.hydrant(["sync", mount.mountPoint])
            #expect(sync.status == 75)
            #expect(sync.stdout.contains("one.txt") && sync.stderr.contains("paused"))
            try mount.remount()
            #expect(try mount.hydrant(["status"]).stdout.contains("paused"))
            // What is read comes.
            #expect(try mount.run("cat folder/two.txt") == "two\n")
            #expect(try mount.run("cat \"$STORE/folder/one.txt\"") == "one\n")
            let resumed = try mount.hydrant(["resume", mount.mountPoint, "--json"])
            #expect(resumed.stdout.contains("\"paused\" : false"))
            try mount.sync()
            #expect(try mount.run("cat \"$STORE/folder/one.txt\"") == "one\nmore\n")
            #expect(try !mount.hydrant(["status"]).stdout.contains("paused"))
        }
    }

    @Test("limit: set at the mount, changed later, shown by status; a bad rate changes nothing")
    func limit() async throws {
        try await withMount(.with { $0.arguments = ["--limit-download", "100K"] }, seed: Self.seed) { mount in
            #expect(try mount.hydrant(["limit", mount.mountPoint]).stdout.contains("downloads at most 100.0 KiB/s"))
            for bad in ["fast", "0", "-1", "12", "10Q"] {
                let result = try mount.hydrant(["limit", mount.mountPoint, "--download=\(bad)"])
                #expect(result.status == 64 && result.stderr.contains("--download"))
            }
            // A megabyte would take ten seconds: it is under way when the limit goes.
            let download = try mount.sandbox.spawn(
                [Sandbox.executable, "download", mount.mountPoint + "/doc.bin"], environment: mount.environment)
            try waitUntil(10, "status shows it") {
                try mount.hydrant(["status"]).stdout.contains("download  \(mount.mountPoint)/doc.bin")
            }
            let result = try mount.hydrant([
                "limit", mount.mountPoint, "--download", "none", "--upload", "2M/s", "--json",
            ])
            let object = try JSONSerialization.jsonObject(with: Data(result.stdout.utf8)) as? [String: Any]
            #expect(object?["downloadLimit"] is NSNull && object?["uploadLimit"] as? Int == 2 << 20)
            #expect(download.wait(limit: 5).succeeded)
            try mount.requireSameAsStore()
        }
    }

    @Test(
        "a download on a terminal shows a progress bar and removes it; Ctrl-C stops it unless a program waits for it too"
    )
    func progress() async throws {
        try await withMount(.with { $0.arguments = ["--limit-download", "200K"] }, seed: Self.seed) { mount in
            let steps = [Terminal.Step.at("doc.bin", Terminal.control("c"))]
            let command = "\"$HYDRANT\" download \"$MOUNT/doc.bin\""
            let result = try mount.shell("cd /; " + Terminal.script(command, steps))
            // By the signal, as python says it.
            #expect(result.status != 0)
            try waitUntil(5, "it has stopped") {
                let text = try mount.hydrant(["status"]).stdout
                return !text.contains("download  \(mount.mountPoint)")
            }
            #expect(try mount.status("doc.bin").state == .partial)
            let quiet = try mount.hydrant(["download", "--quiet", mount.mountPoint + "/folder"])
            #expect(quiet.succeeded && quiet.stdout.isEmpty && quiet.stderr.isEmpty)
            let json = try mount.hydrant(["download", "--json", mount.mountPoint + "/folder"])
            let objects = try JSONSerialization.jsonObject(with: Data(json.stdout.utf8)) as? [[String: Any]]
            #expect(objects?.map { Set($0.keys) } == [["path", "bytes", "error", "note"]])
            #expect(json.stderr.isEmpty)
        }
    }

    @Test("status --watch: prints again every second; with --json an array a line")
    func watch() async throws {
        try await withMount(seed: Self.seed) { mount in
            let path = mount.mountPoint + "/doc.bin"
            let watcher = try mount.sandbox.spawn(
                [Sandbox.executable, "status", "--watch", "--json", path], environment: mount.environment)
            defer { watcher.signal(SIGKILL) }
            try waitUntil(10, "it says that nothing is here") { watcher.stdout.contains("\"state\":\"placeholder\"") }
            try mount.run("cat doc.bin >/dev/null")
            try waitUntil(10, "and then all") { watcher.stdout.contains("\"state\":\"downloaded\"") }
            for line in watcher.stdout.split(separator: "\n").dropLast() {
                #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [[String: Any]])
            }
        }
    }

    @Test("user.hydrant.* is read by name; copying programs do not see it, and the store does not get it")
    func attributes() async throws {
        try await withMount(seed: Self.seed) { mount in
            func attribute(_ name: String, _ path: String) throws -> String {
                try mount.run("getfattr --only-values -n user.hydrant.\(name) \(path)")
            }
            #expect(try attribute("state", "doc.bin") == "placeholder")
            try mount.run("cat doc.bin >/dev/null")
            try waitUntil(5, "downloaded") { try attribute("state", "doc.bin") == "downloaded" }
            let status = try mount.status("doc.bin")
            #expect(try attribute("identifier", "doc.bin") == status.identifier)
            #expect(try attribute("version", "doc.bin") == status.version)
            #expect(try mount.run("getfattr -d -m - doc.bin") == "")
            for change in ["setfattr -n user.hydrant.state -v x doc.bin", "setfattr -x user.hydrant.state doc.bin"] {
                let result = try mount.shell(change)
                #expect(!result.succeeded && result.stderr.contains("Operation not permitted"))
            }
            try mount.run(
                """
                setfattr -n user.mine -v 1 folder/one.txt
                cp -a folder copied
                cp -a folder "$SCRATCH/out"; cp -a "$SCRATCH/out" back
                rsync -aX folder/ synced/
                tar --xattrs --xattrs-include='*' -cf "$SCRATCH/folder.tar" folder
                mkdir unpacked; tar --xattrs --xattrs-include='*' -C unpacked -xf "$SCRATCH/folder.tar"
                """)
            try mount.sync()
            try mount.requireSameAsStore()
            let stored = try mount.run("getfattr -R -h -d -m - \"$STORE\" 2>/dev/null")
            for name in ["state", "identifier", "version"] { #expect(!stored.contains("user.hydrant.\(name)")) }
            #expect(stored.split(separator: "\n").filter { $0 == "user.mine=\"1\"" }.count == 5)
        }
    }
}
