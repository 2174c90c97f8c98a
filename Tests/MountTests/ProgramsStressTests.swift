import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// stress-ng's file stressors, each of which checks what it reads. A failure that ext4 does not have counts.
@Suite("Programs: stress-ng")
struct ProgramsStressTests {
    struct Family: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Options of stress-ng, one stressor each.
        var stressors: [String]
    }

    static let families = [
        Family(
            testDescription: "contents",
            stressors: [
                "hdd 2 --hdd-bytes 16m", "copy-file 1 --copy-file-bytes 128m", "fallocate 2 --fallocate-bytes 16m",
                "fpunch 2",
                "iomix 1 --iomix-bytes 16m", "seek 2 --seek-size 4m", "sendfile 2 --sendfile-size 1m", "splice 2",
                "readahead 1 --readahead-bytes 8m", "aio 2", "sync-file 2 --sync-file-bytes 4m",
                "revio 2 --revio-bytes 8m",
            ]),
        Family(
            testDescription: "names",
            stressors: [
                "dentry 2 --dentries 256", "dir 2 --dir-dirs 256", "dirdeep 1 --dirdeep-inodes 256", "dirmany 1",
                "filename 1",
                "getdent 2", "link 2", "mknod 2", "rename 2", "symlink 2", "touch 2", "chdir 1 --chdir-dirs 256",
            ]),
        Family(
            testDescription: "attributes",
            stressors: [
                "access 2", "chattr 2", "chmod 2", "chown 2", "file-ioctl 2", "fstat 1", "fsize 2", "handle 1",
                "inode-flags 2", "utime 2", "verity 1", "xattr 2",
            ]),
        Family(
            testDescription: "locks and watches",
            stressors: [
                "dnotify 1", "fanotify 1", "fcntl 2", "flock 2", "inotify 2", "lease 2", "locka 2", "lockf 2",
                "lockofd 2",
                "sigio 1",
            ]),
        Family(
            testDescription: "mappings",
            stressors: [
                "mmap 2 --mmap-file --mmap-bytes 4m", "mmap 1 --mmap-file --mmap-async --mmap-bytes 2m",
                "msync 2 --msync-bytes 2m",
                "mincore 1", "fault 2", "fiemap 1 --fiemap-bytes 8m", "flushcache 1",
            ]),
    ]

    private static func stress(_ stressor: String, in place: String, _ mount: MountedStore) throws -> ChildResult {
        try mount.sandbox.run(
            ["bash", "-c", "cd /; exec stress-ng --temp-path \"\(place)\" --timeout 1s --verify --\(stressor)"],
            environment: mount.environment, limit: 60)
    }

    @Test(
        "each stressor verifies its results; the daemon lives, and removed files are gone in the store",
        arguments: families)
    func verified(_ family: Family) async throws {
        try await withMount(.with { $0.limit = 300 }) { mount in
            let daemon = try mount.daemonPID()
            for stressor in family.stressors {
                let here = try Self.stress(stressor, in: mount.mountPoint, mount)
                guard !here.succeeded else { continue }
                let elsewhere = try Self.stress(stressor, in: mount.scratch, mount)
                #expect(!elsewhere.succeeded, "stress-ng --\(stressor): \(here)")
            }
            #expect(try mount.daemonPID() == daemon && MountedStore.isAlive(daemon))
            try mount.sync(limit: 60)
            try mount.requireSameTree(attributesMayBeRefused: true)
            let left = try Seeding(mount.store).names()
            #expect(left == [])
        }
    }

    // What is left over then is of all kinds, and some of it was being written.
    @Test(
        "all stressors at once are killed: their files are in the store, and can be read again when nothing is downloaded",
        arguments: families)
    func killed(_ family: Family) async throws {
        try await withMount(.with { $0.limit = 300 }) { mount in
            let daemon = try mount.daemonPID()
            // One worker each: some stressors would fill the disk, or the mount, with twenty.
            let stressors = Dictionary(
                family.stressors.map { text in
                    let words = text.split(separator: " ")
                    return (words[0], "--\(words[0]) 1 " + words.dropFirst(2).joined(separator: " "))
                }, uniquingKeysWith: { first, _ in first })
            let stress = try mount.sandbox.spawn(
                [
                    "bash", "-c",
                    "cd /; exec stress-ng --temp-path \"$MOUNT\" --timeout 100s "
                        + stressors.values.joined(separator: " "),
                ],
                environment: mount.environment)
            usleep(2_500_000)
            #expect(stress.isRunning)
            stress.destroy()
            // One that was killed may be in the middle of a call for a while.
            try waitUntil(30, "all of them have ended") { !stress.hasLivingGroup }
            #expect(try mount.daemonPID() == daemon && MountedStore.isAlive(daemon))
            try mount.sync(limit: 120)
            try mount.requireSameTree(attributesMayBeRefused: true)
            try mount.evictAll()
            try mount.remount()
            try mount.requireSameTree(attributesMayBeRefused: true)
        }
    }
}
