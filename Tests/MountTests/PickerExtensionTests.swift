import Foundation
import MountHarness
import Testing

/// Pickers of providers' own: their manifests, and their programs, in Python and in Swift.
@Suite("Picker extensions")
struct PickerExtensionTests {
    /// Writes down what it is told, and offers to dismiss with whatever the tests want.
    private static let prelude =
        PickerDriver.python + #"""
            EXTENSION = '''#!/usr/bin/python3
            import json, os, sys
            def say(**what): print(json.dumps(what), flush=True)
            def note(what): open(os.environ["SCRATCH"] + "/noted", "a").write(json.dumps(what) + "\\n")
            for line in sys.stdin:
                told = json.loads(line)
                note([os.getpid(), told])
                if "prepare" in told:
                    about = told["prepare"]
                    paths = open(os.environ["SCRATCH"] + "/offers").read().split("\\n")
                    say(page={"location": [], "search": "", "canMakeFolder": False, "isLoading": False, "filename": None,
                              "entries": [{"id": path, "name": path, "isFolder": False, "isSelectable": True} for path in paths]})
                elif "action" in told and told["action"]["do"] == "choose":
                    choice = told["action"]["id"]
                    if choice == "die": sys.exit(0)
                    if choice == "hang":
                        import signal, time
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        note([os.getpid(), "hangs"])
                        time.sleep(600)
                    if choice == "fail": say(failed="it cannot be done today")
                    elif choice == "babble": print("not json", flush=True)
                    else: say(dismiss=choice)
            note([os.getpid(), "end"])
            '''
            def install(name, text):
                folder = os.environ["XDG_DATA_HOME"] + "/hydrant/pickers"
                os.makedirs(folder, exist_ok=True)
                write(folder + "/" + name + ".toml", text.encode())
            def install_extension(**more):
                write(SCRATCH + "/extension", EXTENSION.encode()); os.chmod(SCRATCH + "/extension", 0o755)
                fields = {"identifier": "org.example.own", "name": "Own picker", "icon": "folder",
                          "program": SCRATCH + "/extension", "modes": ["import", "open", "export", "move"],
                          "provider": "hydrant.directory", "group": "org.example.group"}
                fields.update(more)
                install("own", "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items() if value is not None))
            def offer(*paths): write(SCRATCH + "/offers", "\n".join(paths).encode())
            def noted(): return [json.loads(line) for line in open(SCRATCH + "/noted")]

            """#

    private static func run(_ program: String) async throws {
        try await withMount(
            .with {
                $0.store = .directory; $0.limit = 60
            }, seed: PickerDriver.seed
        ) { mount in
            try mount.python(prelude + program, limit: 40)
        }
    }

    @Test("one instance for each presentation; it gets mode, types or original, its provider, storage and group")
    func presentations() async throws {
        try await Self.run(
            """
            install_extension()
            offer(MOUNT + "/letter.txt")
            picker = Picker("--mode", "open", "--type", "public.text")
            page = picker.page()
            assert picker.view["title"] == "Own picker", picker.view
            picker.do("choose", id=MOUNT + "/letter.txt")
            assert picker.result()["path"] == MOUNT + "/letter.txt"
            write(SCRATCH + "/new.txt", b"new"); write(MOUNT + "/copy.txt", b"new")
            offer(MOUNT + "/copy.txt")
            picker = Picker("--mode", "export", SCRATCH + "/new.txt")
            picker.page(); picker.do("choose", id=MOUNT + "/copy.txt")
            assert picker.result()["path"] == MOUNT + "/copy.txt"
            picker = Picker("--mode", "move", SCRATCH + "/new.txt", "--bookmark")
            picker.page(); picker.do("choose", id=MOUNT + "/copy.txt")
            result = picker.result()
            assert result["bookmark"] and not os.path.exists(SCRATCH + "/new.txt"), result
            wait_until(lambda: sum(what == "end" for _, what in noted()) == 3, "each has ended")
            told = noted()
            prepared = [(pid, what["prepare"]) for pid, what in told if "prepare" in what]
            assert len(prepared) == len({pid for pid, _ in prepared}) == 3, told
            group = os.environ["XDG_DATA_HOME"] + "/hydrant/groups/org.example.group"
            assert prepared[0][1] == {"mode": "open", "types": ["public.text"], "providerIdentifier": "hydrant.directory",
                                      "documentStorage": MOUNT, "documentGroup": group}, prepared
            for (_, about), mode in zip(prepared[1:], ("export", "move")):
                assert about["mode"] == mode and about["original"] == SCRATCH + "/new.txt" and "types" not in about, about
            assert os.path.isdir(group)
            assert {pid for pid, what in told if what == "end"} == {pid for pid, _ in prepared}, told
            """)
    }

    @Test("choices that the mode does not allow are refused with a reason, and the picker stays: for each mode")
    func refusals() async throws {
        try await Self.run(
            """
            install_extension()
            def refused(picker, path):
                picker.page(); picker.do("choose", id=path)
                message = picker.error()
                return message
            write(SCRATCH + "/local.txt", b"local"); write(SCRATCH + "/new.txt", b"new"); write(SCRATCH + "/copy.txt", b"new")
            write(MOUNT + "/copy.txt", b"new"); write(MOUNT + "/other.txt", b"old")
            paths = [SCRATCH + "/local.txt", SCRATCH + "/new.txt", SCRATCH + "/copy.txt", MOUNT + "/photo.jpg", MOUNT + "/letter.txt",
                     MOUNT + "/Folder", MOUNT + "/nothing.txt", MOUNT + "/copy.txt", MOUNT + "/other.txt", "https://example.org/x"]
            offer(*paths)

            picker = Picker("--mode", "open", "--type", "public.text")
            assert "outside of the provider" in refused(picker, SCRATCH + "/local.txt")
            assert "outside of the provider" in refused(picker, MOUNT + "/../tmp/local.txt")
            assert "public.jpeg" in refused(picker, MOUNT + "/photo.jpg")
            assert "is a folder" in refused(picker, MOUNT + "/Folder")
            assert "nothing.txt" in refused(picker, MOUNT + "/nothing.txt")
            assert "not a file URL" in refused(picker, "https://example.org/x")
            # It need not have been looked at: the provider makes the placeholder.
            os.listdir(MOUNT + "/Folder/Below"); os.makedirs(STORE + "/Folder/Below/new/newer")
            write(STORE + "/Folder/Below/new/newer/made just now.txt", b"made")
            picker.do("choose", id=MOUNT + "/Folder/Below/new/newer/made just now.txt")
            assert picker.result()["path"].endswith("made just now.txt")

            picker = Picker("--mode", "import", "--type", "public.text")
            assert "public.jpeg" in refused(picker, MOUNT + "/photo.jpg")
            assert "cannot be read" in refused(picker, SCRATCH + "/missing.txt")
            picker.do("choose", id=SCRATCH + "/local.txt")
            copy = picker.result()["path"]
            assert read(copy) == b"local" and copy != SCRATCH + "/local.txt", copy
            # One that is not here is downloaded.
            picker = Picker("--mode", "import")
            picker.page(); picker.do("choose", id=MOUNT + "/letter.txt")
            assert read(picker.result()["path"]) == b"letter\\n"

            picker = Picker("--mode", "export", SCRATCH + "/new.txt")
            assert "is the original" in refused(picker, SCRATCH + "/new.txt")
            assert "is not a copy" in refused(picker, MOUNT + "/other.txt")
            picker.do("choose", id=SCRATCH + "/copy.txt")
            result = picker.result()
            assert result["path"] == SCRATCH + "/copy.txt" and not result["inStore"], result

            picker = Picker("--mode", "move", SCRATCH + "/new.txt")
            assert "outside of the provider" in refused(picker, SCRATCH + "/copy.txt")
            assert "is not a copy" in refused(picker, MOUNT + "/other.txt")
            assert os.path.exists(SCRATCH + "/new.txt")
            picker.do("choose", id=MOUNT + "/copy.txt")
            assert picker.result() and not os.path.exists(SCRATCH + "/new.txt")
            """)
    }

    @Test("an extension that fails, sends garbage or dies: the user is told, and can go elsewhere")
    func broken() async throws {
        try await Self.run(
            """
            install_extension()
            offer("fail", "babble", "die", "hang")
            picker = Picker("--mode", "open")
            picker.page(); picker.do("choose", id="fail")
            assert picker.error() == "it cannot be done today"
            picker.do("choose", id="babble")
            assert "sent a malformed message" in picker.error()
            picker.do("choose", id="die")
            assert "has ended" in picker.error()
            picker.do("choose", id="fail")
            assert "has ended" in picker.error()
            picker.do("cancel"); assert picker.result() is None
            # One that does nothing any more keeps nobody.
            picker = Picker("--mode", "open")
            picker.page(); picker.do("choose", id="hang")
            wait_until(lambda: "hangs" in [what for _, what in noted()], "it hangs")
            began = time.time(); picker.do("cancel")
            assert picker.result() is None and time.time() - began < 60, time.time() - began
            install_extension(program="/nowhere/at/all")
            picker = Picker("--mode", "open")
            assert "cannot be started" in picker.error()
            picker.do("cancel"); picker.result()
            """)
    }

    @Test(
        "manifests: types and modes decide where an extension is offered; export alone is a drop box; mistakes are reported"
    )
    func manifests() async throws {
        try await Self.run(
            """
            def pickers(): return json.loads(hydrant("pickers", "--json").stdout)
            install_extension(types=["public.image"], modes=["import", "export"])
            assert [(p["title"], p["modes"], p["types"]) for p in pickers()] == [("Own picker", ["export", "import"], ["public.image"])], pickers()
            offer("x")
            nothing = subprocess.run([HYDRANT, "pick", "--mode", "open", "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert nothing.returncode == 1 and "no mounted domain offers to open" in nothing.stderr, nothing
            nothing = subprocess.run([HYDRANT, "pick", "--mode", "import", "--type", "public.text", "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert "import public.text" in nothing.stderr, nothing
            picker = Picker("--mode", "import", "--type", "public.png"); picker.page(); picker.do("cancel"); picker.result()

            # A picker without a file provider stands beside the domains.
            install_extension(provider=None, modes=["import"], identifier="org.example.alone", name="Alone")
            assert [p["title"] for p in pickers()][0] == "Alone" and len(pickers()) == 2, pickers()
            write(SCRATCH + "/local.txt", b"local"); offer(SCRATCH + "/local.txt", MOUNT + "/letter.txt")
            picker = Picker("--mode", "import", "--menu")
            picker.until(lambda view: view["screen"] == "menu"); picker.do("choose", id="org.example.alone")
            picker.page(); picker.do("choose", id=SCRATCH + "/local.txt")
            assert read(picker.result()["path"]) == b"local"
            told = [what["prepare"] for _, what in noted() if "prepare" in what][-1]
            assert "providerIdentifier" not in told and "documentStorage" not in told, told
            install_extension(provider=None, modes=["open"])
            said = hydrant("pickers")
            assert "the mode open needs provider" in said.stderr and "own.toml" in said.stderr, said

            # A drop box: nothing is listed.
            install_extension(program=None, modes=["export"], name="Box")
            write(SCRATCH + "/new.txt", b"new")
            picker = Picker("--mode", "export", SCRATCH + "/new.txt")
            page = picker.page()
            assert page["entries"] == [] and "not listed" in page["message"] and not page["canMakeFolder"], page
            picker.do("putHere")
            assert picker.result()["path"] == MOUNT + "/new.txt"
            """)
    }

    @Test("an extension in Swift: the last changed documents, and an inbox")
    func swift() async throws {
        try await Self.run(
            """
            install_extension(program=os.path.dirname(HYDRANT) + "/hydrant-picker-recent")
            os.utime(MOUNT + "/Folder/Below/deep.txt", (2e9, 2e9))
            picker = Picker("--mode", "open", "--type", "public.text")
            page = picker.page()
            assert page["entries"][0]["name"] == "deep.txt" and page["entries"][0]["isSelectable"], page
            assert {entry["name"]: entry["isSelectable"] for entry in page["entries"]}["photo.jpg"] is False, page
            picker.do("search", text="nowhere")
            page = picker.until(lambda view: view["page"]["search"] == "nowhere")["page"]
            assert page["entries"] == [], page
            picker.do("search", text="LETT")
            page = picker.until(lambda view: view["page"]["search"] == "LETT")["page"]
            picker.do("choose", id=page["entries"][0]["id"])
            assert picker.result()["path"] == MOUNT + "/letter.txt"

            write(SCRATCH + "/new.txt", b"new")
            for name, expected in (("new.txt", True), ("new.txt", False)):
                picker = Picker("--mode", "export", SCRATCH + "/new.txt")
                assert "Inbox" in picker.page()["message"]
                picker.do("putHere", text=name)
                if expected: assert picker.result()["path"] == MOUNT + "/Inbox/new.txt"
                else:
                    assert "choose another name" in picker.error()
                    picker.do("cancel"); picker.result()
            # What it may not do is refused in its own process as well.
            write(MOUNT + "/picture.png", b"png")
            picker = Picker("--mode", "open", "--type", "public.text")
            picker.page(); picker.do("choose", id="picture.png")
            assert "public.png" in picker.error()
            picker.do("cancel"); picker.result()
            """)
    }
}
