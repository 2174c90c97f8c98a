import Foundation
import Glibc
import MountHarness
import Testing

/// Mounts of `hydrant-provider-SCHEME` programs in other languages: `hydrant` is the daemon, and runs them.
@Suite("hydrant mount of a program in the provider protocol")
struct ProtocolProviderTests {
    private static let python = URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/PythonProvider", directoryHint: .isDirectory).path

    private static func environment(_ mount: MountedStore) -> [String: String] {
        [
            "PATH": "\(mount.scratch):/usr/bin:/bin", "PYTHONPATH": python, "PYTHONDONTWRITEBYTECODE": "1",
            "HYDRANT_POLL": "0.2",
        ]
    }

    /// Puts a program into PATH that runs `command`.
    private static func install(_ mount: MountedStore, _ scheme: String, _ command: String) throws {
        let name = "hydrant-provider-\(scheme)"
        try Seeding(mount.scratch).file(name, "#!/bin/sh\nexec \(command) \"$@\"\n")
        guard chmod(mount.scratch + "/" + name, 0o755) == 0 else { throw HarnessError("chmod") }
    }

    private static func mount(_ mount: MountedStore, _ store: String) throws {
        let result = try mount.sandbox.run(
            [Sandbox.executable, "mount", store, mount.mountPoint, "--state-dir", mount.sandbox.state],
            environment: mount.environment.merging(environment(mount)) { $1 }, limit: 40)
        guard result.succeeded else { throw HarnessError("cannot mount: \(result)") }
    }

    /// The program that the daemon runs.
    private static func program(_ mount: MountedStore) throws -> Int32? {
        let children = try mount.sandbox.run(["pgrep", "-P", "\(try mount.daemonPID())"], limit: 10)
        return Int32(children.stdout.split(separator: "\n").last ?? "")
    }

    @Test("the example in Python: written, moved, mounted again, read; the program ends with the mount")
    func shelf() async throws {
        try await withSandbox { mount in
            try Self.install(mount, "shelf", "\(Self.python)/examples/hydrant-provider-shelf")
            try Self.mount(mount, "shelf:\(mount.scratch)/shelf.db")
            try mount.run("mkdir d; echo one > d/one.txt; head -c 3000000 /dev/urandom > big; cp big \"$SCRATCH/copy\"")
            try mount.run("mv d/one.txt two.txt; rmdir d")
            try mount.sync()
            let pid = try #require(try Self.program(mount))
            try mount.unmount()
            try waitUntil(20, "the program has ended") { !MountedStore.isAlive(pid) }
            try Self.mount(mount, "shelf:\(mount.scratch)/shelf.db")
            #expect(try mount.hydrant(["evict", mount.mountPoint]).succeeded)
            #expect(try mount.run("ls; cat two.txt; cmp big \"$SCRATCH/copy\"") == "big\ntwo.txt\none\n")
            try mount.unmount()
        }
    }

    @Test("a program that crashes is started again, and the mount goes on; it does not outlive a killed daemon")
    func crash() async throws {
        try await withSandbox { mount in
            let peer = "\(Sandbox.executable.dropLast("hydrant".count))hydrant-protocol-peer"
            try Self.install(mount, "peer", "\(peer) faulty crashes")
            try Self.mount(mount, "peer:x")
            let first = try #require(try Self.program(mount))
            let daemon = try mount.daemonPID()
            _ = try mount.shell("timeout 5 cat crash.txt")
            try waitUntil(60, "another one is read from") {
                try mount.shell("timeout 5 cat hello.txt").stdout.hasPrefix("xxx")
            }
            let second = try #require(try Self.program(mount))
            #expect(try second != first && mount.daemonPID() == daemon && !MountedStore.isAlive(first))
            kill(daemon, SIGKILL)
            try waitUntil(20, "the program has ended") { !MountedStore.isAlive(second) }
        }
    }
}
