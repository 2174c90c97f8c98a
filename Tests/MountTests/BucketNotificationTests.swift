import Foundation
import HTTPTransport
import Logging
import MountHarness
import S3Harness
import Testing

@testable import S3Provider

/// The server of a bucket tells a mount of others' changes: Ceph's gateway (`scripts/test ceph`).
@Suite("S3: notifications", .enabled(if: S3ServerKind.tested.contains(.ceph), "only Ceph's gateway has them"))
struct BucketNotificationTests {
    private static let options = MountOptions.with {
        $0.store = .domain
        $0.limit = 150
        // Nothing is seen that the server does not tell of.
        $0.environment = ["HYDRANT_POLL": "3600"]
    }

    @Test("others' changes show within a second, and nothing is left at the server", .timeLimit(.minutes(5)))
    func changes() async throws {
        try await withS3(.ceph) { bucket in
            let other = try bucket.provider()
            try await withSandbox(Self.options) { mount in
                let port = try FreePort.find()
                try bucket.use(for: mount, "notifications = \"http://127.0.0.1:\(port)\"")
                let store = BucketFileSystem(other)
                try store.mkdir("shared")
                try store.put("shared/there", "there")
                try mount.mount()
                #expect(try mount.run("cat shared/there; ls") == "thereshared\n")
                try waitUntil(30, "the mount has subscribed") { try mount.logLines(with: "tells of changes") > 0 }
                #expect(try blocking { try await Self.configuration(other) }.contains("TopicConfiguration"))
                // A new queue of the server's is looked at after a while.
                try store.put("shared/first", "1")
                try waitUntil(60, "the first change shows") { try Self.shows(mount, "shared/first", "1") }
                var slowest = 0.0
                func measure(_ what: String, _ act: () throws -> Void, _ isSeen: () throws -> Bool) throws {
                    try act()
                    let start = ContinuousClock.now
                    try waitUntil(20, "\(what) shows", isSeen)
                    slowest = max(slowest, start.duration(to: .now) / .seconds(1))
                }
                for number in 0..<5 {
                    try measure("a new document") {
                        try store.put("shared/doc \(number)", "new")
                    } _: {
                        try Self.shows(mount, "shared/doc \(number)", "new")
                    }
                    try measure("a change") {
                        try store.put("shared/doc \(number)", "changed")
                    } _: {
                        try Self.shows(mount, "shared/doc \(number)", "changed")
                    }
                    try measure("a deletion") {
                        try store.unlink("shared/doc \(number)")
                    } _: {
                        try !mount.shell("ls 'shared/doc \(number)'").succeeded
                    }
                    try measure("a new folder") {
                        try store.mkdir("shared/folder \(number)")
                        try store.put("shared/folder \(number)/within", "w")
                    } _: {
                        try Self.shows(mount, "shared/folder \(number)/within", "w")
                    }
                }
                print("notifications: 20 changes of another client, the slowest showed after \(slowest) s")
                #expect(slowest < 1 * patience)
                try mount.unmount()
                #expect(try blocking { try await Self.configuration(other) }.contains("TopicConfiguration") == false)
            }
            await other.invalidate()
        }
    }

    @Test("a taken port: the mount works, and says so in its log", .timeLimit(.minutes(2)))
    func taken() async throws {
        try await withS3(.ceph) { bucket in
            try await withSandbox(Self.options) { mount in
                // (The gateway's own.)
                try bucket.use(for: mount, "notifications = \"http://127.0.0.1:\(bucket.port)\"")
                try mount.mount()
                try mount.run("echo ours > doc")
                try mount.sync()
                try waitUntil(20, "it is in the log") { try mount.logLines(with: "cannot tell of changes") > 0 }
            }
        }
    }

    private static func shows(_ mount: MountedStore, _ path: String, _ text: String) throws -> Bool {
        let found = try mount.shell("cat '\(path)'")
        return found.succeeded && found.stdout == text
    }

    /// The bucket's notifications, as the server has them.
    private static func configuration(_ provider: S3Provider) async throws -> String {
        let request = S3Client.Request(method: "GET", query: [("notification", nil)], retries: .always)
        let outcome = try await provider.client.exchange(request) { reply -> String in
            String(decoding: try await reply.prefix(64 << 10), as: UTF8.self)
        }
        guard case .success(let text) = outcome else { throw HarnessError("no notifications: \(outcome)") }
        return text
    }
}
