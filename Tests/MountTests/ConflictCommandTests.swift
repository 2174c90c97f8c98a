import ControlAPI
import Foundation
import MountHarness
import Testing

/// Listing what was kept twice, and ending it.
@Suite("hydrant conflicts, hydrant resolve")
struct ConflictCommandTests {
    private static func conflicts(_ mount: MountedStore) throws -> [ConflictStatus] {
        let result = try mount.hydrant(["conflicts", "--json", mount.mountPoint])
        guard result.succeeded else { throw HarnessError("conflicts: \(result)") }
        return try JSONDecoder().decode([ConflictStatus].self, from: Data(result.stdout.utf8))
    }

    /// `doc.txt`, changed on both sides.
    private static func withConflict(_ body: @escaping @Sendable (MountedStore, ConflictStatus) throws -> Void)
        async throws
    {
        try await withMount(.lateUploads) {
            try Seeding($0).file("doc.txt", "base\n")
            try Seeding($0).file("other.txt", "other\n")
        } _: { mount in
            try mount.run("echo mine > doc.txt")
            try Seeding(mount.store).file("doc.txt", "theirs, which is longer\n")
            try mount.sync()
            let all = try conflicts(mount)
            try #require(all.count == 1)
            try body(mount, all[0])
        }
    }

    private static func resolve(_ mount: MountedStore, _ path: String, _ keep: String) throws {
        let result = try mount.hydrant(["resolve", path, "--keep", keep])
        guard result.succeeded else { throw HarnessError("resolve: \(result)") }
        #expect(try conflicts(mount).isEmpty)
        #expect(try mount.hydrant(["conflicts", mount.mountPoint]).stdout == "no conflicts\n")
        try mount.sync()
        try mount.requireSameAsStore()
        #expect(try mount.hydrant(["doctor", mount.mountPoint]).succeeded)
    }

    @Test("a conflict is listed with both versions, time and reason; status counts it")
    func list() async throws {
        try await Self.withConflict { mount, conflict in
            #expect(conflict.original == mount.mountPoint + "/doc.txt")
            #expect(conflict.copy.hasPrefix(mount.mountPoint + "/doc (conflicted copy, "))
            #expect(conflict.reason == "bothChanged" && abs(conflict.moment - Date().timeIntervalSince1970) < 60)
            let text = try mount.hydrant(["conflicts", mount.mountPoint])
            #expect(text.succeeded && text.stdout.contains(conflict.copy) && text.stdout.contains(conflict.explanation))
            #expect(try mount.overview().joined().contains("1 conflict is unresolved"))
            // It outlives the daemon.
            try mount.remount()
            #expect(try Self.conflicts(mount) == [conflict])
        }
    }

    @Test(
        "--keep mine: the original, still the same document, gets the copy's bytes; either path can be given",
        arguments: [true, false])
    func mine(_ byOriginal: Bool) async throws {
        try await Self.withConflict { mount, conflict in
            let identifier = try mount.status("doc.txt").identifier
            try Self.resolve(mount, byOriginal ? conflict.original : conflict.copy, "mine")
            #expect(try mount.run("ls; cat doc.txt") == "doc.txt\nother.txt\nmine\n")
            #expect(try mount.status("doc.txt").identifier == identifier)
        }
    }

    @Test("--keep theirs: the copy is removed, here and in the store")
    func theirs() async throws {
        try await Self.withConflict { mount, conflict in
            try Self.resolve(mount, conflict.copy, "theirs")
            #expect(try mount.run("ls; cat doc.txt") == "doc.txt\nother.txt\ntheirs, which is longer\n")
        }
    }

    @Test("--keep both: only the record of the conflict is removed")
    func both() async throws {
        try await Self.withConflict { mount, conflict in
            try Self.resolve(mount, conflict.original, "both")
            let names = try Seeding(mount.store).names()
            #expect(names.count == 3)
        }
    }

    @Test("removing the copy by hand ends the conflict as well")
    func removed() async throws {
        try await Self.withConflict { mount, conflict in
            try mount.run("rm doc\\ *")
            #expect(try Self.conflicts(mount).isEmpty)
            #expect(try !mount.overview().joined().contains("unresolved"))
        }
    }

    @Test("a document without a conflict, and one that a program is writing, are refused in one line")
    func refused() async throws {
        try await Self.withConflict { mount, conflict in
            let none = try mount.hydrant(["resolve", mount.mountPoint + "/other.txt", "--keep", "mine"])
            #expect(none.status == 1 && none.stderr.contains("neither in conflict"))
            let writer = try mount.start("exec 3>> doc.txt; echo ready; exec sleep 600")
            try waitUntil(10, "it is open") { writer.stdout.contains("ready") }
            let busy = try mount.hydrant(["resolve", conflict.copy, "--keep", "mine"])
            #expect(busy.status == 1 && busy.stderr.contains("open for writing"))
            for result in [none, busy] { #expect(result.stderr.split(separator: "\n").count == 1) }
            #expect(try mount.hydrant(["resolve", conflict.copy, "--keep", "nonsense"]).status == 64)
            #expect(try Self.conflicts(mount) == [conflict])
            writer.signal(SIGKILL)
            _ = writer.wait(limit: 5)
        }
    }
}
