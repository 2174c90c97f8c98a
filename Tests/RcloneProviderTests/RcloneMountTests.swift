import Foundation
import MountHarness
import Testing

/// Through the real command, with a daemon and an rclone of its own.
@Suite("hydrant mount rclone:", .timeLimit(.minutes(5))) struct RcloneMountTests {
    private static func options() -> MountOptions {
        .with {
            $0.store = .directory
            $0.environment = ["RCLONE": RcloneRemote.program, "HYDRANT_POLL": "0.3"]
            $0.limit = 200
        }
    }

    /// `rclone:store:…` on a folder of the sandbox.
    private static func mount(_ store: MountedStore) throws {
        try FileManager.default.createDirectory(
            atPath: "\(store.sandbox.path)/home/.config/rclone", withIntermediateDirectories: true)
        try "[store]\ntype = local\n".write(
            toFile: "\(store.sandbox.path)/home/.config/rclone/rclone.conf", atomically: true, encoding: .utf8)
        let result = try store.hydrant([
            "mount", "rclone:store:\(store.store)", store.mountPoint, "--state-dir", store.sandbox.state,
            "--log-level", "debug",
        ])
        guard result.succeeded else { throw HarnessError("cannot mount: \(result)") }
    }

    /// The rclone of a daemon.
    private static func child(of daemon: Int32) throws -> Int32? {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let pid = Int32(name), let status = FileManager.default.contents(atPath: "/proc/\(pid)/status")
            else { continue }
            let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
            if lines.contains("PPid:\t\(daemon)"), lines.contains("Name:\trclone") { return pid }
        }
        return nil
    }

    /// In bytes.
    private static func peak(_ pid: Int32) -> Int {
        let status = FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    @Test func documentsGoBothWays() async throws {
        try await withSandbox(Self.options()) { store in
            try FileManager.default.createDirectory(atPath: store.store + "/Letters", withIntermediateDirectories: true)
            try "June\n".write(toFile: store.store + "/Letters/june.txt", atomically: true, encoding: .utf8)
            try Self.mount(store)
            let daemon = try store.daemonPID()
            #expect(try store.run("cat Letters/june.txt") == "June\n")
            try store.run(
                "echo July > Letters/july.txt; echo more >> Letters/june.txt; mkdir New; mv Letters/july.txt New/")
            try store.sync()
            #expect(try store.run("cat \"$STORE/New/july.txt\" \"$STORE/Letters/june.txt\"") == "July\nJune\nmore\n")
            try store.run(
                "mv Letters Old; rm New/july.txt; touch -d '2020-01-02 03:04:05.678' Old/june.txt; echo x > Old/x")
            try store.sync()
            #expect(
                try store.run("ls -A \"$STORE\" \"$STORE/Old\"; ls \"$STORE/New\" | wc -l").hasSuffix(
                    "june.txt\nx\n0\n"))
            try store.run("echo 'from outside' > \"$STORE/Old/outside.txt\"")
            try waitUntil(30, "the other's document shows") { try store.run("ls Old").contains("outside.txt") }
            #expect(
                try store.run("cat Old/outside.txt; df --output=size . | tail -1 | tr -d ' '").hasPrefix(
                    "from outside\n"))
            try store.requireSameAsStore()

            // It is killed, and the mount goes on.
            let rclone = try #require(try Self.child(of: daemon))
            kill(rclone, SIGKILL)
            try store.run("echo after > after.txt")
            try store.sync(limit: 40)
            #expect(try store.run("cat \"$STORE/after.txt\"") == "after\n")
            let second = try #require(try Self.child(of: daemon))
            #expect(second != rclone)

            // It never outlives the daemon.
            try store.unmount()
            try waitUntil(10, "rclone is gone") { !MountedStore.isAlive(second) }
            try Self.mount(store)
            let third = try store.daemonPID()
            try store.run("cat Old/x")
            let orphan = try #require(try Self.child(of: third))
            try store.kill9()
            try waitUntil(10, "rclone is gone") { !MountedStore.isAlive(orphan) }
        }
    }

    @Test func aLargeDocumentTakesNoMemory() async throws {
        try await withSandbox(Self.options()) { store in
            try Self.mount(store)
            let daemon = try store.daemonPID()
            try store.run("head -c 209715200 /dev/urandom > \"$SCRATCH/big\"; cp \"$SCRATCH/big\" big", limit: 60)
            try store.sync(limit: 60)
            try store.run("cmp \"$SCRATCH/big\" \"$STORE/big\"", limit: 30)
            // And back: another document, which was never here.
            try store.run("mv \"$SCRATCH/big\" \"$STORE/other\"", limit: 30)
            try waitUntil(30, "it shows") { try store.run("ls").contains("other") }
            try store.run("cmp other \"$STORE/other\"", limit: 60)
            let (own, its) = (Self.peak(daemon), Self.peak(try #require(try Self.child(of: daemon))))
            print("200 MiB both ways: daemon \(own >> 20) MiB, rclone \(its >> 20) MiB")
            #expect(own > 0 && own < 160 << 20 && its < 200 << 20, "daemon \(own >> 20) MiB, rclone \(its >> 20) MiB")
            try store.unmount()
        }
    }

    @Test func whatIsWrongIsSaidOnOneLine() async throws {
        try await withSandbox(Self.options()) { store in
            func attempt(_ location: String, _ program: String = RcloneRemote.program) throws -> ChildResult {
                try store.sandbox.run(
                    [Sandbox.executable, "mount", location, store.mountPoint, "--state-dir", store.sandbox.state],
                    environment: store.environment.merging(["RCLONE": program]) { $1 }, limit: 20)
            }
            let missing = try attempt("rclone:store:x", "/nowhere/rclone")
            #expect(!missing.succeeded && missing.stderr.contains("/nowhere/rclone"), "\(missing)")
            let unknown = try attempt("rclone:store:x")
            #expect(!unknown.succeeded && unknown.stderr.contains("rclone config"), "\(unknown)")
            let secret = try attempt("rclone::sftp,host=127.0.0.1,user=u,pass=geheim:x")
            #expect(!secret.succeeded && secret.stderr.contains("rclone config"), "\(secret)")
            #expect(!secret.stderr.contains("geheim"), "\(secret)")
            let unnamed = try attempt("rclone:/home")
            #expect(!unnamed.succeeded && unnamed.stderr.contains("rclone:REMOTE:PATH"), "\(unnamed)")
        }
    }
}
