import Foundation
import MountHarness
import Testing
import WebDAVHarness

/// The picker on a terminal. Its screens are those of the docs (`TerminalPicker.md`); with `HYDRANT_RECORD_SCREENS` set they
/// are written there.
@Suite("The picker in a terminal")
struct TerminalPickerTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Sources/DocumentPicker/Documentation.docc/TerminalPicker.md"
    ).standardizedFileURL

    /// Compares a screen with the one of that name in the docs.
    private func expect(_ name: String, _ screen: String, _ location: SourceLocation = #_sourceLocation) throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let mark = "<!-- screen: \(name) -->\n```text\n"
        guard let start = text.range(of: mark),
            let end = text.range(of: "\n```", range: start.upperBound..<text.endIndex)
        else {
            Issue.record("the docs have no screen \(name)", sourceLocation: location)
            return
        }
        if ProcessInfo.processInfo.environment["HYDRANT_RECORD_SCREENS"] != nil {
            try text.replacingCharacters(in: start.upperBound..<end.lowerBound, with: screen).write(
                to: Self.page, atomically: true, encoding: .utf8)
            return
        }
        #expect(screen == String(text[start.upperBound..<end.lowerBound]), "\(name)", sourceLocation: location)
    }

    /// What is in the docs: the same names, sizes and dates everywhere.
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for (name, size) in [
            ("Letters/to Ada.odt", 24_310), ("Letters/to Grace.odt", 1_048_576), ("Letters/2025/old.txt", 12),
            ("Invoice March.pdf", 88_512), ("Notes.md", 2_104), ("Übersicht.txt", 640), ("team photo.jpg", 3_145_728),
        ] { try seeding.file(name, String(repeating: "x", count: size)) }
        let moment = timespec(tv_sec: 1_772_000_000, tv_nsec: 0)
        for path in ["Letters/2025", "Letters", ""]
            + ((try? FileManager.default.subpathsOfDirectory(atPath: store)) ?? [])
        {
            var times = [moment, moment]
            utimensat(AT_FDCWD, store + "/" + path, &times, 0)
        }
    }

    /// A domain called `work`.
    private func withWork(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withSandbox(
            .with {
                $0.limit = 90; $0.store = .directory
            }
        ) { mount in
            try Self.seed(mount.store)
            let mounted = try mount.hydrant(["mount", "dir:" + mount.store, mount.mountPoint, "--domain", "work"])
            guard mounted.succeeded else { throw HarnessError("mount: \(mounted)") }
            try body(mount)
        }
    }

    private func with(
        _ mount: MountedStore, _ command: String, columns: Int = 80, _ body: (TerminalSession) throws -> Void
    ) throws {
        let terminal = try TerminalSession(mount, command, columns: columns)
        defer { terminal.end() }
        try body(terminal)
    }

    @Test("import: move the bar, search, go into folders and back, choose")
    func importing() async throws {
        try await withWork { mount in
            try mount.run("cat Notes.md >/dev/null")
            try with(mount, "\"$HYDRANT\" pick --mode import --type public.text --type .odt") { terminal in
                try expect("choose", terminal.until("Letters/", "team photo.jpg"))
                try terminal.send("Enter")
                try expect("folder", terminal.until("work › Letters", "to Ada.odt"))
                try terminal.send("Enter")
                try terminal.until("work › Letters › 2025", "old.txt")
                try terminal.send("C-l")
                try expect("where", terminal.until("Enter: go there"))
                try terminal.send("Home", "Enter")
                try terminal.until("team photo.jpg")
                // What is greyed is not chosen; why is said until the next key.
                try terminal.send("End", "Up", "Enter")
                try expect("greyed", terminal.until("is of the type public.jpeg", "type: search"))
                try terminal.send("?")
                try expect("keys", terminal.until("any key: back"))
                try terminal.send("x")
                try terminal.until("team photo.jpg", without: "is of the type")
                // Esc leaves the search first.
                try terminal.type("no?")
                try terminal.until("Search: no?", "Esc: end the search")
                try terminal.send("Escape")
                try terminal.until("Letters/", "type: search", without: "Search:")
                try terminal.type("ÜBER")
                try expect("search", terminal.until("Search: ÜBER", "Übersicht.txt", without: "Letters/"))
                try terminal.send("BSpace")
                try terminal.until("Search: ÜBE")
                try terminal.send("Enter")
                let (status, output) = try terminal.result()
                #expect(status == "0")
                #expect(output.hasSuffix("/Übersicht.txt\n"))
                let copy = output.trimmingCharacters(in: .newlines)
                #expect(FileManager.default.contents(atPath: copy)?.count == 640)
            }
        }
    }

    @Test("a key cancels a download that shows progress; Esc closes the picker, exit 1")
    func download() async throws {
        try await withWork { mount in
            _ = try mount.hydrant(["limit", "--download", "1K", mount.mountPoint])
            try with(mount, "\"$HYDRANT\" pick --mode import") { terminal in
                try terminal.until("team photo.jpg")
                try terminal.type("team")
                try terminal.until("Search: team")
                try terminal.send("Enter")
                // (It changes all the time.)
                try waitUntil(15, "it downloads") { try terminal.screen().contains("c: cancel") }
                let screen = try terminal.screen()
                try expect(
                    "download",
                    screen.replacing(/\] [0-9.]+ k?B of/, with: "] 0 B of")
                        .replacing(/downloading [0-9]+ %/, with: "not here"))
                try terminal.send("c")
                try terminal.until("Esc: end the search")
                try terminal.send("Escape")
                try terminal.until("type: search")
                try terminal.send("Escape")
                #expect(try terminal.result() == ("1", ""))
            }
            _ = try mount.hydrant(["limit", "--download", "none", mount.mountPoint])
        }
    }

    @Test("names are readable in 40 columns, and in 20 as well")
    func narrow() async throws {
        try await withWork { mount in
            try mount.run("cat Notes.md >/dev/null")
            try with(mount, "\"$HYDRANT\" pick --mode import --type public.text", columns: 40) { terminal in
                try expect("narrow", terminal.until("Invoice March.pdf", "Übersicht.txt"))
                try terminal.send("Escape")
                #expect(try terminal.result().status == "1")
            }
            try with(mount, "\"$HYDRANT\" pick --mode import --type public.text", columns: 20) { terminal in
                try terminal.until("Invoice March", "Übersicht.txt")
                try terminal.send("Escape")
                #expect(try terminal.result().status == "1")
            }
        }
    }

    @Test("move: a new folder, another name, an error in words")
    func moving() async throws {
        try await withWork { mount in
            try mount.run("echo draft > \"$SCRATCH/Notes.md\"; cat Notes.md > /dev/null")
            try with(mount, "\"$HYDRANT\" pick --mode move \"$SCRATCH/Notes.md\" --bookmark") { terminal in
                try expect("place", terminal.until("Its name will be: Notes.md", "Letters/"))
                try terminal.send("C-s")
                try expect("put here", terminal.until("Put it here as: Notes.md"))
                try terminal.send("Enter")
                let screen = try terminal.until("there is a document of this name", "Enter: go on")
                try expect("error", screen.replacing(mount.mountPoint, with: "/home/ada/Work"))
                try terminal.send("Enter")
                try terminal.until("Its name will be")
                try terminal.send("C-n")
                try terminal.type("Drafts")
                try expect("new folder", terminal.until("Name of the new folder: Drafts"))
                try terminal.send("Enter")
                try terminal.until("work › Drafts", "This folder is empty.")
                try terminal.send("C-s")
                try terminal.until("Put it here as")
                try terminal.send("C-u")
                try terminal.type("draft.md")
                try terminal.until("Put it here as: draft.md")
                try terminal.send("Enter")
                let (status, output) = try terminal.result()
                #expect(status == "0")
                #expect(try mount.run("cat Drafts/draft.md; ls \"$SCRATCH\" | grep -c Notes || true") == "draft\n0\n")
                let found = try mount.hydrant(["bookmark", "resolve", output.trimmingCharacters(in: .newlines)])
                #expect(found.stdout == mount.mountPoint + "/Drafts/draft.md\n")
            }
        }
    }

    @Test("the menu of places; the picker asks for a password, and does not show it")
    func menuAndPassword() async throws {
        try await withServer(.apache, .usual) { server in
            try await withWork { mount in
                try Seeding(server.root).file("there.txt", "there\n")
                let cloud = mount.scratch + "/Cloud"
                try mount.run(
                    """
                    mkdir \(cloud)
                    "$HYDRANT" domain add cloud \(server.url) --user \(TestServer.user) --certificate-authority \(server.authority)
                    echo "\(TestServer.password)" | "$HYDRANT" login cloud --password-stdin
                    "$HYDRANT" mount cloud \(cloud)
                    """)
                defer { _ = try? mount.hydrant(["unmount", cloud]) }
                try server.setPassword("another one")
                try with(mount, "\"$HYDRANT\" pick --mode open") { terminal in
                    func shown(_ screen: String) -> String {
                        // As far from the right edge as the path in the docs.
                        screen.replacing(/(cloud|work) +\/.*/) { found in
                            let (name, path) = (
                                String(found.1), found.1 == "cloud" ? "/home/ada/Cloud" : "/home/ada/Work"
                            )
                            return name.padding(toLength: 77 - path.count, withPad: " ", startingAt: 0) + path
                        }.replacing(/https:\/\/localhost:[0-9]+/, with: "https://cloud.example.org")
                    }
                    try expect("menu", shown(terminal.until("cloud", "work", "Enter: choose")))
                    try terminal.send("Enter")
                    try terminal.until("Password of cloud")
                    try terminal.type("wrong")
                    try expect("sign in", shown(terminal.until("Password of cloud: *****")))
                    #expect(try !terminal.screen().contains("wrong"))
                    try terminal.send("Enter")
                    usleep(500_000)
                    try terminal.until("does not accept", "Password of cloud:")
                    try terminal.type("another one")
                    try terminal.until("Password of cloud: ***********")
                    try terminal.send("Enter")
                    try terminal.until("there.txt")
                    try terminal.send("F2")
                    try terminal.until(cloud)
                    try terminal.send("Down", "Enter")
                    try terminal.until("Invoice March.pdf")
                    try terminal.send("Down", "Enter")
                    #expect(try terminal.result() == ("0", mount.mountPoint + "/Invoice March.pdf\n"))
                }
            }
        }
    }

    @Test("without a terminal the picker says so")
    func noTerminal() async throws {
        try await withWork { mount in
            let result = try mount.shell("set +e; setsid \"$HYDRANT\" pick --mode open < /dev/null; echo $?")
            #expect(result.stdout == "1\n")
            #expect(result.stderr.contains("there is no terminal"), "\(result.stderr)")
        }
    }
}
