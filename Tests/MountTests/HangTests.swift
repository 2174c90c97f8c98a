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
    /// Whatever ends early on this one ends because of something else than the read time-out.
    private static let patient = MountOptions.with {
        $0.isAlone = true
        $0.readTimeout = 600
    }

    private static func withHangingStore(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore, pid_t) throws -> Void
    ) async throws {
        try await MountHarness.withHangingStore(
            options,
            seed: { store in
                try Seeding(store).file("doc.txt", "from far away\n")
                try Seeding(store).file("other.txt", "other\n")
            }, body)
    }

    @Test("a read that hangs is interrupted at once; the mount goes on; later the read works")
    func interrupt() async throws {
        try await Self.withHangingStore(Self.patient) { mount, lower in
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
            // Long before the read time-out.
            #expect(seconds < 60)
            kill(lower, SIGCONT)
            try waitUntil(10, "the document can be read") { try files.text("doc.txt") == "from far away\n" }
        }
    }

    @Test("a read without a byte for the read time-out ends with ETIMEDOUT")
    func timeout() async throws {
        try await Self.withHangingStore(.with { $0.readTimeout = 1 }) { mount, _ in
            let files = RealFileSystem(root: mount.mountPoint)
            var failure: Int32 = 0
            let seconds = elapsed { failure = errnoOf { () throws(FSError) in _ = try files.readAll("doc.txt") } }
            #expect(failure == ETIMEDOUT)
            #expect(seconds >= 0.9)
        }
    }

    @Test("writing goes on while the store hangs, and is sent when the store answers again")
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

    @Test(
        "64 hanging reads block nobody else, and each ends at once when interrupted",
        arguments: [true, false])
    func many(_ passthrough: Bool) async throws {
        var options = Self.patient
        options.passthrough = passthrough
        try await MountHarness.withHangingStore(
            options,
            seed: { store in
                for number in 0..<64 { try Seeding(store).file("far/\(number)", noise(200_000, seed: UInt64(number))) }
                try Seeding(store).file("near.txt", "near\n")
                try Seeding(store).file("folder/inner.txt", "inside\n")
            }, prepare: "ls -lR >/dev/null; cat near.txt >/dev/null"
        ) { mount, lower in
            let readers = try (0..<64).map { try mount.start("exec cat 'far/\($0)' >/dev/null") }
            // Behind those that have reached the store others wait for their turn.
            try waitUntil(10, "some reads have reached the provider") {
                mount.hookCalls().contains { $0.hook == .startProvidingItem }
            }
            usleep(500_000)
            #expect(readers.allSatisfy { $0.isRunning })
            for round in 0..<3 {
                let seconds = try elapsed {
                    let files = RealFileSystem(root: mount.mountPoint)
                    #expect(try files.text("near.txt") == "near\n")
                    #expect(try files.names() == ["far", "folder", "near.txt"] + (0..<round).map { "new \($0)" })
                    #expect(try files.names("far").count == 64 && files.stat("far/7").size == 200_000)
                    try files.put("new \(round)", "written")
                    try files.append("near.txt", "")
                    try files.synchronize("new \(round)")
                    #expect(try files.text("new \(round)") == "written")
                    try files.rename("folder/inner.txt", to: "folder/inner.txt")
                }
                #expect(seconds < 60)
            }
            let seconds = elapsed {
                for reader in readers { reader.signal(SIGINT) }
                for reader in readers { #expect(reader.wait(limit: 5).status == 128 + SIGINT) }
            }
            #expect(seconds < 60)
            kill(lower, SIGCONT)
            try waitUntil(10, "the documents can be read") {
                try mount.shell("diff -r far \"$STORE/far\"").succeeded
            }
        }
    }
}
