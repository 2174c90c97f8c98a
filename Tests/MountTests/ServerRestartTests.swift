import Foundation
import MountHarness
import S3Harness
import S3Provider
import Synchronization
import Testing

/// Much is copied into a mount and out of it while the server is killed and started again every few seconds.
/// `HYDRANT_TEST_RESTART_MB` makes it longer: so much in each direction.
@Suite("The server dies again and again")
struct ServerRestartTests {
    private static let megabytes =
        ProcessInfo.processInfo.environment["HYDRANT_TEST_RESTART_MB"].flatMap { Int($0) }
        ?? (LongTests.areOn ? 64 : 16)
    private static func options(_ store: StoreKind) -> MountOptions {
        .with {
            $0.store = store
            $0.limit = 180 + 2 * Double(megabytes)
        }
    }

    /// (The server is back before a read gives up.)
    @Test("WebDAV: all bytes are right at the end, and no program gets an error", .timeLimit(.minutes(60)))
    func webdav() async throws {
        try await withSandbox(Self.options(.webdav)) { mount in
            let server = try mount.server()
            let killer = Killer {
                server.kill()
            } start: {
                try server.start()
            }
            // (What is sent whole must fit into one of the server's lives.)
            let left = try Self.copy(mount, killer, largest: 8) {
                try mount.run("diff -r -x .DAV -x '.davfs.tmp*' \"$SCRATCH/in\" \"$STORE/in\"", limit: 120)
                return try mount.run("find \"$STORE\" -name '.hydrant-*' | wc -l")
            }
            print("\(left.trimmingCharacters(in: .whitespacesAndNewlines)) unfinished uploads are left")
        }
    }

    /// (SeaweedFS: the objects of Ceph's node are in memory, and moto's as well.)
    @Test(
        "S3: all bytes are right at the end; while the server starts a read says that it is away",
        .enabled(if: LongTests.areOn, "scripts/test stores"), .timeLimit(.minutes(60)))
    func bucket() async throws {
        try await withOwnS3(.seaweedfs) { bucket in
            try await withSandbox(Self.options(.domain)) { mount in
                try bucket.use(for: mount)
                // (Four documents of up to 16 MiB, or parts, are under way at once: each must fit into one of its lives.)
                let killer = Killer(every: 20) {
                    bucket.server.kill()
                } start: {
                    try bucket.server.start()
                    // (It takes seconds; then it is up for as long as the others are.)
                    try waitUntil(30, "the server is up again") { FreePort.isOpen(bucket.port) }
                }
                // (Which takes longer than a read waits for a server that refuses connections.)
                let left = try Self.copy(mount, killer, out: "until rsync -a in/ \"$SCRATCH/out\"; do sleep 1; done") {
                    let there = mount.scratch + "/there"
                    let copied = try bucket.rclone(["copy", bucket.remote + "/in", there], folder: mount.scratch)
                    guard copied.succeeded else { throw HarnessError("rclone: \(copied)") }
                    try mount.run("diff -r \"$SCRATCH/in\" \"$SCRATCH/there\"", limit: 120)
                    return try bucket.rclone(["lsf", "-R", bucket.remote], folder: mount.scratch).stdout
                }
                #expect(!left.contains(".hydrant-"), "\(left)")
                print("nothing of Hydrant's own is left in the bucket")
            }
        }
    }

    /// - Parameters:
    ///   - largest: the size of the largest document, in megabytes.
    ///   - out: copies the folder `in` to `$SCRATCH/out`.
    ///   - check: compares what was copied in with what the store has.
    private static func copy<T>(
        _ mount: MountedStore, _ killer: Killer, largest: Int = .max, out: String = "cp -r in \"$SCRATCH/out\"",
        _ check: () throws -> T
    ) throws -> T {
        let (large, small) = (min(Self.megabytes / 2, largest), Self.megabytes * 8)
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
        try mount.mount()
        // Not faster than this network is: else all is over before the server dies.
        try mount.hydrant(["limit", mount.mountPoint, "--upload", "2M", "--download", "2M"]).require("limit")
        killer.begin()
        defer { killer.end() }
        try mount.run("cp -r \"$SCRATCH/in\" .", limit: 120 + Double(Self.megabytes))
        try mount.sync(limit: 120 + Double(Self.megabytes))
        let killedWhileSent = killer.count
        try mount.hydrant(["evict", mount.mountPoint + "/in"], limit: 60).require("evict")
        try mount.run(out, limit: 120 + Double(Self.megabytes))
        killer.end()
        try mount.run("diff -r \"$SCRATCH/in\" \"$SCRATCH/out\"", limit: 120)
        let result = try check()
        print(
            "server: killed \(killedWhileSent) times during the copy in, \(killer.count) times in all;",
            terminator: " ")
        #expect(killedWhileSent >= 2 && killer.count > killedWhileSent)
        return result
    }

    /// Kills a server every few seconds and starts it again a little later.
    private final class Killer: Sendable {
        private let kill: @Sendable () -> Void
        private let start: @Sendable () throws -> Void
        /// In seconds.
        private let period: Double
        private let state = Mutex((count: 0, isOver: false))
        private let done = DispatchSemaphore(value: 0)
        init(
            every period: Double = 4, kill: @escaping @Sendable () -> Void,
            start: @escaping @Sendable () throws -> Void
        ) {
            (self.period, self.kill, self.start) = (period, kill, start)
        }

        var count: Int { state.withLock { $0.count } }

        func begin() {
            Thread { [self] in
                while true {
                    usleep(UInt32(period * 1_000_000))
                    if state.withLock({ $0.isOver }) { break }
                    kill()
                    state.withLock { $0.count += 1 }
                    usleep(700_000)
                    do { try start() } catch { Issue.record("the server does not start again: \(error)") }
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
