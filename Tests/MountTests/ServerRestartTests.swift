import Foundation
import MountHarness
import Synchronization
import Testing

/// Much is copied into a mount and out of it while the server is killed and started again every few seconds.
/// `HYDRANT_TEST_RESTART_MB` makes it longer: so much in each direction.
@Suite("WebDAV: the server dies again and again")
struct ServerRestartTests {
    private static let megabytes =
        ProcessInfo.processInfo.environment["HYDRANT_TEST_RESTART_MB"].flatMap { Int($0) } ?? 24
    private static let options = MountOptions.with {
        $0.store = .webdav
        $0.limit = 120 + Double(megabytes)
    }

    @Test("all bytes are right at the end, and no program gets an error", .timeLimit(.minutes(60)))
    func copies() async throws {
        try await withSandbox(Self.options) { mount in
            let (large, small) = (Self.megabytes / 2, Self.megabytes * 8)
            try mount.sandbox.run(
                [
                    "bash", "-c",
                    """
                    set -e; cd "$SCRATCH"; mkdir -p in/small
                    head -c \(large)M /dev/urandom > in/large
                    for i in 1 2 3; do head -c \(large / 4)M /dev/urandom > in/large-$i; done
                    for i in $(seq \(small)); do head -c $((RANDOM % 32768)) /dev/urandom > in/small/$i; done
                    """,
                ], limit: 120
            ).require("the documents")
            let server = try mount.server()
            try mount.mount()
            // Not faster than this network is: else all is over before the server dies.
            try mount.hydrant(["limit", mount.mountPoint, "--upload", "2M", "--download", "2M"]).require("limit")
            let killer = Killer(server)
            killer.begin()
            defer { killer.end() }
            try mount.run("cp -r \"$SCRATCH/in\" .", limit: 120 + Double(Self.megabytes))
            try mount.sync(limit: 120 + Double(Self.megabytes))
            let killedWhileSent = killer.count
            try mount.hydrant(["evict", mount.mountPoint + "/in"], limit: 60).require("evict")
            try mount.run("cp -r in \"$SCRATCH/out\"", limit: 120 + Double(Self.megabytes))
            killer.end()
            try mount.run("diff -r \"$SCRATCH/in\" \"$SCRATCH/out\"", limit: 120)
            try mount.run("diff -r -x .DAV -x '.davfs.tmp*' \"$SCRATCH/in\" \"$STORE/in\"", limit: 120)
            let left = try mount.run("find \"$STORE\" -name '.hydrant-*' | wc -l")
            print(
                "server: killed \(killedWhileSent) times during the copy in, \(killer.count) times in all;",
                terminator: " ")
            print("\(left.trimmingCharacters(in: .whitespacesAndNewlines)) unfinished uploads are left")
            #expect(killedWhileSent >= 2 && killer.count > killedWhileSent)
        }
    }

    /// Kills a server every four seconds and starts it again a little later.
    private final class Killer: Sendable {
        private let server: TestServer
        private let state = Mutex((count: 0, isOver: false))
        private let done = DispatchSemaphore(value: 0)
        init(_ server: TestServer) { self.server = server }

        var count: Int { state.withLock { $0.count } }

        func begin() {
            Thread { [self] in
                while true {
                    usleep(4_000_000)
                    if state.withLock({ $0.isOver }) { break }
                    server.kill()
                    state.withLock { $0.count += 1 }
                    usleep(700_000)
                    do { try server.start() } catch { Issue.record("the server does not start again: \(error)") }
                }
                done.signal()
            }.start()
        }

        /// The server runs when this returns.
        func end() {
            let wasOver = state.withLock { state in
                defer { state.isOver = true }
                return state.isOver
            }
            if !wasOver { done.wait() }
        }
    }
}

extension ChildResult {
    fileprivate func require(_ what: String) throws {
        guard succeeded else { throw HarnessError("\(what): \(self)") }
    }
}
