import Foundation
import MountHarness
import Testing
import WebDAVHarness

/// The picker through its JSON conversation, from Python: the four modes, the menu, the standard browser.
@Suite("The document picker")
struct PickerTests {
    private static func run(
        _ options: MountOptions = .with { $0.limit = 60 }, _ program: String
    ) async throws {
        try await withMount(options, seed: PickerDriver.seed) { mount in try PickerDriver.run(mount, program) }
    }

    // MARK: The four modes

    @Test("import: the copy is removed when the program ends, in any way; the original stays")
    func importing() async throws {
        try await Self.run(
            .usual60,
            """
            program = subprocess.Popen(["sleep", "600"])
            picker = Picker("--mode", "import", "--owner", str(program.pid))
            entries = picker.entries()
            assert list(entries) == ["Folder", "letter.txt", "photo.jpg"], entries
            assert entries["letter.txt"]["isHere"] is False and entries["letter.txt"]["size"] == 7, entries
            picker.do("choose", id="letter.txt")
            result = picker.result()
            copy = result["path"]
            assert picker.status == 0 and result["mode"] == "import" and result["inStore"], result
            assert "bookmark" not in result or result["bookmark"] is None, result
            assert read(copy) == b"letter\\n" and os.path.basename(copy) == "letter.txt"
            assert copy.startswith(os.environ["XDG_RUNTIME_DIR"] + "/hydrant/imports/"), copy
            write(copy, b"changed")
            assert read(MOUNT + "/letter.txt") == b"letter\\n"
            time.sleep(0.6)
            assert os.path.exists(copy)
            program.kill(); program.wait()
            wait_until(lambda: not os.path.exists(os.path.dirname(copy)), "the copy goes")
            assert read(MOUNT + "/letter.txt") == b"letter\\n"

            # No daemon is needed for that. Nobody waits for whoever does it: it has none of the picker's descriptors.
            # (It is not in the mount, which would be busy.)
            program = subprocess.Popen(["sleep", "600"], cwd="/")
            end, given = os.pipe()
            picked = subprocess.run(
                [HYDRANT, "pick", "--mode", "import", "--json", "--owner", str(program.pid)], capture_output=True, text=True,
                input='{"do":"choose","id":"photo.jpg"}\\n', pass_fds=(given,), timeout=60)
            os.close(given); os.set_blocking(end, False)
            assert os.read(end, 1) == b""
            copy = json.loads(picked.stdout.splitlines()[-1])["result"]["path"]
            os.chdir("/"); unmounted = hydrant("unmount", MOUNT)
            assert unmounted.returncode == 0, unmounted
            time.sleep(1.5)
            assert read(copy) == b"photo\\n"
            program.kill(); program.wait()
            wait_until(lambda: not os.path.exists(os.path.dirname(copy)), "the copy goes without a daemon")

            # What such a process of a session before has left goes when a daemon starts.
            left = os.path.dirname(os.path.dirname(copy)) + "/" + str(program.pid) + ".1.3F0C6B6E-6C3F-4B3E-8E62-2B7B6F3B4C55"
            os.mkdir(left)
            mounted = hydrant("mount", "dir:" + STORE, MOUNT, "--state-dir", os.path.dirname(STORE) + "/state")
            assert mounted.returncode == 0, mounted
            wait_until(lambda: not os.path.exists(left), "the copy goes at the next start")
            """)
    }

    @Test("open: the document in place, with a right to it, and a reference document in the program's container")
    func opening() async throws {
        try await Self.run(
            .usual60,
            """
            os.mkdir(SCRATCH + "/container")
            def opened(name, *more):
                picker = Picker("--mode", "open", "--container", SCRATCH + "/container", "--type", "public.text", *more)
                assert not picker.entries()["photo.jpg"]["isSelectable"]
                picker.do("choose", id=name)
                return picker.result()
            def grants(): return json.loads(hydrant("grants", "--json", MOUNT).stdout)
            for number in (1, 2):
                result = opened("letter.txt")
                assert result["path"] == MOUNT + "/letter.txt", result
            # One reference, one right; also of a document that has another name by now.
            os.rename(MOUNT + "/letter.txt", MOUNT + "/note.txt")
            result = opened("note.txt")
            names = sorted(os.listdir(SCRATCH + "/container"))
            assert names == ["letter.txt.hydrant-reference"], names
            assert result["reference"] == SCRATCH + "/container/letter.txt.hydrant-reference", result
            assert json.loads(hydrant("bookmark", "resolve", result["reference"], "--json").stdout)["stale"] == []
            assert [grant["path"] for grant in grants()] == [MOUNT + "/note.txt"], grants()
            # Another right is another reference.
            result_for_a_day = opened("note.txt", "--days", "1")
            assert len(os.listdir(SCRATCH + "/container")) == 2
            assert sorted(grant["until"] is None for grant in grants()) == [False, True], grants()
            os.rename(MOUNT + "/note.txt", MOUNT + "/Folder/moved.txt")
            for bookmark in (result["bookmark"], result["reference"]):
                found = hydrant("bookmark", "resolve", bookmark)
                assert found.stdout == MOUNT + "/Folder/moved.txt\\n", found
                used = hydrant("access", bookmark, "--", "sh", "-c", "cat \\"$0\\"; echo more >> \\"$0\\"", "{}")
                assert used.stdout.startswith("letter\\n"), used
            assert read(MOUNT + "/Folder/moved.txt") == b"letter\\nmore\\nmore\\n"
            # All rights are taken back at once.
            revoked = hydrant("grants", "--revoke-all", MOUNT)
            assert revoked.returncode == 0 and revoked.stdout.count("revoked  ") == 2, revoked
            assert revoked.stdout.count("given 20") == 2 and "good until 20" in revoked.stdout, revoked
            assert grants() == []
            for bookmark in (result["bookmark"], result_for_a_day["reference"]):
                assert hydrant("access", bookmark, "--", "true").returncode == 1
            # Where only a path is printed, no right is given.
            picker = Picker("--mode", "open")
            picker.page(); picker.do("choose", id="photo.jpg")
            result = picker.result()
            assert result["path"] == MOUNT + "/photo.jpg" and result["bookmark"] is None, result
            assert grants() == []
            picker = Picker("--mode", "open", "--bookmark", "--days", "2")
            picker.page(); picker.do("choose", id="photo.jpg")
            assert picker.result()["bookmark"] and 1.9 < (grants()[0]["until"] - time.time()) / 86400 <= 2, grants()
            """)
    }

    @Test("export: a copy goes to the chosen place, also into a new folder; the program gets no access to it")
    func exporting() async throws {
        try await Self.run(
            .usual60,
            """
            write(SCRATCH + "/new.odt", b"new document")
            picker = Picker("--mode", "export", SCRATCH + "/new.odt")
            page = picker.page()
            assert page["filename"] == "new.odt" and page["canMakeFolder"], page
            assert not any(entry["isSelectable"] for entry in page["entries"] if not entry["isFolder"]), page
            picker.do("choose", id="Folder"); picker.page(["Folder"])
            picker.do("makeFolder", text="Made"); picker.page(["Folder", "Made"])
            picker.do("up"); picker.page(["Folder"])
            picker.do("location", index=0); picker.page([])
            picker.do("choose", id="Folder"); picker.page(["Folder"])
            picker.do("choose", id="Made"); picker.page(["Folder", "Made"])
            picker.do("putHere")
            result = picker.result()
            assert result["path"] == MOUNT + "/Folder/Made/new.odt" and result["inStore"], result
            assert result.get("bookmark") is None and result.get("reference") is None, result
            assert read(STORE + "/Folder/Made/new.odt") == b"new document"
            assert read(SCRATCH + "/new.odt") == b"new document"

            # A name that is taken is never overwritten.
            picker = Picker("--mode", "export", SCRATCH + "/new.odt")
            picker.page(); picker.do("putHere", text="letter.txt")
            assert "there is a document of this name" in picker.error()
            for name in ("", "..", "a/b", "x" * 256):
                picker.do("putHere", text=name); picker.error()
            picker.do("makeFolder", text="Folder")
            assert "choose another name" in picker.error()
            picker.do("putHere", text="other name.odt")
            assert picker.result()["path"] == MOUNT + "/other name.odt"
            assert read(MOUNT + "/letter.txt") == b"letter\\n"
            """)
    }

    @Test("move: the original is removed only when the copy is safe; from then on the document is edited there")
    func moving() async throws {
        try await Self.run(
            .usual60,
            """
            write(SCRATCH + "/mine.txt", b"mine")
            picker = Picker("--mode", "move", SCRATCH + "/mine.txt", "--container", SCRATCH)
            picker.page(); picker.do("putHere", text="letter.txt")
            picker.error()
            assert read(SCRATCH + "/mine.txt") == b"mine"
            picker.do("cancel")
            assert picker.result() is None and picker.status == 1
            assert read(SCRATCH + "/mine.txt") == b"mine" and not os.path.exists(MOUNT + "/mine.txt")

            picker = Picker("--mode", "move", SCRATCH + "/mine.txt", "--container", SCRATCH)
            picker.page(); picker.do("putHere")
            result = picker.result()
            assert not os.path.exists(SCRATCH + "/mine.txt")
            assert result["path"] == MOUNT + "/mine.txt" and read(STORE + "/mine.txt") == b"mine", result
            assert os.path.exists(SCRATCH + "/mine.txt.hydrant-reference")
            # Neither is stale: they were made anew when the store had it.
            for bookmark in (result["bookmark"], SCRATCH + "/mine.txt.hydrant-reference"):
                found = json.loads(hydrant("bookmark", "resolve", bookmark, "--json").stdout)
                assert found["stale"] == [] and found["writable"] and found["path"] == MOUNT + "/mine.txt", found
            assert len(json.loads(hydrant("grants", "--json", MOUNT).stdout)) == 1
            used = hydrant("access", result["bookmark"], "--", "sh", "-c", "echo edited > \\"$0\\"", "{}")
            assert used.returncode == 0, used
            assert read(MOUNT + "/mine.txt") == b"edited\\n"
            """)
    }

    @Test("a document exported while the store is away is safe here: the picker can be closed, and it is sent later")
    func offline() async throws {
        try await withMount(
            .with {
                $0.store = .directory; $0.limit = 60
            }, seed: PickerDriver.seed
        ) { mount in
            try PickerDriver.run(
                mount,
                """
                write(SCRATCH + "/mine.txt", b"mine")
                os.listdir(MOUNT)
                os.rename(STORE, SCRATCH + "/away")
                picker = Picker("--mode", "move", SCRATCH + "/mine.txt")
                picker.page(); picker.do("putHere")
                view = picker.until(lambda view: view["screen"] == "progress")
                assert "Uploading mine.txt" in view["progress"]["title"] and not view["progress"]["canCancel"], view
                time.sleep(0.5); picker.do("cancel")
                result = picker.result()
                assert result is not None and not result["inStore"], result
                assert read(MOUNT + "/mine.txt") == b"mine" and not os.path.exists(SCRATCH + "/mine.txt")
                os.rename(SCRATCH + "/away", STORE)
                wait_until(lambda: os.path.exists(STORE + "/mine.txt"), "it is sent")
                """)
        }
    }

    @Test(
        "closing during a copy leaves nothing; a name that no store gets, and a folder that cannot be listed, are refused"
    )
    func closed() async throws {
        try await withMount(
            .with {
                $0.store = .directory; $0.limit = 90
            }, seed: PickerDriver.seed
        ) { mount in
            try PickerDriver.run(
                mount,
                """
                write(SCRATCH + "/film.mkv", b"x" * 300_000_000)
                picker = Picker("--mode", "export", SCRATCH + "/film.mkv")
                picker.page(); picker.do("putHere")
                wait_until(lambda: any("pick" in name for name in os.listdir(MOUNT)), "it copies")
                picker.do("cancel")
                assert picker.result() is None
                assert sorted(os.listdir(MOUNT)) == ["Folder", "letter.txt", "photo.jpg"], os.listdir(MOUNT)
                write(SCRATCH + "/draft.txt~", b"draft")
                picker = Picker("--mode", "move", SCRATCH + "/draft.txt~")
                picker.page(); picker.do("putHere")
                assert "stays on this machine because of its name" in picker.error()
                picker.do("cancel"); picker.result()
                assert os.path.exists(SCRATCH + "/draft.txt~") and not os.path.exists(MOUNT + "/draft.txt~")
                # Nobody looked into Folder so far.
                picker = Picker("--mode", "import")
                picker.page()
                os.rename(STORE, SCRATCH + "/away")
                picker.do("choose", id="Folder")
                assert "Folder" in picker.error()
                assert picker.view["page"]["location"] == [] and len(picker.view["page"]["entries"]) == 3
                os.rename(SCRATCH + "/away", STORE)
                picker.do("cancel"); picker.result()
                """, limit: 60)
        }
    }

    @Test(
        "requests at the end of standard input are still carried out; a daemon's restart keeps the owners of copies"
    )
    func endOfInput() async throws {
        try await Self.run(
            .usual60,
            """
            done = subprocess.run([HYDRANT, "pick", "--mode", "open", "--json"], input='{"do":"choose","id":"letter.txt"}\\n',
                                  capture_output=True, text=True)
            assert json.loads(done.stdout.splitlines()[-1])["result"]["path"] == MOUNT + "/letter.txt", done
            nothing = subprocess.run([HYDRANT, "pick", "--mode", "open", "--json"], input="", capture_output=True, text=True)
            assert nothing.returncode == 1 and json.loads(nothing.stdout.splitlines()[-1])["result"] is None, nothing

            program = subprocess.Popen(["sleep", "600"], cwd="/")
            picker = Picker("--mode", "import", "--owner", str(program.pid))
            picker.page(); picker.do("choose", id="photo.jpg")
            copy = picker.result()["path"]
            os.chdir("/")
            for words in (["unmount", MOUNT], ["mount", "dir:" + STORE, MOUNT, "--state-dir", os.path.dirname(STORE) + "/state"]):
                done = hydrant(*words)
                assert done.returncode == 0, done
            time.sleep(0.5)
            assert os.path.exists(copy)
            program.kill(); program.wait()
            wait_until(lambda: not os.path.exists(copy), "the copy goes")
            """)
    }

    // MARK: The menu

    @Test(
        "the menu: domains that fit, in the user's order, some switched off; the one used last is offered directly")
    func menu() async throws {
        try await Self.run(
            .usual60,
            """
            other, third = SCRATCH + "/other", SCRATCH + "/third"
            os.makedirs(SCRATCH + "/store2/inside"); os.mkdir(other); os.mkdir(third)
            for folder, name, more in ((other, "zebra", []), (third, "readonly", ["--read-only"])):
                mounted = hydrant("mount", "dir:" + SCRATCH + "/store2", folder, "--domain", name, *more)
                assert mounted.returncode == 0, mounted
            try:
                picker = Picker("--mode", "open")
                view = picker.until(lambda view: view["screen"] == "menu")
                ids = [entry["id"] for entry in view["menu"]]
                assert ids[1:] == ["readonly", "zebra"] and len(ids) == 3, view
                picker.do("choose", id="zebra")
                page = picker.page()
                assert picker.view["title"] == "zebra" and page["entries"][0]["name"] == "inside", picker.view
                picker.do("providers"); picker.until(lambda view: view["screen"] == "menu")
                picker.do("choose", id=ids[0]); picker.page()
                picker.do("choose", id="letter.txt"); picker.result()

                # Offered directly from now on, with a switch to the others.
                picker = Picker("--mode", "open")
                assert "letter.txt" in picker.entries() and picker.view["hasOthers"], picker.view
                picker.do("cancel"); assert picker.result() is None
                picker = Picker("--mode", "open", "--menu")
                picker.until(lambda view: view["screen"] == "menu"); picker.do("cancel"); picker.result()

                assert hydrant("pickers", "--order", "zebra,readonly", "--off", ids[0]).returncode == 0
                picker = Picker("--mode", "open")
                view = picker.until(lambda view: view["screen"] == "menu")
                assert [entry["id"] for entry in view["menu"]] == ["zebra", "readonly"], view
                picker.do("cancel"); picker.result()
                # A domain that is read-only takes no documents.
                write(SCRATCH + "/a.txt", b"a")
                picker = Picker("--mode", "export", SCRATCH + "/a.txt", "--menu")
                view = picker.until(lambda view: view["screen"] == "menu")
                assert [entry["id"] for entry in view["menu"]] == ["zebra"], view
                picker.do("cancel"); picker.result()
                listed = json.loads(hydrant("pickers", "--json").stdout)
                assert [(line["id"], line["off"]) for line in listed] == [("zebra", False), ("readonly", False), (ids[0], True)], listed
                assert listed[1]["modes"] == ["import", "open"], listed
                hydrant("pickers", "--on", ids[0])
                # What is not there is said, and nothing is changed.
                for words in (["--off", "nosuch"], ["--on", "nosuch"], ["--order", "zebra,nosuch"]):
                    unknown = hydrant("pickers", "--off", "zebra", *words)
                    assert unknown.returncode == 1 and "“nosuch”: no such place" in unknown.stderr, unknown
                assert not any(line["off"] for line in json.loads(hydrant("pickers", "--json").stdout))
            finally:
                for folder in (other, third): hydrant("unmount", folder)
            """)
    }

    // MARK: The standard browser

    @Test("search while typing, types greyed and not selectable, errors in words")
    func browsing() async throws {
        try await Self.run(
            .usual60,
            """
            picker = Picker("--mode", "import", "--type", "image/*", "--type", ".odt")
            entries = picker.entries()
            assert entries["photo.jpg"]["isSelectable"] and not entries["letter.txt"]["isSelectable"], entries
            assert entries["photo.jpg"]["type"] == "public.jpeg", entries
            picker.do("choose", id="letter.txt")
            assert "none of the wanted types" in picker.error()
            picker.do("choose", id="nothing")
            assert "not in this folder" in picker.error()
            picker.do("search", text="PHO")
            page = picker.until(lambda view: view["page"]["search"] == "PHO")["page"]
            assert [entry["name"] for entry in page["entries"]] == ["photo.jpg"], page
            picker.do("search", text="none")
            page = picker.until(lambda view: view["page"]["search"] == "none")["page"]
            assert page["entries"] == [] and "none" in page["message"], page
            picker.do("search", text="fol")
            picker.until(lambda view: view["page"]["search"] == "fol")
            picker.do("choose", id="Folder")
            page = picker.page(["Folder"])
            assert page["search"] == "" and [entry["name"] for entry in page["entries"]] == ["Below", "report.odt"], page
            # What is not there any more when it is opened.
            os.rename(MOUNT + "/Folder/Below", MOUNT + "/Folder/.hidden")
            picker.do("choose", id="Below")
            assert "Below" in picker.error()
            assert [entry["name"] for entry in picker.view["page"]["entries"]] == ["Below", "report.odt"]
            picker.process.stdin.write("nonsense\\n")
            picker.do("choose", id="report.odt")
            assert read(picker.result()["path"]) == b"report\\n"
            """)
    }

    @Test("the JSON dialogue: bad lines and actions that are impossible now are reported with a reason")
    func dialogue() async throws {
        try await Self.run(
            .usual60,
            """
            lines = ["nonsense", "[1]", '{"id": "x"}', '{"do": "dance"}', '{"do": "choose"}', '{"do": "location", "index": "one"}',
                     '{"do": "signIn", "text": "nobody asks"}', '{"do": "choose", "id": "nothing"}', '{"do": "choose", "id": "letter.txt"}']
            done = subprocess.run([HYDRANT, "pick", "--mode", "open", "--json"], input="".join(line + "\\n" for line in lines),
                                  capture_output=True, text=True)
            said = done.stderr.splitlines()
            for line, end in zip(said, ["it is not JSON", "it is not an object", "“do” is missing", "“do” has a value that is not known",
                                        "“id” is missing", "“index” is not a number in range"]):
                assert line.endswith("is not an action: " + end), said
            assert len(said) == 7 and "not possible now: " in said[6], said
            views = [json.loads(line) for line in done.stdout.splitlines()]
            # The error was not dismissed; what follows is done all the same.
            assert views[-1]["result"]["path"] == MOUNT + "/letter.txt" and done.returncode == 0, views[-1]
            assert [view["error"] for view in views[:-1] if view.get("error")] == ["“nothing” is not in this folder, or no longer"], views
            picker = Picker("--mode", "open")
            picker.page(); picker.do("choose", id="nothing")
            picker.until(lambda view: view["screen"] == "error"); picker.do("cancel")
            picker.result()
            assert picker.view["screen"] == "cancelled" and "error" not in picker.view, picker.view
            """)
    }

    @Test(
        "a download shows its progress, can be cancelled, and goes on when the picker is closed; the next picker shows it"
    )
    func downloads() async throws {
        try await withMount(
            .with { $0.limit = 60 }, seed: { try Seeding($0).file("big.bin", String(repeating: "x", count: 3_000_000)) }
        ) {
            mount in
            try PickerDriver.run(
                mount,
                """
                assert hydrant("limit", "--download", "400k", MOUNT).returncode == 0
                def here(): return json.loads(hydrant("status", "--json", MOUNT + "/big.bin").stdout)[0]["bytesDownloaded"]
                picker = Picker("--mode", "import")
                picker.page(); picker.do("choose", id="big.bin")
                view = picker.until(lambda view: view["screen"] == "progress" and view["progress"]["done"] > 100000)
                assert view["progress"]["total"] == 3000000 and view["progress"]["canCancel"], view
                assert "big.bin" in view["progress"]["title"]
                picker.do("cancelTransfer")
                picker.until(lambda view: view["screen"] == "page")
                # (What is under way comes still.)
                def stands():
                    before = here(); time.sleep(2)
                    return here() == before
                wait_until(stands, "it ends")
                assert here() < 3000000, here()

                picker.do("choose", id="big.bin")
                picker.until(lambda view: view["screen"] == "progress" and view["progress"]["done"] > 100000)
                picker.do("cancel")
                assert picker.result() is None
                before = here()
                wait_until(lambda: here() > before, "it goes on in the daemon")
                picker = Picker("--mode", "import")
                picker.page()
                view = picker.until(lambda view: any("downloading" in (entry.get("note") or "") for entry in view["page"]["entries"]))
                assert hydrant("limit", "--download", "none", MOUNT).returncode == 0
                picker.until(lambda view: view["page"]["entries"][0]["isHere"])
                picker.do("choose", id="big.bin")
                assert len(read(picker.result()["path"])) == 3000000
                """)
        }
    }

    @Test("a domain whose password has changed asks for it in the picker, and goes on")
    func signIn() async throws {
        try await withServer(.apache, .usual) { server in
            try await withSandbox(.with { $0.limit = 90 }) { mount in
                try PickerDriver.seed(server.root)
                func run(_ words: String) throws {
                    let result = try mount.sandbox.run(["sh", "-c", words], environment: mount.environment, limit: 20)
                    guard result.succeeded else { throw HarnessError("\(words): \(result)") }
                }
                try run(
                    "\"$HYDRANT\" domain add work \(server.url) --user \(TestServer.user) --certificate-authority \(server.authority)"
                )
                try run("echo \"\(TestServer.password)\" | \"$HYDRANT\" login work --password-stdin")
                try run("\"$HYDRANT\" mount work \"$MOUNT\"")
                try server.setPassword("another one")
                try PickerDriver.run(
                    mount,
                    """
                    picker = Picker("--mode", "import")
                    view = picker.until(lambda view: view["screen"] == "signIn")
                    assert view["signIn"]["domain"] == "work", view
                    picker.do("signIn", text="wrong")
                    picker.next()
                    view = picker.until(lambda view: view["screen"] == "signIn")
                    assert "does not accept" in view["signIn"]["reason"], view
                    picker.do("signIn", text="another one")
                    picker.page(); picker.do("choose", id="letter.txt")
                    assert read(picker.result()["path"]) == b"letter\\n"
                    """, limit: 60)
            }
        }
    }
}

extension MountOptions {
    fileprivate static var usual60: MountOptions { .with { $0.limit = 60 } }
}
