import Foundation
import MountHarness
import S3Harness
import Testing

/// A cluster of SeaweedFS with three volume servers, two of which have each object: they die while documents are copied
/// into a mount and out of it. `HYDRANT_TEST_CLUSTER_MB` says how much goes in each direction (default: 24).
@Suite("S3: servers of a cluster die")
struct ClusterTests {
    private static let megabytes =
        ProcessInfo.processInfo.environment["HYDRANT_TEST_CLUSTER_MB"].flatMap { Int($0) } ?? 24
    private static let options = MountOptions.with {
        $0.store = .domain
        $0.limit = 300 + 3 * Double(megabytes)
    }

    @Test(
        "nothing is lost, and programs get no error",
        .enabled(if: LongTests.areOn, "scripts/test stores"), .timeLimit(.minutes(30)))
    func deaths() async throws {
        try await withOwnS3(.cluster) { bucket in
            try await withSandbox(Self.options) { mount in
                try bucket.use(for: mount)
                try Self.prepare(mount)
                try mount.mount()
                // So that the copies take some seconds.
                Self.expect(try mount.hydrant(["limit", mount.mountPoint, "--upload", "3M", "--download", "3M"]))
                try Self.copyIn(mount, bucket)
                try Self.withoutRoom(mount, bucket)
                try Self.compare(mount, bucket)
                try Self.copyOut(mount, bucket)
            }
        }
    }

    private static func expect(_ result: ChildResult) { #expect(result.succeeded, "\(result)") }

    private static func prepare(_ mount: MountedStore) throws {
        let result = try mount.sandbox.run(
            [
                "bash", "-c",
                """
                set -e; cd "$SCRATCH"; mkdir -p in/small
                for i in 1 2 3; do head -c \(megabytes / 4)M /dev/urandom > in/large-$i; done
                for i in $(seq \(megabytes * 4)); do head -c 32768 /dev/urandom > in/small/$i; done
                """,
            ], limit: 120)
        expect(result)
    }

    /// One server dies for good while the copy is sent: the others take the rest.
    private static func copyIn(_ mount: MountedStore, _ bucket: S3TestBucket) throws {
        let began = ContinuousClock.now
        let copy = try mount.start("cp -r \"$SCRATCH/in\" .")
        try waitUntil(60, "some documents are sent") { try count(bucket) > 10 }
        bucket.server.kill(part: "volume-2")
        let sent = try count(bucket)
        expect(copy.wait(limit: 60 + Double(megabytes)))
        let status = try mount.hydrant(["status", mount.mountPoint])
        #expect(status.succeeded, "\(status)")
        let synced = try mount.hydrant(["sync", mount.mountPoint, "--timeout", "90"], limit: 100)
        let seconds = began.duration(to: .now) / .seconds(1)
        print(
            "cluster: a volume server died after \(sent) of \(megabytes * 4 + 3) documents were sent; the rest was sent",
            synced.succeeded ? "without it, \(Int(seconds)) s in all;" : "when it was back;", "the user saw:\n",
            status.stdout)
        // (What it has to take is nothing that the other two lack.)
        try bucket.server.start(part: "volume-2")
        try mount.sync(limit: 60)
        #expect(try count(bucket) == megabytes * 4 + 3)
    }

    /// With one server left nothing can be kept twice: a change waits until another one is back.
    private static func withoutRoom(_ mount: MountedStore, _ bucket: S3TestBucket) throws {
        for name in ["volume-1", "volume-3"] { bucket.server.kill(part: name) }
        try mount.run("echo late > in/late")
        let early = try mount.hydrant(["sync", mount.mountPoint, "--timeout", "5"])
        let status = try mount.hydrant(["status", mount.mountPoint, mount.mountPoint + "/in/late"])
        #expect(try mount.run("cat in/late") == "late\n")
        print("cluster: two of three servers are dead, sync says:", early.stdout, early.stderr, status.stdout)
        #expect(!early.succeeded, "\(early)")
        for name in ["volume-1", "volume-3"] { try bucket.server.start(part: name) }
        try mount.sync(limit: 90)
    }

    /// By another program, which reads what the cluster has.
    private static func compare(_ mount: MountedStore, _ bucket: S3TestBucket) throws {
        try mount.run("echo late > \"$SCRATCH/in/late\"")
        expect(try bucket.rclone(["copy", bucket.remote + "/in", mount.scratch + "/there"], folder: mount.scratch))
        try mount.run("diff -r \"$SCRATCH/in\" \"$SCRATCH/there\"", limit: 60)
    }

    /// One server dies while documents are read: another one has each of them.
    private static func copyOut(_ mount: MountedStore, _ bucket: S3TestBucket) throws {
        expect(try mount.hydrant(["evict", mount.mountPoint + "/in"], limit: 60))
        let began = ContinuousClock.now
        let copy = try mount.start("cp -r in \"$SCRATCH/out\"")
        let out = mount.scratch + "/out/small"
        try waitUntil(60, "some documents have arrived") {
            ((try? FileManager.default.contentsOfDirectory(atPath: out))?.count ?? 0) > 5
        }
        bucket.server.kill(part: "volume-1")
        expect(copy.wait(limit: 60 + 2 * Double(megabytes)))
        let seconds = began.duration(to: .now) / .seconds(1)
        try mount.run("diff -r \"$SCRATCH/in\" \"$SCRATCH/out\"", limit: 60)
        print("cluster: a volume server died during the copy out, which took \(Int(seconds)) s and is right")
    }

    private static func count(_ bucket: S3TestBucket) throws -> Int {
        let folder = bucket.server.directory
        let result = try bucket.rclone(["lsf", "-R", "--files-only", bucket.remote], folder: folder)
        return result.lines.count { !$0.contains(".hydrant-") }
    }
}
