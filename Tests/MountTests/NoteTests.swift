import ControlAPI
import Foundation
import MountHarness
import Testing

/// `hydrant-note` in a terminal, with others at the same document.
@Suite("The example editor in a terminal")
struct NoteTests {
    /// A terminal with the editor in it for the body.
    private func note(
        _ mount: MountedStore, _ path: String, suffix: String = "", _ body: (TerminalSession) throws -> Void
    ) throws {
        // (The editor draws on its standard output.)
        let command =
            "sh -c 'exec \"$(dirname \"$HYDRANT\")/hydrant-note\" \"$MOUNT/\(path)\" >/dev/tty 2>\"$SCRATCH/errors\"'"
        let terminal = try TerminalSession(mount, command, rows: 10, suffix: suffix)
        defer { terminal.end() }
        try body(terminal)
    }

    private func with(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(.with { $0.limit = 120 }, seed: FileCoordinatorTests.seed, body)
    }

    private func wait(_ mount: MountedStore, for text: String, in path: String = "a.txt") throws {
        try waitUntil(20, "\(path) has the text") { try mount.run("cat \(path)") == text }
    }

    @Test("a note is made, typed, autosaved and saved by a key, and found again; the terminal is restored")
    func types() async throws {
        try await with { mount in
            try note(mount, "new.txt") { terminal in
                try terminal.until("new.txt", "normal", "a new note", "^S: save")
                try terminal.type("Grüße, 你好!")
                try terminal.send("Enter")
                try terminal.type("second\tline")
                try terminal.until("Grüße, 你好!", "new.txt *")
                // By itself.
                try wait(mount, for: "Grüße, 你好!\nsecond\tline", in: "new.txt")
                try terminal.until("new.txt   normal")
                try terminal.send("Up", "Home", "Delete", "End", "BSpace", "Left", "Right", "Enter", "BSpace")
                try terminal.type("?")
                try terminal.send("C-s")
                try terminal.until("rüße, 你好?", "saved")
                #expect(try mount.run("cat new.txt") == "rüße, 你好?\nsecond\tline")
                try terminal.send("PageDown")
                try terminal.type("!")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
            #expect(try mount.run("cat new.txt").contains("!"), "what was typed last is saved on the way out")
            try note(mount, "new.txt") { terminal in
                try terminal.until("rüße, 你好?", "normal", without: "a new note")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("two editors on one document: text typed in one shows in the other")
    func two() async throws {
        try await with { mount in
            try note(mount, "a.txt", suffix: "1") { first in
                try first.until("first", "normal")
                try note(mount, "a.txt", suffix: "2") { second in
                    try second.until("first", "normal")
                    try first.type("one ")
                    try second.until("one first", "normal")
                    try second.send("Down")
                    try second.type("two")
                    try first.until("one first\ntwo", "normal")
                    // A reader gets what was typed a moment ago.
                    try first.type("now ")
                    try first.until("now ")
                    #expect(try mount.run("\"$HYDRANT\" coordinate --read a.txt -- cat {}").contains("now "))
                    for terminal in [first, second] {
                        try terminal.send("C-q")
                        #expect(try terminal.result().status == "0")
                    }
                }
            }
        }
    }

    @Test("a save by vim in between is shown, and typing continues from there")
    func vim() async throws {
        try await with { mount in
            let identifier = try mount.status("a.txt").identifier
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                try mount.run("vim -Nu NONE -es -c 's/first/from vim/' -c wq a.txt </dev/null")
                try terminal.until("from vim", "normal")
                try terminal.type("here and ")
                try terminal.send("C-s")
                try terminal.until("here and from vim", "saved")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
            #expect(try mount.run("cat a.txt; ls -A") == "here and from vim\na.txt\nb.txt\nfolder\n")
            try mount.sync()
            #expect(try mount.status("a.txt").identifier == identifier)
            try mount.requireSameAsStore()
        }
    }

    @Test("a conflict is shown, and resolved by a key", arguments: ["C-k", "C-t", "C-b"])
    func conflict(_ key: String) async throws {
        try await with { mount in
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                // (If the note has saved itself before vim comes, there is none.)
                for round in 1...10 {
                    try terminal.type("mine ")
                    try mount.run("echo theirs \(round) > a.txt")
                    var screen = ""
                    try waitUntil(20, "it hears of that") {
                        screen = try terminal.screen()
                        return screen.contains("in conflict") || screen.contains("theirs \(round)")
                    }
                    if screen.contains("in conflict") { break }
                }
                try terminal.until("mine ", "in conflict", "Two versions. Keep ^K: mine  ^T: theirs  ^B: both")
                #expect(try mount.hydrant(["conflicts", mount.mountPoint]).stdout.contains("/a.txt\n"))
                try terminal.send(key)
                try terminal.until("normal", "kept", without: "Two versions")
                let copies = try mount.run("ls | grep -c conflicted || true")
                let isMine = key == "C-k"
                try terminal.until(isMine ? "mine " : "theirs")
                #expect(try mount.run("cat a.txt").hasPrefix(isMine ? "mine " : "theirs"))
                #expect(copies == (key == "C-b" ? "1\n" : "0\n"))
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
        }
    }

    @Test("offline: downloaded notes are edited and saved, and sent later; a placeholder says why it cannot be opened")
    func offline() async throws {
        try await with { mount in
            try mount.run("cat a.txt; mv \"$STORE\" \"$STORE.away\"")
            try note(mount, "b.txt") { terminal in
                let status = try terminal.result().status
                #expect(status == "1")
                #expect(try mount.run("cat \"$SCRATCH/errors\"").contains("b.txt"))
            }
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                try terminal.type("offline, ")
                try terminal.send("C-s")
                try terminal.until("offline, first", "normal", "saved")
                try mount.run("mv \"$STORE.away\" \"$STORE\"")
                try mount.sync()
                #expect(try mount.run("cat \"$STORE/a.txt\"") == "offline, first\n")
                try terminal.until("offline, first", "normal", without: "conflict")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
        }
    }

    @Test("a download shows its progress; a note deleted meanwhile can be saved again")
    func progressAndDeletion() async throws {
        try await with { mount in
            try Seeding(mount.store).file("large.txt", String(repeating: "0123456789abcde\n", count: 8_000))
            try mount.run("ls >/dev/null; \"$HYDRANT\" limit --download 64K \"$MOUNT\"")
            try note(mount, "large.txt") { terminal in
                // (It changes all the time.)
                try waitUntil(20, "it downloads") { try terminal.screen().contains("large.txt: downloading, ") }
                try terminal.until("0123456789abcde\n0123456789abcde", "normal", seconds: 60)
                try mount.run("rm large.txt")
                try terminal.until("large.txt", "closed")
                try terminal.type("x")
                try terminal.until("the note is gone; ^S saves it again")
                try terminal.send("C-s")
                try terminal.until("normal", "saved")
                #expect(try mount.run("head -n 1 large.txt") == "0123456789abcde\n")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
        }
    }

    @Test(
        "only a second ^Q soon after the first discards unsaved text; a taken name is not overwritten"
    )
    func givesUp() async throws {
        try await with { mount in
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                try mount.run("echo x > b.txt; rm a.txt")
                try terminal.until("closed")
                try terminal.send("C-q")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0", "there is nothing to be lost")
            }
            try note(mount, "b.txt") { terminal in
                try terminal.until("x", "normal")
                try terminal.type("typed ")
                try mount.run("rm b.txt; sleep 1; echo another > b.txt")
                try terminal.until("typed x", "b.txt *", "closed")
                for _ in 1...2 {
                    try terminal.send("C-q")
                    try terminal.until("the note is gone; ^S saves it again; ^Q again discards")
                    try terminal.send("Left")
                    try terminal.until("closed", without: "discards")
                }
                try terminal.send("C-s")
                try terminal.until("b (conflicted", "saved", "normal")
                #expect(try mount.run("cat b.txt; cat b*conflicted*") == "another\ntyped x\n")
                try terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
        }
    }

    @Test("on SIGHUP and SIGTERM the typed text is saved", arguments: ["HUP", "TERM", "terminal"])
    func ends(_ how: String) async throws {
        try await with { mount in
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                let pid = try mount.run("pgrep -f \"hydrant-note $MOUNT/a.txt\" | tail -n 1").trimmingCharacters(
                    in: .newlines)
                try terminal.type("typed ")
                // (A terminal that ends takes with it the keys that no program has read.)
                try terminal.until("typed first")
                if how == "terminal" { terminal.end() } else { try mount.run("kill -\(how) \(pid)") }
                try wait(mount, for: "typed first\n")
                try waitUntil(20, "it ends") { try mount.run("[ -e /proc/\(pid) ] || echo gone") == "gone\n" }
            }
        }
    }

    @Test("while another program holds the document, a save waits, and ^Q does not")
    func held() async throws {
        try await with { mount in
            try note(mount, "a.txt") { terminal in
                try terminal.until("first", "normal")
                let other = try mount.start("exec \"$HYDRANT\" coordinate --write a.txt -- sleep 100")
                defer { kill(other.pid, SIGTERM) }
                try terminal.type("typed ")
                try terminal.until("editing disabled")
                try terminal.send("C-s")
                try terminal.send("C-q")
                try terminal.until("a moment")
                try terminal.send("C-q")
                // (If nothing was typed before the other one had it, there is nothing to be saved.)
                try waitUntil(20, "it gives up, or ends") {
                    try terminal.screen().contains("discards")
                        || FileManager.default.fileExists(atPath: mount.scratch + "/status")
                }
                try? terminal.send("C-q")
                #expect(try terminal.result().status == "0")
            }
            #expect(try mount.run("cat a.txt") == "first\n")
        }
    }
}
