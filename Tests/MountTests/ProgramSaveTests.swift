import ControlAPI
import MountHarness
import Testing

/// Programs without a person in front of them: they replace the document, by renaming another file over it,
/// or by removing it and writing it again.
@Suite("Programs save: one change of the document, for each way to replace it")
struct ProgramSaveTests {
    static let original = ProgramSave.letter
    static let new = "This is new.\n"
    /// Another version of the letter, elsewhere.
    static let source = "mkdir \"$SCRATCH/s\"; printf 'This is new.\\n' > \"$SCRATCH/s/letter.txt\"\n"

    /// What the document is replaced by comes from another file system.
    static func replacing(
        _ name: String, _ script: String, excluded: [String: String] = [:]
    ) -> ProgramSave {
        // Who backs up what nobody has read is another test's.
        ProgramSave(
            name: name, script: source + script, isRead: !excluded.isEmpty, content: new, excluded: excluded)
    }

    @Test(
        "filters that edit in place",
        arguments: [
            ProgramSave(name: "sed -i", script: "sed -i s/Anna/Berta/ letter.txt"),
            // Not an editor's name: a document like any other. But the letter is not *moved* there.
            ProgramSave(
                name: "sed -i.bak", script: "sed -i.bak s/Anna/Berta/ letter.txt",
                documents: ["letter.txt.bak": original]),
            ProgramSave(
                name: "sed -i~", script: "sed -i~ s/Anna/Berta/ letter.txt", excluded: ["letter.txt~": original]),
            ProgramSave(name: "perl -i", script: "perl -i -pe s/Anna/Berta/ letter.txt"),
            // Links the document to the backup's name, and renames over the document.
            ProgramSave(
                name: "perl -i.bak", script: "perl -i.bak -pe s/Anna/Berta/ letter.txt",
                documents: ["letter.txt.bak": original]),
            ProgramSave(
                name: "perl -i~", script: "perl '-i*~' -pe s/Anna/Berta/ letter.txt",
                excluded: ["letter.txt~": original]),
            ProgramSave(
                name: "python, in place",
                script: "python3 -c 'open(\"letter.txt\", \"r+\").write(\"Dear Berta,\\nall is well.\\n\")'"),
        ])
    func filter(_ save: ProgramSave) async throws { try await save.check() }

    @Test(
        "rsync",
        arguments: [
            replacing("-a", "rsync -a \"$SCRATCH/s/\" ."),
            replacing("without options", "rsync \"$SCRATCH/s/letter.txt\" ."),
            replacing("--inplace", "rsync -a --inplace \"$SCRATCH/s/\" ."),
            replacing("--delay-updates", "rsync -a --delay-updates \"$SCRATCH/s/\" ."),
            // Links the document to the backup's name.
            replacing("-ab", "rsync -ab \"$SCRATCH/s/\" .", excluded: ["letter.txt~": original]),
        ])
    func rsync(_ save: ProgramSave) async throws { try await save.check() }

    @Test(
        "copies over the document",
        arguments: [
            replacing("cp", "cp \"$SCRATCH/s/letter.txt\" letter.txt"),
            replacing("cp -a", "cp -a \"$SCRATCH/s/letter.txt\" letter.txt"),
            replacing(
                "cp -b", "cp -b \"$SCRATCH/s/letter.txt\" letter.txt", excluded: ["letter.txt~": original]),
            replacing("cp --remove-destination", "cp --remove-destination \"$SCRATCH/s/letter.txt\" letter.txt"),
            replacing("mv from another file system", "mv \"$SCRATCH/s/letter.txt\" letter.txt"),
            replacing("install", "install -m 644 \"$SCRATCH/s/letter.txt\" letter.txt"),
            replacing("tar x", "tar -C \"$SCRATCH/s\" -c letter.txt | tar x"),
            replacing("tar x --overwrite", "tar -C \"$SCRATCH/s\" -c letter.txt | tar x --overwrite"),
            replacing("tar x --unlink-first", "tar -C \"$SCRATCH/s\" -c letter.txt | tar x --unlink-first"),
        ])
    func copy(_ save: ProgramSave) async throws { try await save.check() }

    // As gedit and the GNOME editors do: g_file_replace(). It opens the document for writing first, and
    // closes it as it was.
    @Test(
        "GLib",
        arguments: [
            replacing("gio save", "gio save letter.txt < \"$SCRATCH/s/letter.txt\""),
            replacing(
                "gio save --backup", "gio save --backup letter.txt < \"$SCRATCH/s/letter.txt\"",
                excluded: ["letter.txt~": original]),
            replacing("gio copy", "gio copy \"$SCRATCH/s/letter.txt\" letter.txt"),
        ])
    func glib(_ save: ProgramSave) async throws {
        var save = save
        save.script = "export GIO_USE_VFS=local\n" + save.script
        try await save.check()
    }

    // Their old bytes are only in the store when the new ones are to go there.
    @Test(
        "a backup of a placeholder: nothing is lost",
        arguments: [
            "cp -b \"$SCRATCH/s/letter.txt\" letter.txt", "rsync -ab \"$SCRATCH/s/\" .",
            "gio save --backup letter.txt < \"$SCRATCH/s/letter.txt\"",
            "mv letter.txt letter.txt~; cp -r \"$SCRATCH/s/.\" .",
        ])
    func backupOfPlaceholder(_ script: String) async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            let before = try mount.status("letter.txt")
            try mount.run("export GIO_USE_VFS=local\n" + Self.source + script)
            try mount.sync()
            #expect(try Seeding(mount.store).text("letter.txt") == Self.new)
            #expect(try Seeding(mount.mountPoint).text("letter.txt") == Self.new)
            #expect(try Seeding(mount.mountPoint).text("letter.txt~") == Self.original)
            try mount.remount()
            #expect(try Seeding(mount.mountPoint).text("letter.txt~") == Self.original)
            let after = try mount.status("letter.txt")
            #expect(after.identifier == before.identifier)
            #expect(try !Seeding(mount.store).names().contains("letter.txt~"))
        }
    }

    @Test("a document opened for writing and closed unchanged is not uploaded")
    func unwritten() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            let before = try mount.status("letter.txt")
            try mount.run("python3 -c 'open(\"letter.txt\", \"r+\").close()'; exec 3<>other.txt")
            try mount.run("sleep \(ProgramSave.settle + 1)")
            try mount.sync()
            #expect(mount.changes() == [])
            #expect(try mount.status("letter.txt").version == before.version)
        }
    }

    @Test("a document removed and not written again is deleted, after the settle time")
    func removed() async throws {
        try await withMount(ProgramSave.options, seed: ProgramSave.seed) { mount in
            try mount.run("rm letter.txt; mv other.txt another.txt")
            try waitUntil(20, "the store has neither name") {
                try Seeding(mount.store).names() == ["another.txt"]
            }
            #expect(mount.changes().contains("deleteItem letter.txt"))
            #expect(mount.changes().filter { $0.hasPrefix("moveItem") }.count == 1)
            #expect(mount.changes().count == 2)
        }
    }
}
