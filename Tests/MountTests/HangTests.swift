import ControlAPI
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

/// A store that does not answer. For `dir:` that is a store on a file system that hangs: here another
/// Hydrant mount, whose daemon is stopped.
@Suite("A store that hangs")
struct HangTests {
    /// Mounts the store at `$SCRATCH/below`, and that at the mount point. `body` gets the lower daemon.
    private static func withHangingStore(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore, pid_t) throws -> Void
    ) async throws {
        try await withSandbox(options) { mount in
            try Seeding(mount.store).file("doc.txt", "from far away\n")
            try Seeding(mount.store).file("other.txt", "other\n")
            try Seeding(mount.scratch).folder("below")
            let lowerState = mount.sandbox.path + "/lower"
            let lower = try mount.hydrant([
                "mount", "dir:\(mount.store)", mount.scratch + "/below", "--state-dir", lowerState,
            ])
            guard lower.succeeded else { throw HarnessError("lower mount: \(lower)") }
            let pid = try Int32(Seeding(lowerState).text("lock").trimmingCharacters(in: .whitespacesAndNewlines))
            guard let pid, pid > 1 else { throw HarnessError("no process id of the lower daemon") }
            let upper = try mount.hydrant([
                "mount", "dir:\(mount.scratch)/below", mount.mountPoint, "--state-dir", mount.sandbox.state,
                "--log-level", "debug",
            ])
            guard upper.succeeded else { throw HarnessError("upper mount: \(upper)") }
            // Names and sizes are known from here on.
            try mount.run("ls -l >/dev/null")
            kill(pid, SIGSTOP)
            defer { kill(pid, SIGCONT) }
            try body(mount, pid)
        }
    }

    @Test("a read that hangs is interrupted within 100 ms; the mount goes on; later the read works")
    func interrupt() async throws {
        try await Self.withHangingStore(.with { $0.isAlone = true }) { mount, lower in
            let reader = try mount.start("exec cat doc.txt")
            try waitUntil(10, "the read has reached the provider") {
                mount.hookCalls().contains { $0.hook == .startProvidingItem }
            }
            #expect(reader.isRunning)
            // What needs no provider is answered meanwhile.
            let files = RealFileSystem(root: mount.mountPoint)
            #expect(try files.stat("doc.txt").size == 14)
            #expect(try files.names() == ["doc.txt", "other.txt"])
            var result: ChildResult?
            let seconds = elapsed {
                reader.signal(SIGINT)
                result = reader.wait(limit: 5)
            }
            #expect(result?.status == 128 + SIGINT)
            #expect(seconds < 0.2)
            kill(lower, SIGCONT)
            try waitUntil(10, "the document can be read") { try files.text("doc.txt") == "from far away\n" }
        }
    }

    @Test("a read that gets no byte for the read time-out ends with ETIMEDOUT")
    func timeout() async throws {
        try await Self.withHangingStore(.with { $0.readTimeout = 1 }) { mount, _ in
            let files = RealFileSystem(root: mount.mountPoint)
            var failure: Int32 = 0
            let seconds = elapsed { failure = errnoOf { () throws(FSError) in _ = try files.readAll("doc.txt") } }
            #expect(failure == ETIMEDOUT)
            #expect(seconds >= 0.9 && seconds < 5)
        }
    }

    @Test("writing goes on while the store hangs, and is sent when it answers again")
    func write() async throws {
        try await Self.withHangingStore { mount, lower in
            try mount.run("echo written > new.txt; cat new.txt; mkdir folder; mv new.txt folder/new.txt", limit: 5)
            #expect(try mount.hydrant(["sync", mount.mountPoint, "--timeout", "0.5"]).status == 75)
            kill(lower, SIGCONT)
            try mount.sync()
            let lowerSync = try mount.hydrant(["sync", mount.scratch + "/below"])
            #expect(lowerSync.succeeded)
            #expect(try Seeding(mount.store).text("folder/new.txt") == "written\n")
        }
    }
}
