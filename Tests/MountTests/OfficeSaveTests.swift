import ControlAPI
import Foundation
import MountHarness
import Testing

enum Office {
    // Python's part is one file in a place that differs; its own Python finds it.
    static let isInstalled: Bool = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/soffice") }
            && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/uno.py")
    }()
}

/// LibreOffice without a window. It is large, so these are for machines that have it.
@Suite("LibreOffice saves", .enabled(if: Office.isInstalled, "soffice and python3-uno are not installed"))
struct OfficeSaveTests {
    static let office =
        "soffice -env:UserInstallation=\"file://$SCRATCH/office\" --headless --norestore --nologo --nodefault"
    static var options: MountOptions {
        var options = ProgramSave.options
        options.limit = 240
        return options
    }

    @Test("converting into the mount creates one document, then changes it", .timeLimit(.minutes(20)))
    func convert() async throws {
        try await withMount(Self.options, seed: ProgramSave.seed) { mount in
            let convert = "\(Self.office) --convert-to odt --outdir \"$MOUNT\" \"$SCRATCH/letter.txt\" >/dev/null 2>&1"
            try mount.run("cp letter.txt \"$SCRATCH\"; cd /; \(convert)", limit: 100)
            try mount.sync()
            #expect(mount.changes() == ["createItem letter.odt"])
            let before = try mount.status("letter.odt")
            #expect(try Seeding(mount.store).names() == ["letter.odt", "letter.txt", "other.txt"])

            try mount.forgettingCalls {
                try mount.run("echo more >> \"$SCRATCH/letter.txt\"; cd /; \(convert)", limit: 100)
            }
            try waitUntil(20, "it is uploaded") { try !mount.status("letter.odt").modified }
            try mount.sync()
            #expect(mount.changes() == ["itemChanged letter.odt"])
            #expect(try mount.status("letter.odt").identifier == before.identifier)
            try mount.requireSameAsStore()
        }
    }

    @Test("saving an open document: its lock file stays here, the document changes once", .timeLimit(.minutes(20)))
    func save() async throws {
        try await withMount(Self.options, seed: ProgramSave.seed) { mount in
            try mount.run(
                "cd /; \(Self.office) --convert-to odt --outdir \"$MOUNT\" \"$MOUNT/letter.txt\" >/dev/null 2>&1",
                limit: 100)
            try mount.sync()
            let before = try mount.status("letter.odt")
            let text = try mount.forgettingCalls { try mount.run(Self.person, limit: 150) }
            // It was open for longer than changes wait, with its lock file beside it.
            #expect(text.contains(".~lock.letter.odt#"))
            try waitUntil(20, "it is uploaded") { try !mount.status("letter.odt").modified }
            try mount.sync()
            #expect(mount.changes() == ["itemChanged letter.odt"])
            #expect(try mount.status("letter.odt").identifier == before.identifier)
            #expect(try Seeding(mount.mountPoint).names() == ["letter.odt", "letter.txt", "other.txt"])
            #expect(
                try mount.run(
                    "python3 -c 'import os, zipfile; print(zipfile.ZipFile(os.environ[\"STORE\"] + \"/letter.odt\").read(\"content.xml\").decode())' | grep -c 'Yours, Berta'"
                ) == "1\n")
            try mount.requireSameAsStore()
        }
    }

    /// Opens the document in LibreOffice, writes something, waits, saves, closes.
    private static let person = """
        cd /
        pipe=hydrant$(basename "$(dirname "$SCRATCH")")
        \(office) --accept="pipe,name=$pipe;urp" >/dev/null 2>&1 &
        /usr/bin/python3 - "$pipe" <<'PYTHON'
        import os, sys, time, uno
        from com.sun.star.beans import PropertyValue
        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
        for attempt in range(600):
            try:
                remote = resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % sys.argv[1])
                break
            except Exception:
                time.sleep(0.1)
        desktop = remote.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", remote)
        hidden = PropertyValue("Hidden", 0, True, 0)
        document = desktop.loadComponentFromURL("file://" + os.environ["MOUNT"] + "/letter.odt", "_blank", 0, (hidden,))
        text = document.getText()
        text.insertString(text.getEnd(), "Yours, Berta", False)
        time.sleep(\(ProgramSave.settle + 1))
        print(os.listdir(os.environ["MOUNT"]))
        document.store()
        time.sleep(\(ProgramSave.settle + 1))
        document.close(True)
        try: desktop.terminate()
        except Exception: pass
        PYTHON
        wait
        """
}
