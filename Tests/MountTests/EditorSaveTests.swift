import ControlAPI
import MountHarness
import Testing

/// Editors keep swap and lock files beside the document while it is open, and rename it away before they
/// write it anew. Each is open for longer than changes wait, so that what it keeps would be uploaded.
@Suite("Editors save: the document keeps its identity, and no temporary file of an editor reaches the store")
struct EditorSaveTests {
    static let open = ProgramSave.settle + 1
    static let original = ProgramSave.letter

    // Neither vim nor emacs makes backups in /tmp, where the tests are.
    static let backups = "(setq backup-enable-predicate (lambda (name) t))"

    static func inVim(_ name: String, _ settings: String = "", excluded: [String: String] = [:]) -> ProgramSave {
        .typed(
            "vim \(name)", "vim -c 'set backupskip= \(settings)' letter.txt",
            [
                .at("all is well", ":%s/Anna/Berta/" + Terminal.enter),
                .at("Berta", pause: open, ":wq" + Terminal.enter),
            ], excluded: excluded)
    }

    static func inNano(_ name: String, _ options: String = "", excluded: [String: String] = [:]) -> ProgramSave {
        .typed(
            "nano \(name)", "nano \(options) letter.txt",
            [
                .at("all is well", "My "),
                .at("My", pause: open, Terminal.control("O")),
                .at("Name to Write", Terminal.enter),
                .at("Wrote", Terminal.control("X")),
            ], content: "My " + original, excluded: excluded)
    }

    static func inEmacs(_ name: String, _ lisp: String = "t", more: [Terminal.Step] = []) -> ProgramSave {
        .typed(
            "emacs \(name)", "emacs -nw -Q --eval '(progn \(backups) \(lisp))' letter.txt",
            [.at("all is well", "My ")] + more + [
                .at("", pause: open, Terminal.control("X") + Terminal.control("S")),
                .at("Wrote", Terminal.control("X") + Terminal.control("C")),
            ], content: "My " + original, excluded: ["letter.txt~": original])
    }

    @Test(
        "vim",
        arguments: [
            inVim("as it comes: the document is renamed away, and what was it is removed at the end"),
            inVim("set backup: what was the document stays as a backup", "backup", excluded: ["letter.txt~": original]),
            inVim("set backupcopy=yes: in place", "backupcopy=yes"),
            inVim("set backup backupcopy=yes", "backup backupcopy=yes", excluded: ["letter.txt~": original]),
            inVim("set backupcopy=no", "backupcopy=no"),
            inVim("set nowritebackup", "nowritebackup"),
        ])
    func vim(_ save: ProgramSave) async throws { try await save.check() }

    @Test("nano", arguments: [inNano("as it comes"), inNano("-B", "-B", excluded: ["letter.txt~": original])])
    func nano(_ save: ProgramSave) async throws { try await save.check() }

    @Test(
        "emacs",
        arguments: [
            inEmacs("as it comes: the document becomes its backup"),
            inEmacs(
                "after it has saved by itself into #letter.txt#",
                more: [.at("", Terminal.escape + "xdo-auto-save" + Terminal.enter)]),
            inEmacs("copies for its backup", "(setq backup-by-copying t)"),
            inEmacs("writes another file and renames it", "(setq-default file-precious-flag t)"),
        ])
    func emacs(_ save: ProgramSave) async throws { try await save.check() }

    @Test("emacs --batch")
    func batch() async throws {
        try await ProgramSave(
            name: "emacs --batch",
            script:
                "emacs --batch -Q --eval '\(Self.backups)' letter.txt --eval '(progn (insert \"My \") (save-buffer))'",
            content: "My " + Self.original, excluded: ["letter.txt~": Self.original]
        ).check()
    }

    @Test("a new document in vim is created once, under its own name")
    func created() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            try mount.run(
                Terminal.script(
                    "vim new.txt",
                    [
                        .at("new.txt", "iHello" + Terminal.escape),
                        .at("", pause: Self.open, ":wq" + Terminal.enter),
                    ]), limit: 60)
            try mount.sync()
            #expect(mount.changes() == ["createItem new.txt"])
            #expect(try Seeding(mount.store).text("new.txt") == "Hello\n")
            #expect(try Seeding(mount.store).names() == ["letter.txt", "new.txt", "other.txt"])
            #expect(try Seeding(mount.mountPoint).names() == ["letter.txt", "new.txt", "other.txt"])
        }
    }

    @Test("vim is killed: its swap file stays on this machine, and recovers the work")
    func killed() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            // It goes down with its terminal, and keeps the swap file.
            let vim = try mount.start(
                Terminal.script(
                    "vim letter.txt",
                    [
                        .at("all is well", ":%s/Anna/Berta/ | preserve" + Terminal.enter),
                        .at("File preserved", pause: 60, ""),
                    ]))
            try waitUntil(30, "the swap file is there") {
                try Seeding(mount.mountPoint).names().contains(".letter.txt.swp")
                    && mount.run("grep -q Berta .letter.txt.swp && echo yes || true") == "yes\n"
            }
            vim.destroy()
            try mount.run("sleep \(Self.open)")
            try mount.sync()
            #expect(mount.changes() == [])
            #expect(try mount.status(".letter.txt.swp").excluded)
            #expect(try Seeding(mount.store).names() == ["letter.txt", "other.txt"])

            try mount.remount()
            try mount.run(
                Terminal.script("vim -r letter.txt", [.at("ENTER", Terminal.enter), .at("", ":wq!" + Terminal.enter)]),
                limit: 60)
            try mount.sync()
            #expect(try Seeding(mount.store).text("letter.txt") == "Dear Berta,\nall is well.\n")
        }
    }
}
