import DocumentContainers
import Foundation
import MetadataQuery
import MountHarness
import QueryLanguage
import Testing

/// Folders of programs' own in domains, and other programs' pickers.
@Suite("Public containers")
struct ContainerTests {
    /// Writes a manifest into the folder for scratch files.
    private static func adds(_ identifier: String, _ more: String) -> String {
        """
        printf 'identifier = "\(identifier)"\\n%b\\n' '\(more)' >"$SCRATCH/m.toml"; "$HYDRANT" containers add "$SCRATCH/m.toml";
        """
    }

    @Test("without a manifest there is no container; with one its folder is made, and stays the same")
    func places() async throws {
        try await withMount(.with { $0.limit = 60 }) { mount in
            let none = try mount.hydrant(["containers", "path", "org.example.notes"])
            #expect(none.status == 1 && none.stderr.contains("no container “org.example.notes”"), "\(none)")
            _ = try mount.run(Self.adds("org.example.notes", "name = \"Notes\""))
            #expect(
                try mount.run("\"$HYDRANT\" containers path org.example.notes; ls; echo x >Notes/n.txt")
                    == "\(mount.mountPoint)/Notes\nNotes\n")
            try mount.sync()
            #expect(try Seeding(mount.store).text("Notes/n.txt") == "x\n")
            let list = try mount.run("\"$HYDRANT\" containers --json")
            #expect(
                list.contains("\"path\" : \"\(mount.mountPoint)/Notes\"") && list.contains("\"problem\" : null"),
                "\(list)")
            // A manifest that is wrong is refused, and says why.
            for (text, reason) in [
                ("name = \"a/b\"", "cannot be a name"),
                ("name = \"N\"\\nfolder = \"../x\"", "relative to a mount point"),
                ("name = \"N\"\\nlevels = \"two\"", "none, one or any"),
                ("name = \"N\"\\ndomain = 3", "identifier and name"),
            ] {
                let result = try mount.run(
                    "printf 'identifier = \"org.bad\"\\n\(text)\\n' >\"$SCRATCH/b.toml\"; \"$HYDRANT\" containers add \"$SCRATCH/b.toml\" 2>&1 || true"
                )
                #expect(result.contains(reason), "\(result)")
            }
            // One that a link leads out of is none.
            _ = try mount.run("ln -s /tmp out; " + Self.adds("org.example.out", "name = \"O\"\\nfolder = \"out\""))
            let out = try mount.hydrant(["containers", "path", "org.example.out"])
            #expect(out.status == 1 && out.stderr.contains("leads out of the domain"), "\(out)")
            _ = try mount.run(
                "mkdir \"$SCRATCH/outside\"; ln -s \"$SCRATCH/outside\" far; ln -s Notes near; ln -s none dangling; "
                    + Self.adds("org.example.far", "name = \"F\"\nfolder = \"far/a/b\"")
                    + Self.adds("org.example.near", "name = \"N\"\nfolder = \"near/a/b\"")
                    + Self.adds("org.example.dangling", "name = \"D\"\nfolder = \"dangling/a\""))
            let far = try mount.hydrant(["containers", "path", "org.example.far"])
            #expect(far.status == 1 && far.stderr.contains("far: leads out of the domain"), "\(far)")
            #expect(try mount.run("ls \"$SCRATCH/outside\"") == "")
            #expect(try mount.hydrant(["containers", "path", "org.example.dangling"]).stderr.contains("leads nowhere"))
            let near = try mount.run("\"$HYDRANT\" containers path org.example.near; ls -d Notes/a/b")
            #expect(near.hasSuffix("\nNotes/a/b\n"))
            _ = try mount.run("\"$HYDRANT\" containers remove org.example.notes; test -f Notes/n.txt")
            #expect(try mount.hydrant(["containers", "path", "org.example.notes"]).status == 1)
        }
    }

    @Test("a manifest is identified by its contents, not by its file name")
    func manifests() async throws {
        try await withMount(.with { $0.limit = 60 }) { mount in
            let shown = try mount.run(
                """
                own="${XDG_DATA_HOME:-$HOME/.local/share}/hydrant/containers"; mkdir -p "$own"
                printf 'identifier = "org.example.notes"\nname = "Old"\n' >"$own/a.toml"
                printf 'identifier = "org.example.other"\nname = "Other"\n' >"$own/org.example.notes.toml"
                \(Self.adds("org.example.notes", "name = \"New\""))
                "$HYDRANT" containers list; ls "$own"
                "$HYDRANT" containers remove org.example.notes; ls "$own"; "$HYDRANT" containers list
                """)
            #expect(shown.contains("org.example.notes  New") && !shown.contains("  Old"), "\(shown)")
            #expect(shown.contains("a.toml\norg.example.notes.toml\norg.example.notes: removed; its"), "\(shown)")
            #expect(shown.contains("\norg.example.notes.toml\norg.example.other  Other"), "\(shown)")
            // One of the machine's holds again.
            let machine = try mount.run(
                """
                export XDG_DATA_DIRS="$SCRATCH/share"; mkdir -p "$SCRATCH/share/hydrant/containers"
                printf 'identifier = "org.example.notes"\nname = "Theirs"\n' >"$SCRATCH/share/hydrant/containers/n.toml"
                "$HYDRANT" containers remove org.example.notes 2>&1 || true
                \(Self.adds("org.example.notes", "name = \"Mine\""))
                "$HYDRANT" containers list; "$HYDRANT" containers remove org.example.notes; "$HYDRANT" containers list
                """)
            #expect(machine.contains("is not installed by this user") && machine.contains("notes  Mine"), "\(machine)")
            #expect(machine.contains("but \(mount.scratch)/share/hydrant/containers/n.toml still"), "\(machine)")
            #expect(machine.contains("notes  Theirs"), "\(machine)")
        }
    }

    @Test("the domain is the named or the chosen one; a domain that is not mounted is reported")
    func domains() async throws {
        try await withMount(.with { $0.limit = 60 }) { mount in
            _ = try mount.run(Self.adds("org.example.work", "name = \"W\"\\ndomain = \"work\""))
            let away = try mount.hydrant(["containers", "path", "org.example.work"])
            #expect(away.status == 1 && away.stderr.contains("the domain “work”, which is not mounted"), "\(away)")
            let other = try mount.hydrant(["containers", "choose", "org.example.work", "home"])
            #expect(other.status == 1 && other.stderr.contains("says that it is in the domain “work”"), "\(other)")
            // Of two that are mounted somebody has to choose.
            _ = try mount.run(
                """
                \(Self.adds("org.example.both", "name = \"B\""))
                mkdir "$SCRATCH/second" "$SCRATCH/here"; "$HYDRANT" mount dir:"$SCRATCH/second" "$SCRATCH/here" --domain second
                """)
            let both = try mount.hydrant(["containers", "path", "org.example.both"])
            #expect(both.status == 1 && both.stderr.contains("hydrant containers choose org.example.both"), "\(both)")
            let chosen = try mount.run(
                """
                "$HYDRANT" containers choose org.example.both second; "$HYDRANT" containers path org.example.both
                "$HYDRANT" unmount "$SCRATCH/here"
                """)
            #expect(chosen.contains("/here/B\n"), "\(chosen)")
        }
    }

    @Test("a query's scope: the contents of the program's container, and nothing else")
    func scope() async throws {
        try await withMount(.with { $0.limit = 60 }) { mount in
            _ = try mount.run(
                Self.adds("org.example.notes", "name = \"Notes\"\\nfolder = \"a/Notes\"")
                    + "mkdir -p a/Notes; echo x >a/Notes/in.txt; echo x >a/out.txt")
            #expect(
                try mount.run("\"$HYDRANT\" find --container org.example.notes txt")
                    == "\(mount.mountPoint)/a/Notes/in.txt\n")
            let none = try mount.hydrant(["find", "--container", "org.example.none", "x"])
            #expect(none.status == 1 && none.stderr.contains("no container"), "\(none)")
        }
    }

    @Test(
        "other programs' pickers offer a public container, with the allowed depth of folders",
        arguments: ["none", "one", "any"])
    func picking(_ levels: String) async throws {
        let toml = "name = \"Notes\"\\npublic = true\\nlevels = \"\(levels)\"\\ntypes = [\"public.text\"]"
        let (top, below) = (levels != "none", levels == "any")
        try await withMount(.with { $0.limit = 60 }) { mount in
            _ = try mount.run(
                Self.adds("org.example.notes", toml) + Self.adds("org.example.own", "name = \"Own\"")
                    + "mkdir -p Notes/folder/inner; echo letter >Notes/letter.txt; echo x >Notes/folder/deep.txt; echo x >no.txt"
            )
            try PickerDriver.run(
                mount,
                """
                places = subprocess.run([HYDRANT, "pickers", "--json"], capture_output=True, text=True, check=True)
                titles = {place["id"]: place["title"] for place in json.loads(places.stdout)}
                assert titles["container/org.example.notes"] == "Notes" and "container/org.example.own" not in titles, titles
                picker = Picker("--mode", "open", "--menu", "--type", "public.text")
                view = picker.until(lambda view: view["screen"] == "menu")
                place, = [item for item in view["menu"] if item["title"] == "Notes"]
                picker.do("choose", id=place["id"])
                entries = picker.entries()
                assert list(entries) == (["folder"] if \(top ? "True" : "False") else []) + ["letter.txt"], entries
                if \(top ? "True" : "False"):
                    picker.do("choose", id="folder")
                    entries = picker.entries(["folder"])
                    assert list(entries) == (["inner"] if \(below ? "True" : "False") else []) + ["deep.txt"], entries
                    picker.do("up"); picker.page()
                picker.do("choose", id="letter.txt")
                result = picker.result()
                assert result["path"].endswith("/Notes/letter.txt"), result
                """)
        }
    }

    @Test("the program in the documentation is the one that is built, and works as described")
    func documentedProgram() async throws {
        let root = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let program = try String(
            contentsOf: root.appending(path: "Sources/Examples/Memo/Memo.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(path: "Sources/DocumentContainers/Documentation.docc/DocumentContainers.md"),
            encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```"))
        try await withMount(.with { $0.limit = 60 }) { mount in
            let shown = try mount.run(
                """
                memo="$(dirname "$HYDRANT")/hydrant-memo"
                "$memo" milk and bread; "$memo" "call Ada"; "$HYDRANT" find --container org.example.memo
                """)
            #expect(
                shown.contains("1 note\n") && shown.contains("2 notes\n") && shown.contains("/Memos/"), "\(shown)")
            try mount.unmount()
            let memo = "exec \"$(dirname \"$HYDRANT\")/hydrant-memo\" tea"
            let away = try mount.sandbox.run(["sh", "-c", memo], environment: mount.environment, limit: 20)
            #expect(away.status == 1 && away.stderr.hasPrefix("hydrant-memo: the container"), "\(away)")
            #expect(away.stderr.split(separator: "\n").count == 1, "\(away)")
        }
    }
}
