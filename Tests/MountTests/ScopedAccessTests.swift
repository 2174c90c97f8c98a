import ControlAPI
import FileCoordination
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// One item, and nothing else of its domain, for who has a right to it.
@Suite("Scoped access")
struct ScopedAccessTests {
    private func bookmark(_ mount: MountedStore, _ path: String, _ options: String = "--grant write") throws -> String {
        try mount.run("\"$HYDRANT\" bookmark make \(path) \(options)").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs a script (without apostrophes) that uses what a bookmark grants.
    private func use(_ mount: MountedStore, _ bookmark: String, _ script: String) throws -> ChildResult {
        try mount.shell("\"$HYDRANT\" access \(bookmark) -- bash -c '\(script)'")
    }

    private func grants(_ mount: MountedStore) throws -> [GrantStatus] {
        let result = try mount.hydrant(["grants", "--json", mount.mountPoint])
        return try JSONDecoder().decode([GrantStatus].self, from: Data(result.stdout.utf8))
    }

    private func scopedFolders(_ mount: MountedStore) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: mount.sandbox.runtime + "/hydrant/scoped")) ?? []
    }

    /// What is not there outside of `COMMAND`s that have the right.
    private func requireNothingLeft(_ mount: MountedStore, _ location: SourceLocation = #_sourceLocation) throws {
        #expect(scopedFolders(mount) == [], sourceLocation: location)
        #expect(
            !MountTable.entries().contains { $0.mountPoint.hasPrefix(mount.sandbox.path + "/run") },
            sourceLocation: location)
        let names = try mount.run("ls -A; ls -A folder; ls -A \"$STORE\"")
        #expect(!names.contains("hydrant-scoped"), "\(names)", sourceLocation: location)
    }

    /// A sandbox in which the scoped folder is `/document`, and of the machine only programs.
    static let sandbox = """
        bwrap --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
        --symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp --bind {folder} /document --chdir /document
        """

    // MARK: In a sandbox

    @Test("bubblewrap: the sandbox can read, save, and rename a temporary file over the document; it has nothing else")
    func bubblewrap() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let inside = """
                set -e
                [ "$(ls -A)" = a.txt ]
                [ "$(cat a.txt)" = first ]
                echo second >> a.txt
                [ "$(cat a.txt)" = "first
                second" ]
                ! ls ../document/../b.txt /document/b.txt \(mount.mountPoint) \(mount.store) 2>/dev/null
                echo saved > .a.txt.tmp
                [ "$(ls -A | tr '\\n' ' ')" = ".a.txt.tmp a.txt " ]
                mv .a.txt.tmp a.txt
                [ "$(cat a.txt)" = saved ]
                [ "$(ls -A)" = a.txt ]
                """
            let result = try mount.shell(
                "\"$HYDRANT\" access \(bookmark) -- \(Self.sandbox) -- sh -c '\(inside.replacing("'", with: "'\\''"))'")
            #expect(result.status == 0, "\(result.stdout) \(result.stderr)")
            #expect(try mount.run("cat a.txt") == "saved\n")
            try mount.sync()
            #expect(try String(contentsOfFile: mount.store + "/a.txt", encoding: .utf8) == "saved\n")
            // The document was changed, not replaced by another.
            #expect(!mount.hookCalls().contains { ["deleteItem", "createItem"].contains($0.hook.rawValue) })
            try requireNothingLeft(mount)
        }
    }

    @Test("after stop the item is gone for processes still in the sandbox as well; written contents are kept")
    func afterStop() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let holder = try mount.start(
                "exec \"$HYDRANT\" access \(bookmark) -- sh -c 'echo \"$HYDRANT_SCOPED_FOLDER\"; exec sleep 600'")
            try waitUntil(10, "it is there") { holder.stdout.hasSuffix("\n") }
            let folder = holder.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(folder.hasPrefix(mount.sandbox.runtime + "/hydrant/scoped/"))
            // One who has the document open and mapped, and stands in the folder.
            let inside = try mount.start(
                Self.sandbox.replacing("{folder}", with: folder) + """
                     -- python3 -c '
                    import mmap, os, sys, time
                    file = open("a.txt", "r+b")
                    memory = mmap.mmap(file.fileno(), 0)
                    memory[0:5] = b"FIRST"
                    print("ready", flush=True)
                    while True:
                        time.sleep(0.05)
                        try:
                            if os.listdir(".") is not None: file.seek(0); file.read()
                        except OSError as error:
                            print("gone", error.errno, flush=True)
                            break
                    for attempt in (lambda: open("a.txt"), lambda: os.listdir("/document"), lambda: open("new", "w")):
                        try: attempt()
                        except OSError: pass
                        else: print("still there", flush=True)
                    '
                    """)
            try waitUntil(10, "it is open") { inside.stdout.contains("ready") }
            #expect(try grants(mount).first?.users.count == 1)
            holder.signal(SIGKILL)
            try waitUntil(10, "it is gone") { scopedFolders(mount).isEmpty }
            let result = inside.wait(limit: 10)
            #expect(result.stdout.contains("gone"), "\(result.stdout) \(result.stderr)")
            #expect(!result.stdout.contains("still there"), "\(result.stdout)")
            // What it had changed in memory is in the document.
            #expect(try mount.run("cat a.txt") == "FIRST\n")
            #expect(try grants(mount).first?.users == [])
            try requireNothingLeft(mount)
        }
    }

    @Test("a right to read shows the item read-only; a right to a folder shows its contents, and allows saving there")
    func kinds() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let reader = try bookmark(mount, "a.txt", "--grant read")
            #expect(try mount.run("\"$HYDRANT\" access \(reader) -- cat {}") == "first\n")
            let refused = try mount.shell(
                "\"$HYDRANT\" access \(reader) -- sh -c 'echo x >> \"$0\"; echo x > \"$HYDRANT_SCOPED_FOLDER/new\"; mv \"$0\" \"$0.b\"; rm -f \"$0\"; cat \"$0\"' {}"
            )
            #expect(refused.stdout == "first\n", "\(refused.stderr)")
            let folder = try bookmark(mount, "folder")
            try mount.run(
                "\"$HYDRANT\" access \(folder) -- sh -ec 'cd \"$0\"; ls > list; mkdir sub; mv in.txt sub; echo new > in.txt; ls -lR' {}"
            )
            #expect(try mount.run("cat folder/list folder/in.txt folder/sub/in.txt") == "in.txt\nlist\nnew\ninside\n")
            // (The listing was being made while it was read.)
            try requireNothingLeft(mount)
            #expect(try mount.hydrant(["bookmark", "make", mount.mountPoint, "--grant", "read"]).status == 1)
            let plain = try bookmark(mount, "a.txt", "")
            let none = try mount.hydrant(["access", plain, "--", "true"])
            #expect(none.status == 1)
            #expect(none.stderr.contains("carries no right"))
        }
    }

    @Test(
        "both sides see the same at once: writes in the mount, writes in the sandbox",
        arguments: [true, false])
    func coherence(passthrough: Bool) async throws {
        try await withMount(.with { $0.passthrough = passthrough }, seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            try mount.run("cat a.txt; stat a.txt")
            let result = try mount.shell(
                """
                "$HYDRANT" access \(bookmark) -- bash -ec '
                    here="$0" there="$1"
                    for round in 1 2 3 4 5 6 7 8 9 10; do
                        echo "there $round" >> "$there"; tail -n1 "$here" | grep -qx "there $round"
                        [ $(stat -c %s "$here") = $(stat -c %s "$there") ]
                        echo "here $round" >> "$here"; tail -n1 "$there" | grep -qx "here $round"
                        [ $(stat -c %s "$here") = $(stat -c %s "$there") ]
                        echo "saved here $round" > "$here.tmp"; mv "$here.tmp" "$here"
                        cmp "$here" "$there"; grep -qx "saved here $round" "$there"
                        echo "saved there $round" > "$there.tmp"; mv "$there.tmp" "$there"
                        cmp "$here" "$there"; grep -qx "saved there $round" "$here"
                        truncate -s 3 "$here"; [ "$(cat "$there")" = sav ]; echo >> "$here"
                        chmod 640 "$here"; [ $(stat -c %a "$there") = 640 ]
                    done
                    exec 3<>"$there"; echo held >&3; grep -qx held "$here"; printf HELD | dd of="$here" conv=notrunc 2>/dev/null
                    cat "$there"' {} "$MOUNT/a.txt"
                """)
            #expect(result.status == 0, "\(result.stdout) \(result.stderr)")
            #expect(result.stdout.hasPrefix("HELD\n"), "\(result.stdout)")
            try requireNothingLeft(mount)
        }
    }

    @Test("the scoped item follows renames, moves and deletion in the mount")
    func goesAlong() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let script = """
                set -e; cd "$HYDRANT_SCOPED_FOLDER"; echo draft > draft
                mv "$MOUNT/a.txt" "$MOUNT/folder/b.txt"
                [ "$(ls)" = "b.txt
                draft" ]; cat b.txt
                mv draft b.txt; cat b.txt; cat "$MOUNT/folder/b.txt"
                rm "$MOUNT/folder/b.txt"; [ -z "$(ls)" ]
                echo again > b.txt; cat "$MOUNT/folder/b.txt"
                """
            let result = try use(mount, bookmark, script)
            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.stdout == "first\ndraft\ndraft\nagain\n")
            try requireNothingLeft(mount)
        }
    }

    @Test(
        "put aside for any time, and then replaced: the document is changed, and its old contents become the backup"
    )
    func putAside() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let script = """
                set -e; cd "$HYDRANT_SCOPED_FOLDER"
                mv a.txt backup; ! cat a.txt 2>/dev/null; cat backup; sleep 1
                cat "$MOUNT/a.txt"; echo new > a.txt; cat a.txt backup; ls
                mv a.txt again; mv again a.txt; cat a.txt
                mv a.txt older; echo newest > next; mv next a.txt; cat a.txt older; rm older
                mv a.txt "name it had"; ls; ! mv -T --no-clobber "name it had" backup || [ -e "name it had" ]
                """
            let result = try use(mount, bookmark, script)
            #expect(result.status == 0, "\(result.stderr)")
            #expect(
                result.stdout
                    == "first\nfirst\nnew\nfirst\na.txt\nbackup\nnew\nnewest\nnew\nbackup\nname it had\n",
                "\(result.stdout)")
            #expect(try mount.run("cat a.txt") == "newest\n")
            try mount.sync()
            #expect(
                !mount.hookCalls().contains { ["deleteItem", "createItem", "moveItem"].contains($0.hook.rawValue) })
            #expect(try String(contentsOfFile: mount.store + "/a.txt", encoding: .utf8) == "newest\n")
            try requireNothingLeft(mount)
        }
    }

    @Test("old contents put aside are there at once when the new ones are closed")
    func oldAtOnce() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let script = """
                set -e; cd "$HYDRANT_SCOPED_FOLDER"; echo 0 > a.txt
                for i in $(seq 200); do
                  mv a.txt backup; echo $i > a.txt; [ "$(cat backup)" = $((i - 1)) ]; rm backup
                done; cat a.txt
                """
            let result = try use(mount, bookmark, script)
            #expect(result.stdout == "200\n", "\(result.stderr)")
            try requireNothingLeft(mount)
        }
    }

    @Test(
        "items of the store are not removed with the scope, nor moved into folders made there or out of a granted folder"
    )
    func keeping() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let script = """
                cd "$HYDRANT_SCOPED_FOLDER"; mkdir old sub; echo x > draft; mv draft sub/draft; cat sub/draft
                for try in "mv a.txt old/" "ln a.txt second" "mv sub a.txt" "mv -T sub a.txt" "mkdir a.txt"; do
                    $try 2>/dev/null && echo "went: $try"
                done
                mv a.txt aside; mkdir a.txt 2>/dev/null && echo made; ln -s x a.txt 2>/dev/null && echo linked
                cat aside; sleep 1.5
                """
            let result = try use(mount, bookmark, script)
            #expect(result.stdout == "x\nfirst\n", "\(result)")
            #expect(try mount.run("cat a.txt") == "first\n")
            let folder = try self.bookmark(mount, "folder")
            let second = try mount.shell(
                """
                "$HYDRANT" access \(folder) -- bash -c 'cd "$HYDRANT_SCOPED_FOLDER"; mkdir x
                    mv folder/in.txt . 2>/dev/null && echo went; mv folder/in.txt x/ 2>/dev/null && echo went
                    mv folder x/ 2>/dev/null && echo went; echo new > x/new; mv x/new folder/new; ls folder'
                """)
            #expect(second.stdout == "in.txt\nnew\n", "\(second)")
            try mount.sync()
            #expect(
                try mount.run("cat folder/in.txt folder/new; ls \"$STORE\"") == "inside\nnew\na.txt\nb.txt\nfolder\n")
            #expect(!mount.hookCalls().contains { ["deleteItem", "moveItem"].contains($0.hook.rawValue) })
            try requireNothingLeft(mount)
        }
    }

    @Test("the document's earlier names still lead to it; another item under its name does not")
    func names() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try mount.run("echo x > a.txt-journal; echo y > folder-wal; \"$HYDRANT\" sync \"$MOUNT\"")
            let bookmark = try bookmark(mount, "a.txt")
            let result = try mount.shell(
                """
                "$HYDRANT" access \(bookmark) -- bash -ec 'cd "$HYDRANT_SCOPED_FOLDER"
                    [ "$(ls -A)" = a.txt ]; ! cat a.txt-journal 2>/dev/null
                    mv "$MOUNT/a.txt" "$MOUNT/renamed.txt"
                    echo saved > tmp; mv tmp a.txt; cat "$MOUNT/renamed.txt"
                    echo again > a.txt; cat "$MOUNT/renamed.txt"; ls
                    echo mine > a.txt-journal; cat a.txt-journal "$MOUNT/a.txt-journal"
                    mv "$MOUNT/b.txt" "$MOUNT/renamed.txt"
                    for try in $(seq 300); do [ -e renamed.txt ] || break; sleep 0.1; done
                    cat renamed.txt 2>/dev/null && echo "still there"; ls
                    echo work > renamed.txt; cat renamed.txt'
                """)
            #expect(result.stdout == "saved\nagain\nrenamed.txt\nmine\nx\na.txt-journal\nwork\n", "\(result)")
            #expect(
                try mount.run("cat renamed.txt a.txt-journal renamed\\ \\(conf*; rm renamed\\ *; ls")
                    == "second\nx\nwork\na.txt-journal\nfolder\nfolder-wal\nrenamed.txt\n")
            let folder = try self.bookmark(mount, "folder")
            #expect(
                try mount.run("\"$HYDRANT\" access \(folder) -- sh -c 'ls -A \"$HYDRANT_SCOPED_FOLDER\"'") == "folder\n"
            )
            try requireNothingLeft(mount)
        }
    }

    @Test("perl -i with a backup reads the old contents while it writes the new; when cut off, the old version is kept")
    func cutOff() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            try mount.run("\"$HYDRANT\" access \(bookmark) -- perl -i.bak -pe 's/first/FIRST/' {}")
            #expect(try mount.run("cat a.txt; ls") == "FIRST\na.txt\nb.txt\nfolder\n")
            let saving = try mount.start(
                "exec \"$HYDRANT\" access \(bookmark) -- sh -c 'mv \"$0\" \"$0~\"; exec 3> \"$0\"; echo half >&3; echo ready; exec sleep 600' {}"
            )
            try waitUntil(10, "it writes") { saving.stdout.contains("ready") }
            saving.signal(SIGKILL)
            try waitUntil(10, "its folder is gone") { scopedFolders(mount).isEmpty }
            #expect(try mount.run("cat a.txt") == "half\n")
            #expect(try mount.run("cat a\\ \\(conflicted*") == "FIRST\n")
            try mount.run("rm a\\ \\(conflicted*")
            // The same when it is the program that is killed, and the access goes on.
            try mount.run(
                """
                printf '%s\\n' 'mv "$1" "$1~"; exec 3> "$1"; echo ha >&3; kill -9 $$' > "$SCRATCH/saver"
                "$HYDRANT" access \(bookmark) -- sh -c 'sh "$SCRATCH/saver" "$0"; true' {}
                """)
            #expect(try mount.run("cat a.txt; cat a\\ \\(conflicted*") == "ha\nhalf\n")
            try mount.run("rm a\\ \\(conflicted*")
            // The same when it is the daemon that is killed.
            let again = try mount.start(
                "cd /; exec \"$HYDRANT\" access \(bookmark) -- sh -c 'mv \"$0\" \"$0~\"; exec 3> \"$0\"; echo ha >&3; echo ready; exec sleep 600' {}"
            )
            try waitUntil(10, "it writes") { again.stdout.contains("ready") }
            try mount.kill9()
            again.signal(SIGKILL)
            _ = again.wait(limit: 5)
            try mount.remount()
            #expect(try mount.run("cat a\\ \\(conflicted*") == "ha\n")
            try requireNothingLeft(mount)
        }
    }

    @Test("appended from both sides, line after line, no line is lost")
    func appending() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            try mount.run("cat a.txt")
            let result = try mount.shell(
                """
                "$HYDRANT" access \(bookmark) -- bash -ec 'exec 3>>"$0" 4>>"$1"
                    for n in 1 2 3 4 5 6 7 8 9; do echo "here $n" >&3; echo "there $n" >&4; done; wc -l < "$0"' {} "$MOUNT/a.txt"
                """)
            #expect(result.stdout == "19\n", "\(result)")
        }
    }

    @Test("editors save in the scoped folder: vim with backups, emacs, nano; sqlite; their leftover files are removed")
    func editors() async throws {
        try await withMount(.with { $0.limit = 90 }, seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            for (number, options) in ["", "set backupcopy=no", "set backup backupcopy=no", "set backup backupcopy=yes"]
                .enumerated()
            {
                try mount.run(
                    "\"$HYDRANT\" access \(bookmark) -- vim -u NONE -es -c 'set nocp' -c '\(options)' -c '%s/.*/vim \(number)/' -c 'wq!' {}",
                    limit: 30)
                #expect(try mount.run("cat a.txt") == "vim \(number)\n", "\(options)")
                try requireNothingLeft(mount)
            }
            try mount.run(
                "\"$HYDRANT\" access \(bookmark) -- emacs --batch {} --eval '(progn (setq make-backup-files t) (erase-buffer) (insert \"emacs\\n\") (save-buffer))'",
                limit: 60)
            #expect(try mount.run("cat a.txt") == "emacs\n")
            try requireNothingLeft(mount)

            try mount.run("sqlite3 data.sqlite 'create table t(a); insert into t values (1)'")
            let database = try self.bookmark(mount, "data.sqlite")
            for journal in ["delete", "wal", "truncate"] {
                let script = """
                    \"$HYDRANT\" access \(database) -- sqlite3 {} 'pragma journal_mode=\(journal); \
                    insert into t select max(a) + 1 from t; pragma integrity_check'
                    """
                #expect(try mount.run(script).hasSuffix("ok\n"), "\(journal)")
            }
            #expect(try mount.run("sqlite3 data.sqlite 'select max(a) from t'") == "4\n")
            try requireNothingLeft(mount)
        }
    }

    // MARK: Whose it is

    @Test("limits of a right: another program, an expired right and a revoked one are refused")
    func rights() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let cat = try bookmark(mount, "a.txt", "--grant read --for cat")
            #expect(try mount.run("\"$HYDRANT\" access \(cat) -- cat {}") == "first\n")
            let other = try mount.hydrant(["access", cat, "--", "head", "{}"])
            #expect(other.status == 1)
            #expect(other.stderr.contains("only /"), "\(other.stderr)")
            // Another program that says it is that one: the kernel knows better.
            let python = try mount.python(
                """
                import json, os, socket, struct
                directory = os.environ["XDG_RUNTIME_DIR"] + "/hydrant/"
                name = [name for name in os.listdir(directory) if name.endswith(".sock")][0]
                import base64
                text = "\(cat)".replace("-", "+").replace("_", "/")
                client = socket.socket(socket.AF_UNIX); client.connect(directory + name)
                request = {"access": {"_0": {"bookmark": text + "=" * (-len(text) % 4), "pid": os.getpid(),
                                             "program": os.path.realpath("/usr/bin/cat")}}}
                body = json.dumps(request).encode()
                client.sendall(struct.pack(">I", len(body)) + body)
                length = struct.unpack(">I", client.recv(4))[0]
                print(client.recv(length).decode())
                """)
            #expect(python.contains("notGranted"), "\(python)")

            let short = try bookmark(mount, "b.txt", "--grant write --days 0.0001")
            let held = try mount.shell(
                "\"$HYDRANT\" access \(short) -- sh -c 'while cat \"$0\"; do sleep 0.1; done; exit 3' {}", limit: 20)
            #expect(held.status != 0 && held.stdout.contains("second"))
            #expect(held.stderr.contains("the right has expired"), "\(held.stderr)")
            let late = try mount.hydrant(["access", short, "--", "true"])
            #expect(late.status == 1)

            let all = try grants(mount)
            #expect(all.map(\.path) == [mount.mountPoint + "/a.txt"])
            #expect(all[0].isWritable == false)
            #expect(all[0].program?.hasSuffix("/cat") == true)
            let loose = try bookmark(mount, "b.txt")
            let running = try mount.start(
                "exec \"$HYDRANT\" access \(loose) -- sh -c 'while cat \"$0\"; do sleep 0.1; done; echo gone' {}")
            try waitUntil(10, "it reads") { running.stdout.contains("second") }
            let id = try #require(try grants(mount).last).id
            let revoked = try mount.hydrant(["grants", "--revoke", id, mount.mountPoint])
            #expect(revoked.status == 0, "\(revoked.stderr)")
            let end = running.wait(limit: 10)
            #expect(end.stdout.hasSuffix("gone\n"))
            #expect(end.stderr.contains("the right was revoked"), "\(end.stderr)")
            #expect(try mount.hydrant(["access", loose, "--", "true"]).status == 1)
            // The bookmark itself still names the document.
            let found = try mount.hydrant(["bookmark", "resolve", loose])
            #expect(found.stdout == mount.mountPoint + "/b.txt\n")
            #expect(found.stderr.contains("grant"), "\(found.stderr)")
            #expect(try mount.hydrant(["grants", "--revoke", id, mount.mountPoint]).status == 1)
            try requireNothingLeft(mount)
        }
    }

    @Test("rights survive a restart; leftovers of a killed daemon are removed, and a document put aside is back")
    func restart() async throws {
        try await withMount(.with { $0.limit = 60 }, seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try bookmark(mount, "a.txt")
            let running = try mount.start(
                "exec \"$HYDRANT\" access \(bookmark) -- sh -c 'cd \"$HYDRANT_SCOPED_FOLDER\"; echo x > draft; mv a.txt aside; echo ready; exec sleep 600'"
            )
            try waitUntil(10, "it is put aside") { running.stdout.contains("ready") }
            #expect(try mount.run("ls -A | grep -c hydrant-scoped; cat a.txt") == "1\nfirst\n")
            try mount.kill9()
            running.signal(SIGKILL)
            _ = running.wait(limit: 5)
            try mount.remount()
            #expect(try mount.run("cat a.txt") == "first\n")
            try requireNothingLeft(mount)
            #expect(try mount.run("\"$HYDRANT\" access \(bookmark) -- cat {}") == "first\n")
            // Unmounted in mid-access: the program loses it, nothing stays.
            let again = try mount.start(
                "cd /; exec \"$HYDRANT\" access \(bookmark) -- sh -c 'cd \"$HYDRANT_SCOPED_FOLDER\"; mv a.txt aside; echo ready; exec sleep 600'"
            )
            try waitUntil(10, "it is put aside") { again.stdout.contains("ready") }
            try mount.unmount()
            try waitUntil(10, "its folder is gone") { scopedFolders(mount).isEmpty }
            again.signal(SIGKILL)
            _ = again.wait(limit: 5)
            try mount.mount()
            #expect(try mount.run("cat a.txt") == "first\n")
            try requireNothingLeft(mount)
        }
    }

    // MARK: In Swift

    @Test(
        "accesses are counted: the item is there until as many stops as starts; as text the URL is a path without a right"
    )
    func counted() async throws {
        try await FileCoordinatorTests.withDomain { mount in
            let made = try await Bookmark.make(
                of: FileCoordinatorTests.url(mount, "a.txt"), scope: SecurityScope(.write))
            let scoped = try #require(try await made.resolve().scopedURL)
            #expect(scoped.description == mount.mountPoint + "/a.txt")
            let url = try await scoped.startAccessing()
            #expect(url.lastPathComponent == "a.txt")
            #expect(try await scoped.startAccessing() == url)
            await scoped.stopAccessing()
            #expect(try FileCoordinatorTests.text(url) == "first\n")
            // Another start elsewhere is another folder.
            let other = try #require(try await Bookmark(text: made.text)?.resolve().scopedURL)
            let elsewhere = try await other.startAccessing()
            #expect(elsewhere != url)
            await scoped.stopAccessing()
            #expect(!FileManager.default.fileExists(atPath: url.path(percentEncoded: false)))
            #expect(try FileCoordinatorTests.text(elsewhere) == "first\n")
            // Coordinated at the scoped URL, it is the document that is claimed.
            try await FileCoordinator().coordinate(writingItemAt: elsewhere) { (granted: URL) async throws in
                #expect(granted == elsewhere)
                let taken = try mount.hydrant([
                    "coordinate", "--read", mount.mountPoint + "/a.txt", "--timeout", "0.3", "--", "true",
                ])
                #expect(taken.status == 75)
                try Data("coordinated\n".utf8).write(to: granted)
            }
            // What is beside it is not the document.
            let draft = elsewhere.deletingLastPathComponent().appending(path: "draft", directoryHint: .notDirectory)
            try await FileCoordinator().coordinate(writingItemAt: draft) { (granted: URL) async throws in
                #expect(granted == draft)
                try Data("draft\n".utf8).write(to: granted)
            }
            #expect(try FileCoordinatorTests.text(elsewhere) == "coordinated\n")
            await other.stopAccessing()
            await other.stopAccessing()
            #expect(try mount.run("cat a.txt") == "coordinated\n")
            // Nobody holds it any more once the object is gone.
            do {
                let brief = try #require(try await made.resolve().scopedURL)
                _ = try await brief.startAccessing()
            }
            try waitUntil(10, "it is let go of") { scopedFolders(mount).isEmpty }
        }
    }
}
