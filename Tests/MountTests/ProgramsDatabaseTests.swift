import MountHarness
import Testing

@Suite("Programs: sqlite3")
struct ProgramsDatabaseTests {
    /// Moves money about in `book.db`; the sum stays. With a third argument it is killed in its last transaction.
    private static let writer = """
        cat > "$SCRATCH/writer.py" <<'PYTHON'
        import os, random, signal, sqlite3, sys
        number, count, is_killed = int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
        dice = random.Random(number)
        db = sqlite3.connect("book.db", timeout=60, isolation_level=None)
        db.execute("PRAGMA cache_size=5")
        for turn in range(count):
            db.execute("BEGIN IMMEDIATE")
            one, other, cents = dice.randrange(1, 101), dice.randrange(1, 101), dice.randrange(50)
            db.execute("UPDATE account SET cents = cents - ? WHERE id = ?", (cents, one))
            db.execute("UPDATE account SET cents = cents + ? WHERE id = ?", (cents, other))
            bytes = dice.randbytes(dice.randrange(9000))
            db.execute("INSERT INTO log(note, bytes) VALUES(?, ?)", ("%d.%d" % (number, turn), bytes))
            if is_killed and turn == count - 1:
                db.execute("UPDATE account SET cents = cents + 1000000")
                db.execute("INSERT INTO log(note, bytes) VALUES('never', zeroblob(500000))")
                os.kill(os.getpid(), signal.SIGKILL)
            db.execute("COMMIT")
        db.close()
        PYTHON

        """

    @Test(
        "three writers at once, one that is killed in a transaction, vacuum, backup",
        arguments: ["delete", "wal"], ProgramsWorkload.usualModes)
    func database(_ journal: String, _ options: MountOptions) async throws {
        try await ProgramsWorkload(
            prepare: Self.writer,
            work: """
                sqlite3 book.db 'PRAGMA journal_mode=\(journal); CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER);
                    CREATE TABLE log(id INTEGER PRIMARY KEY, note TEXT, bytes BLOB);
                    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<100)
                    INSERT INTO account SELECT x, 1000 FROM n' >/dev/null
                for n in 1 2 3; do python3 "$SCRATCH/writer.py" $n 30 & running="$running $!"; done
                for job in $running; do wait $job; done
                if python3 "$SCRATCH/writer.py" 4 10 killed 2>/dev/null; then exit 1; fi
                [ \(journal) = wal ] || ls book.db-journal
                # Who opens it next puts it right.
                [ "$(sqlite3 book.db 'SELECT sum(cents), count(*) FROM log, account WHERE note = "4.8"')" = '100000|100' ]
                sqlite3 book.db 'DELETE FROM log WHERE id % 3 = 0; VACUUM'
                sqlite3 book.db "VACUUM INTO 'copy.db'"; sqlite3 book.db '.backup backup.db'
                sqlite3 book.db .dump | gzip > dump.sql.gz
                python3 "$SCRATCH/writer.py" 5 10
                """,
            check: """
                for name in book copy backup; do sqlite3 -readonly "file:$name.db?immutable=1" 'PRAGMA integrity_check;
                    SELECT sum(cents) FROM account; SELECT count(*), count(DISTINCT note), sum(note = "never") FROM log'
                done
                gzip -dc dump.sql.gz | sqlite3 :memory: -cmd '.read /dev/stdin' 'SELECT sum(cents) FROM account'
                ls -A
                """,
            says: """
                ok
                100000
                76|76|0
                ok
                100000
                66|66|0
                ok
                100000
                66|66|0
                100000
                backup.db
                book.db
                copy.db
                dump.sql.gz

                """
        ).run(options)
    }
}
