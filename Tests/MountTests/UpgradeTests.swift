import ControlAPI
import Foundation
import MountHarness
import Testing

/// A newer Hydrant takes over a state directory with changes that are pending. `Tests/StateFixtures/state.py` says how the
/// fixture of a new schema is made: before its migration is written.
@Suite("Upgrades")
struct UpgradeTests {
    private static let fixtures =
        URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().path + "/StateFixtures"

    /// The schemas of which a state directory is kept.
    private static let schemas = (1...99).filter {
        FileManager.default.fileExists(atPath: "\(fixtures)/state-\($0).json")
    }

    private static func restore(_ schema: Int, _ mount: MountedStore) throws {
        let result = try mount.sandbox.run(
            [
                "/usr/bin/python3", "\(fixtures)/state.py", "restore", "\(fixtures)/state-\(schema).json", mount.store,
                mount.sandbox.state,
            ], limit: 20)
        guard result.succeeded else { throw HarnessError("state.py: \(result)") }
    }

    /// What the store must have once everything that was pending is sent.
    private static let expected = [
        "kept.txt": "kept as it was\nnever closed\n",
        "edited.txt": "edited as it was\nchanged\n",
        "new.txt": "new\n",
        "cut.txt": "",
        "made/inner.txt": "inner\n",
        "folder2/inner.txt": "folder/inner as it was\n",
        "folder2/moved.txt": "renamed as it was\n",
        "pinned.txt": "pinned as it was\n",
        "both.txt": "both as it was\ntheirs\n",
        "both (conflicted copy, vm, 2026-11-21).txt": "both as it was\nmine\n",
    ]
    private static let names = [
        "both (conflicted copy, vm, 2026-11-21).txt", "both.txt", "cut.txt", "edited.txt", "folder2", "kept.txt",
        "made",
        "new.txt", "partial.bin", "pinned.txt",
    ]

    @Test("changes that an older version left pending are there at once, and reach the store", arguments: schemas)
    func pendingChanges(_ schema: Int) async throws {
        try await withSandbox(.lateUploads) { mount in
            try Self.restore(schema, mount)
            try mount.mount()
            for (path, text) in Self.expected {
                #expect(try mount.run("cat '\(path)'") == text, "\(path), in the mount")
            }
            #expect(try mount.run("ls -A").split(separator: "\n").map(String.init).sorted() == Self.names)
            try mount.sync()
            let store = Seeding(mount.store)
            for (path, text) in Self.expected { #expect(try store.text(path) == text, "\(path), in the store") }
            #expect(try store.names() == Self.names)
            #expect(try mount.status("pinned.txt").pinned)
            try mount.requireSameAsStore()
            if schema >= 3 {
                let conflicts = try mount.hydrant(["conflicts", mount.mountPoint])
                #expect(conflicts.stdout.contains("both.txt"))
            }
            try mount.unmount()
            let doctor = try mount.hydrant(["doctor", "--store", mount.sandbox.state])
            #expect(doctor.succeeded, "\(doctor)")
        }
    }

    @Test("there is a kept state directory of every schema but the newest")
    func everySchema() async throws {
        try await withMount(seed: { _ in }) { mount in
            let text = try mount.sandbox.run(
                [
                    "/usr/bin/python3", "-c",
                    """
                    import sqlite3, sys
                    print(*sqlite3.connect(sys.argv[1]).execute('SELECT COUNT(*) FROM grdb_migrations').fetchone())
                    """, mount.sandbox.state + "/catalog.sqlite",
                ], limit: 20
            ).stdout
            let newest = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            #expect(Set(1..<newest).isSubset(of: Self.schemas))
        }
    }
}
