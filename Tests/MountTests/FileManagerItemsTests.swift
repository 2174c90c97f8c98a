import Foundation
import MountHarness
import Testing

/// The module that the file managers' extensions share, in a program with GLib's loop as theirs. (The file managers
/// themselves: DesktopTests.)
@Suite("What file managers know of items")
struct FileManagerItemsTests {
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for name in ["a.txt", "b.txt", "with space.txt", "two\nlines.txt"] { try seeding.file(name, "some text\n") }
        try seeding.file("inner/deep.txt", "deep\n")
        try seeding.file("large.bin", String(repeating: "x", count: 4_000_000))
    }

    /// `look(name)` asks as a file manager does, once; then a file is asked about only when the module says that it has
    /// changed.
    private static let prelude = #"""
        import os, subprocess, sys, time
        sys.path.insert(0, os.environ["XDG_DATA_HOME"] + "/hydrant/desktop")
        import hydrant_items
        from gi.repository import GLib, GObject

        mount, hydrant = os.environb[b"MOUNT"], os.environ["HYDRANT"]
        shown = hydrant_items.Shown()

        class File(GObject.Object):
            def __init__(self, path):
                super().__init__()
                self.path, self.item, self.asked = path, None, 0
                self.ask()

            def ask(self):
                self.asked += 1
                self.item = shown.look(self.path, self)

            def invalidate_extension_info(self):
                self.ask()

            @property
            def emblems(self):
                return self.item.emblems if self.item else None

        def look(name):
            return File(mount + b"/" + os.fsencode(name))

        def run(*words):
            subprocess.run([hydrant, *words], check=True, stdout=subprocess.DEVNULL)

        def wait(what, condition):
            limit = time.monotonic() + 60
            beat = GLib.timeout_add(50, lambda: True)
            while not condition():
                if time.monotonic() > limit:
                    sys.exit(f"never: {what}")
                GLib.MainContext.default().iteration(True)
            GLib.source_remove(beat)

        def becomes(file, *emblems):
            wanted = ["hydrant-" + emblem for emblem in emblems]
            wait(f"{file.path} has {wanted}, not {file.emblems}", lambda: file.emblems == wanted)

        def children():
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                return file.read().split()

        """#

    private static func python(_ script: String, limit: Double = 60) async throws {
        try await withMount(.with { $0.limit = 150 }, seed: seed) { mount in
            #expect(try mount.hydrant(["desktop", "install"]).succeeded)
            try (prelude + script).write(toFile: mount.scratch + "/items.py", atomically: true, encoding: .utf8)
            let result = try mount.shell("cd /; /usr/bin/python3 \"$SCRATCH/items.py\"", limit: limit)
            #expect(result.succeeded, "\(result)")
        }
    }

    @Test("emblems follow downloads, evictions, pins, writes and what others make")
    func follows() async throws {
        try await Self.python(
            #"""
            path = os.fsdecode(mount)
            a, b, folder = look("a.txt"), look("b.txt"), look("inner")
            names = [look(name) for name in ("with space.txt", "two\nlines.txt")]
            for file in [a, b, *names]:
                becomes(file, "cloud")
            # (Nothing has listed the folder inside.)
            becomes(folder, "cloud")
            run("download", path + "/a.txt")
            becomes(a, "here")
            assert a.item.words == "Here" and b.item.words == "Not here"
            run("evict", path + "/a.txt")
            becomes(a, "cloud")
            run("pin", path + "/a.txt")
            becomes(a, "here", "pinned")
            run("unpin", path + "/a.txt")
            becomes(a, "here")
            run("pause", path)
            with open(path + "/b.txt", "a") as file:
                file.write("more")
            becomes(b, "waiting")
            new = look("new.txt")
            with open(path + "/new.txt", "w") as file:
                file.write("new")
            becomes(new, "waiting")
            run("resume", path)
            becomes(b, "here")
            becomes(new, "here")
            os.remove(path + "/new.txt")
            wait("new.txt is gone", lambda: new.item is None)
            os.listdir(path + "/inner")
            becomes(folder)
            assert len(children()) == 1, children()
            """#)
    }

    @Test("menus offer what the states allow")
    func menus() async throws {
        try await Self.python(
            #"""
            def actions(*files):
                paths, items = [file.path for file in files], [file.item for file in files]
                return [entry[0] for entry in hydrant_items.menu(paths, items)]

            path = os.fsdecode(mount)
            a, b, folder = look("a.txt"), look("b.txt"), look("inner")
            becomes(a, "cloud")
            assert actions(a) == ["download", "pin", "link", "versions"], actions(a)
            run("pin", "--wait", path + "/a.txt")
            becomes(a, "here", "pinned")
            assert actions(a) == ["evict", "unpin", "link", "versions"], actions(a)
            assert actions(a, b) == ["download", "evict", "pin", "unpin"], actions(a, b)
            assert actions(folder) == ["download", "evict", "pin", "link"], actions(folder)
            run("pause", path)
            with open(path + "/b.txt", "a") as file:
                file.write("more")
            becomes(b, "waiting")
            assert "why" in actions(b)
            # What a menu starts works by itself.
            hydrant_items.act("unpin", [a.path])
            becomes(a, "here")
            hydrant_items.act("evict", [a.path])
            becomes(a, "cloud")
            hydrant_items.act("download", [a.path, mount + b"/with space.txt", mount + b"/two\nlines.txt"])
            for file in [a, look("with space.txt"), look("two\nlines.txt")]:
                becomes(file, "here")
            answers = []
            hydrant_items.ask_status(a.path, answers.append)
            wait("the status", lambda: answers)
            assert answers[0]["version"] and answers[0]["state"] == "downloaded", answers
            """#)
    }

    @Test("nothing is followed outside of mounts, when nobody looks, and after an unmount")
    func ends() async throws {
        try await Self.python(
            #"""
            # An item's state is known without a touch: nothing here has asked the kernel for it.
            for path in (b"/etc/passwd", b"/", mount, mount + b"x/a.txt"):
                assert not shown.items.knows(path) and shown.items.look(path) is None
            assert not children()
            hydrant_items.IDLE, hydrant_items.MOST_FOLDERS = 1, 2
            file = look("a.txt")
            becomes(file, "cloud")
            time.sleep(1.5)
            wait("a tick", lambda: shown.items._folders[mount].used > time.monotonic() - 1)
            # (Of more folders than that, the last ones are followed.)
            for number in range(5):
                shown.items.look(mount + b"/inner%d/x" % number)
                assert len(shown.items._folders) <= 2
            del file
            wait("the end", lambda: not shown.items._folders and not children())
            file = look("b.txt")
            becomes(file, "cloud")
            run("unmount", os.fsdecode(mount))
            wait("the unmount", lambda: file.item is None and not children())
            assert not shown.items.knows(file.path)
            """#)
    }

    @Test("what was started ends with the file manager, also with a killed one")
    func killed() async throws {
        try await Self.python(
            #"""
            becomes(look("a.txt"), "cloud")
            reader, writer = os.pipe()
            if (pid := os.fork()) == 0:
                os.dup2(writer, 1)
                begin = open(sys.argv[0]).read().split("becomes(look")[0]
                os.execv("/usr/bin/python3", ["/usr/bin/python3", "-c", begin + """
            becomes(look("b.txt"), "cloud")
            os.write(1, " ".join(children()).encode())
            time.sleep(600)
            """])
            child = os.read(reader, 100).decode()
            assert child and os.path.exists(f"/proc/{child}"), child
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            def is_over():
                try:
                    with open(f"/proc/{child}/stat") as file:
                        return file.read().rpartition(") ")[2][0] in "ZX"
                except FileNotFoundError:
                    return True
            wait("its child has ended", is_over)
            """#)
    }

    @Test("a download shows as one, whoever began it, until it ends")
    func isDownloading() async throws {
        try await Self.python(
            #"""
            path = os.fsdecode(mount)
            large = look("large.bin")
            becomes(large, "cloud")
            run("limit", "--download", "300k", path)
            reader = subprocess.Popen(["cat", path + "/large.bin"], stdout=subprocess.DEVNULL)
            becomes(large, "downloading")
            found = subprocess.check_output([hydrant, "find", "state:downloading", "--in", path], text=True)
            assert found == path + "/large.bin\n", found
            run("limit", "--download", "none", path)
            becomes(large, "here")
            assert reader.wait() == 0
            """#)
    }
}
