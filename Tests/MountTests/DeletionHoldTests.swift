import ControlAPI
import Foundation
import MountHarness
import Testing

/// The store deletes much at once, at a real mount.
@Suite("Held deletions")
struct DeletionHoldTests {
    private static func seed(_ store: String) throws {
        for index in 0..<40 { try Seeding(store).file("tree/doc\(index)", "text \(index)\n") }
        try Seeding(store).file("other", "other\n")
    }

    /// Everything looked at and 20 documents read; then the store has the tree no more.
    private static func withHeld(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(.with { $0.arguments = ["--read-ahead", "none"] }, seed: seed) { mount in
            try mount.run("ls -lR >/dev/null; for i in $(seq 0 19); do cat tree/doc$i; done >/dev/null")
            try mount.run("mv \"$STORE/tree\" \"$SCRATCH/tree\"")
            try waitUntil(20, "the deletion is held") {
                // (That bytes are here is written down a while after they came.)
                try held(mount)?.items == 41 && held(mount)?.incomplete == 20
            }
            try body(mount)
        }
    }

    private static func held(_ mount: MountedStore) throws -> HeldDeletionsStatus? {
        let result = try mount.hydrant(["status", "--json", "--mounts"])
        let domains = try JSONDecoder().decode([DomainStatus].self, from: Data(result.stdout.utf8))
        return try #require(domains.first { $0.mountPoint == mount.mountPoint }).heldDeletions
    }

    @Test("held deletions are shown with the commands to decide, and survive kill -9; --keep theirs carries them out")
    func theirs() async throws {
        try await Self.withHeld { mount in
            #expect(try mount.run("ls tree | wc -l; cat tree/doc3") == "40\ntext 3\n")
            let overview = try mount.overview().joined(separator: "\n")
            #expect(overview.contains("deletions held: the store has deleted 41 items"))
            #expect(overview.contains("hydrant resolve --keep theirs \(mount.mountPoint)"))
            #expect(try mount.status("tree/doc3").error?.contains("hydrant resolve") == true)
            #expect(try Self.held(mount)?.incomplete == 20)
            let read = try mount.shell("cat tree/doc30")
            #expect(!read.succeeded && read.stderr.contains("No such file"))
            let events = try mount.hydrant(["events", mount.mountPoint, "--last", "1000", "--no-follow"])
            #expect(events.stdout.contains("deletionsHeld"))
            try mount.kill9()
            try mount.mount()
            #expect(try Self.held(mount)?.items == 41)
            #expect(try mount.run("ls tree | wc -l; cat tree/doc3") == "40\ntext 3\n")
            let both = try mount.hydrant(["resolve", "--keep", "both", mount.mountPoint])
            #expect(both.status == 1 && both.stderr.contains("mine"))
            let one = try mount.hydrant(["resolve", "--keep", "theirs", mount.mountPoint + "/tree/doc3"])
            #expect(one.succeeded, "\(one)")
            #expect(try mount.run("ls tree | wc -l") == "39\n")
            let all = try mount.hydrant(["resolve", "--keep", "theirs", "--json", mount.mountPoint])
            #expect(all.succeeded && all.stdout.contains("\"items\" : 40"), "\(all)")
            try mount.requireSameAsStore()
            #expect(try Self.held(mount) == nil)
        }
    }

    @Test("--keep mine puts back the downloaded items, and names those that it cannot (status 1)")
    func mine() async throws {
        try await Self.withHeld { mount in
            let result = try mount.hydrant(["resolve", "--keep", "mine", mount.mountPoint])
            #expect(result.status == 1 && result.stderr.contains("20 items cannot be put back"), "\(result)")
            #expect(result.stdout.contains("21 items on the way back"))
            try mount.sync()
            #expect(try mount.run("ls \"$STORE/tree\" | wc -l; cat \"$STORE/tree/doc7\"") == "20\ntext 7\n")
            #expect(try mount.hydrant(["resolve", "--keep", "theirs", mount.mountPoint + "/tree"]).succeeded)
            try mount.requireSameAsStore()
        }
    }

    @Test("the hold ends when the store has everything again")
    func again() async throws {
        try await Self.withHeld { mount in
            try mount.run("mv \"$SCRATCH/tree\" \"$STORE/tree\"")
            try waitUntil(20, "nothing is held") { try Self.held(mount) == nil }
            #expect(try mount.run("cat tree/doc3 tree/doc30") == "text 3\ntext 30\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("--hold-deletions 100: nothing is held")
    func never() async throws {
        try await withMount(.with { $0.arguments = ["--hold-deletions", "100"] }, seed: Self.seed) { mount in
            try mount.run("ls -lR >/dev/null; rm -r \"$STORE/tree\"")
            try waitUntil(20, "it is gone") { try mount.run("ls") == "other\n" }
            #expect(try Self.held(mount) == nil)
        }
    }

    @Test("an invalid share is refused", arguments: ["-1", "101", "much", ""])
    func badShare(_ text: String) async throws {
        try await withSandbox { mount in
            let result = try mount.hydrant(mount.mountCommand(["--hold-deletions=\(text)"]))
            #expect(result.status == 64 && result.stderr.contains("--hold-deletions"), "\(result)")
        }
    }
}
