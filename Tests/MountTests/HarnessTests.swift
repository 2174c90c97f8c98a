import Foundation
import Glibc
import MountHarness
import Testing

/// The harness itself: a hung mount fails its test, and not the run.
@Suite("The mount harness")
struct HarnessTests {
    @Test(
        "a scenario that hangs in the mount is ended at its time limit, and leaves nothing behind",
        arguments: ["child", "system call"])
    func hang(_ kind: String) async throws {
        let paths = Shared<(String, pid_t, ContinuousClock.Instant)>()
        await #expect(throws: HarnessError.self) {
            try await withMount(.with { $0.limit = 3 }, seed: { try Seeding($0).file("doc.txt", noise(1_000_000)) }) {
                mount in
                let pid = try mount.daemonPID()
                paths.set((mount.sandbox.path, pid, .now))
                kill(pid, SIGSTOP)
                if kind == "child" {
                    _ = try mount.shell("cat doc.txt", limit: 600)
                } else {
                    _ = try RealFileSystem(root: mount.mountPoint).readAll("doc.txt")
                }
            }
        }
        let (path, pid, start) = try #require(paths.value)
        #expect(ContinuousClock.now - start < .seconds(300))
        #expect(access(path, F_OK) != 0)
        try waitUntil(5, "the daemon is gone") { !MountedStore.isAlive(pid) }
    }

    @Test("a failed scenario is cleaned up as well, and its error is reported")
    func failure() async throws {
        let paths = Shared<(String, pid_t)>()
        await #expect(throws: HarnessError.self) {
            try await withMount { mount in
                paths.set((mount.sandbox.path, try mount.daemonPID()))
                throw HarnessError("on purpose")
            }
        }
        let (path, pid) = try #require(paths.value)
        #expect(access(path, F_OK) != 0)
        try waitUntil(5, "the daemon is gone") { !MountedStore.isAlive(pid) }
    }

    @Test("scenarios run on threads of their own, and know their test")
    func thread() async throws {
        let outside = Test.current?.id
        try await withSandbox { _ in
            #expect(ThreadExecutor.isCurrent)
            #expect(Test.current?.id == outside && outside != nil)
        }
    }

    @Test("a child that takes too long is killed, with all its children")
    func child() async throws {
        try await withSandbox { mount in
            let child = try mount.sandbox.spawn(["bash", "-c", "sleep 100 & echo $!; wait"])
            try waitUntil(5, "it has started") { !child.stdout.isEmpty }
            let result = child.wait(limit: 0.1)
            #expect(result.timedOut && result.status == 128 + SIGKILL)
            let grandchild = try #require(Int32(result.stdout.trimmingCharacters(in: .newlines)))
            try waitUntil(5, "the grandchild is gone") { !MountedStore.isAlive(grandchild) }
        }
    }
}

/// Hands a value out of a scenario.
private final class Shared<T>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: T?
    func set(_ value: T) { lock.withLock { stored = value } }
    var value: T? { lock.withLock { stored } }
}
