import ControlAPI
import MountHarness
import Testing

/// Programs whose files belong together: repositories and databases.
@Suite("Repositories and databases save")
struct RepositorySaveTests {
    @Test("git: init, commit, checkout, gc; a checkout changes documents and deletes none")
    func git() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            let before = try mount.status("letter.txt")
            try mount.run(
                """
                git init -q -b main .
                git config user.email a@b.c; git config user.name A; git config gc.auto 0
                git add .; git commit -q -m one
                printf 'Dear Berta,\\nall is well.\\n' > letter.txt
                git commit -q -a -m two
                """, limit: 40)
            try mount.sync()
            #expect(mount.changes().filter { $0.hasSuffix(" letter.txt") } == ["itemChanged letter.txt"])

            // It unlinks the document and writes it again.
            try mount.forgettingCalls { try mount.run("git checkout -q HEAD~1") }
            try waitUntil(20, "the letter is uploaded") { try !mount.status("letter.txt").modified }
            try mount.sync()
            #expect(mount.changes().filter { !$0.contains(" .git/") } == ["itemChanged letter.txt"])
            #expect(try mount.status("letter.txt").identifier == before.identifier)
            #expect(try Seeding(mount.store).text("letter.txt") == ProgramSave.letter)

            try mount.run("git checkout -q main; git gc -q; git fsck --strict --no-progress", limit: 40)
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.run("find .git/objects -type f ! -perm 444 ! -path '*/info/*'") == "")
            #expect(try mount.run("ls .git/objects/pack/*.pack | wc -l") == "1\n")
            #expect(try mount.run("git -C \"$STORE\" fsck --strict --no-progress 2>&1") == "")
            #expect(
                try mount.run("git -C \"$STORE\" log --format=%s; git -C \"$STORE\" status --porcelain") == "two\none\n"
            )
        }
    }

    @Test("each git object is one document, and its temporary names and locks never reach the store")
    func gitNames() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            try mount.run(
                """
                git init -q -b main .
                git config user.email a@b.c; git config user.name A; git config gc.auto 0
                git add .; git commit -q -m one
                """, limit: 40)
            try mount.sync()
            let created = mount.changes().filter { $0.hasPrefix("createItem ") }
            #expect(created.filter { $0.contains("/tmp_") || $0.hasSuffix(".lock") } == [])
            let objects = try mount.run("find .git/objects -type f -links 1 -perm 444 | wc -l")
            #expect(objects == "4\n")
            #expect(created.filter { $0.contains(" .git/objects/") && $0.split(separator: "/").count == 4 }.count == 4)
            #expect(mount.changes().filter { $0.hasPrefix("deleteItem") || $0.hasPrefix("moveItem") } == [])
        }
    }

    /// A database that the store has, with one row.
    static func withDatabase(_ journal: String, _ body: @escaping @Sendable (MountedStore, ItemStatus) throws -> Void)
        async throws
    {
        var options = ProgramSave.options
        // What is open is uploaded then, unless there is a reason against it.
        options.settleAfterSync = 0.5
        try await withMount(options, seed: ProgramSave.seed) { mount in
            try mount.run(
                "sqlite3 book.db 'PRAGMA journal_mode=\(journal); CREATE TABLE t(x); INSERT INTO t VALUES(1)'\nrm -f book.db-journal"
            )
            try mount.sync()
            try mount.forgettingCalls { try body(mount, mount.status("book.db")) }
        }
    }

    @Test(
        "sqlite3: one change of the database, its journal stays here",
        arguments: ["delete", "truncate", "persist", "wal"])
    func sqlite(_ journal: String) async throws {
        try await Self.withDatabase(journal) { mount, before in
            try mount.run("sqlite3 book.db 'PRAGMA journal_mode=\(journal); INSERT INTO t VALUES(2)'")
            try mount.sync()
            #expect(mount.changes().filter { $0.hasSuffix(" book.db") } == ["itemChanged book.db"])
            #expect(try mount.status("book.db").identifier == before.identifier)
            if journal == "delete" || journal == "wal" {
                #expect(mount.changes() == ["itemChanged book.db"])
                #expect(try Seeding(mount.store).names() == ["book.db", "letter.txt", "other.txt"])
            }
            #expect(
                try mount.run(
                    "sqlite3 -readonly \"file:$STORE/book.db?immutable=1\" 'PRAGMA integrity_check; SELECT x FROM t'")
                    == "ok\n1\n2\n")
        }
    }

    @Test("a database is uploaded after its journal is removed, not before", arguments: ["delete", "wal"])
    func openDatabase(_ journal: String) async throws {
        try await Self.withDatabase(journal) { mount, before in
            // In a transaction that has spilled into the file: the database alone is not whole.
            let writer = try mount.start(
                """
                exec python3 -uc '
                import os, sqlite3, time
                db = sqlite3.connect("book.db", isolation_level=None)
                db.execute("PRAGMA cache_size=2"); db.execute("PRAGMA wal_autocheckpoint=1")
                db.execute("BEGIN")
                for n in range(2, 400): db.execute("INSERT INTO t VALUES(?)", ("%d" % n * 200,))
                if "\(journal)" == "wal": db.execute("COMMIT")
                print("written")
                while not os.path.exists(os.environ["SCRATCH"] + "/go"): time.sleep(0.05)
                if "\(journal)" != "wal": db.execute("COMMIT")
                db.close()
                '
                """)
            try waitUntil(20, "it is written") { writer.stdout.contains("written") }
            try mount.run("ls book.db-\(journal == "wal" ? "wal" : "journal"); sleep \(2 * ProgramSave.settle)")
            #expect(mount.changes() == [])
            try mount.run("touch \"$SCRATCH/go\"")
            #expect(writer.wait(limit: 20).succeeded)
            try waitUntil(20, "the database is uploaded") { try !mount.status("book.db").modified }
            try mount.sync()
            #expect(mount.changes() == ["itemChanged book.db"])
            #expect(try mount.status("book.db").identifier == before.identifier)
            #expect(
                try mount.run(
                    "sqlite3 -readonly \"file:$STORE/book.db?immutable=1\" 'PRAGMA integrity_check; SELECT count(*) FROM t'"
                )
                    == "ok\n399\n")
        }
    }
}
