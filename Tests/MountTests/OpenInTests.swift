import ControlAPI
import Foundation
import MountHarness
import Testing

/// Programs of a test's own, and nothing of this machine's but its MIME types.
enum Desktop {
    /// For the start of a script. `entry ID LINE…` makes a desktop entry in the user's folder; the program `$APP` writes its
    /// arguments and what it was told, to `$SCRATCH/opened`, when it is all there.
    static let prelude = #"""
        export XDG_DATA_DIRS="$SCRATCH/share" XDG_CONFIG_HOME="$SCRATCH/conf" APP="$SCRATCH/app"
        unset DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY
        mkdir -p "$SCRATCH/share" "$SCRATCH/conf" "$XDG_DATA_HOME/applications"
        ln -sfn /usr/share/mime "$SCRATCH/share/mime"
        cat >"$APP" <<'APP'
        #!/bin/sh
        {
            for word; do printf 'word %s\n' "$word"; done
            printf 'annotation %s\nsource %s\n' "$HYDRANT_ANNOTATION" "$HYDRANT_SOURCE_PROGRAM"
            eval "$HYDRANT_TEST_DO"
        } >"$SCRATCH/opening" 2>&1
        mv "$SCRATCH/opening" "$SCRATCH/opened"
        APP
        chmod +x "$APP"
        entry() {
            local id=$1; shift
            { printf '[Desktop Entry]\nType=Application\nName=%s\n' "${id%.desktop}"
              for line; do printf '%s\n' "$line"; done
            } >"$XDG_DATA_HOME/applications/$id.desktop"
            update-desktop-database -q "$XDG_DATA_HOME/applications"
        }
        list() { "$HYDRANT" open --list "$@" | sed 's/ .*(/ (/'; }
        opened() { while [[ ! -e $SCRATCH/opened ]]; do sleep 0.02; done; cat "$SCRATCH/opened"; rm "$SCRATCH/opened"; }

        """#
}

@Suite("Open in, at a real mount")
struct OpenInMountTests {
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("letter.txt", "Dear Ada\n")
        try seeding.file("code.c", "int main;\n")
        try seeding.file("photo.png", String(repeating: "p", count: 3_000))
        try seeding.file("thing.zzz", "thing\n")
        try seeding.file("folder/inside.txt", "inside\n")
    }

    private func withDesktop(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(.with { $0.limit = 90 }, seed: Self.seed) { mount in
            try mount.run("ls -R >/dev/null")
            try body(mount)
        }
    }

    @Test("Open In lists the registered programs, the default first, for placeholders too, and downloads nothing")
    func offers() async throws {
        try await withDesktop { mount in
            let listed = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    entry org.b "Exec=$APP %f" "MimeType=text/plain;image/png;"
                    entry org.hidden "Exec=$APP %f" "MimeType=text/plain;" "Hidden=true"
                    entry org.gone "Exec=$APP %f" "MimeType=text/plain;" "TryExec=/no/such/program"
                    entry org.quiet "Exec=$APP %f" "MimeType=text/x-csrc;" "NoDisplay=true"
                    entry org.other "Exec=$APP %f" "MimeType=text/plain;" "OnlyShowIn=OTHER;"
                    entry org.added "Exec=$APP %f"
                    list letter.txt
                    echo =; list code.c
                    echo =; list --type public.png
                    printf '[Default Applications]\\ntext/plain=org.b.desktop;\\n[Added Associations]\\ntext/plain=org.added.desktop;\\n[Removed Associations]\\ntext/plain=org.a.desktop;\\n' >"$XDG_CONFIG_HOME/mimeapps.list"
                    echo =; list letter.txt
                    """)
            #expect(
                listed == """
                    org.a.desktop (default)
                    org.b.desktop (alternate)
                    =
                    org.quiet.desktop (default)
                    org.a.desktop (alternate)
                    org.b.desktop (alternate)
                    =
                    org.b.desktop (default)
                    =
                    org.b.desktop (default)
                    org.added.desktop (alternate)

                    """)
            #expect(try mount.status("letter.txt").state == .placeholder)
        }
    }

    @Test(
        "the chosen program gets the whole document, with annotation and source; a program is found by name or path too"
    )
    func opens() async throws {
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP --new %f" "MimeType=text/plain;"
                    entry org.second "Exec=$APP %U" "MimeType=text/plain;" "Name[de]=Zweites"
                    "$HYDRANT" open letter.txt --annotation '{"page": 3}' --source tester
                    opened
                    "$HYDRANT" open folder/inside.txt --with org.second; opened
                    "$HYDRANT" open letter.txt --with "$APP" --wait
                    opened
                    """)
            #expect(
                output
                    == """
                    word --new
                    word \(mount.mountPoint)/letter.txt
                    annotation {"page":3}
                    source tester
                    word file://\(mount.mountPoint)/folder/inside.txt
                    annotation 
                    source hydrant
                    word \(mount.mountPoint)/letter.txt
                    annotation 
                    source hydrant

                    """.replacing("source hydrant\n\n", with: "source hydrant\n"), "\(output)")
            #expect(try mount.status("letter.txt").state == .downloaded)
        }
    }

    @Test("with --wait the program's status is the command's, and JSON has it")
    func waits() async throws {
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + """
                    printf '#!/bin/sh\\nexit 7\\n' >"$APP"
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;" "Icon=some-icon"
                    "$HYDRANT" open letter.txt --wait --json || echo "status $?"
                    """)
            let parts = output.split(separator: "}\n")
            #expect(parts.last == "status 7\n")
            let text = output.prefix { $0 != "s" || true }.components(separatedBy: "\nstatus").first ?? ""
            let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(object["status"] as? Int == 7 && object["mimeType"] as? String == "text/plain" && object.count == 6)
            let program = try #require(object["program"] as? [String: Any])
            #expect(program["id"] as? String == "org.a.desktop" && program["rank"] as? String == "default")
            #expect(program["icon"] as? String == "some-icon")
        }
    }

    @Test("without a registered program the command says that there is nothing to show, and downloads nothing")
    func nothing() async throws {
        try await withDesktop { mount in
            let result = try mount.shell(
                Desktop.prelude + #"exec "$HYDRANT" open thing.zzz"#)
            #expect(result.status == 3 && result.stderr.contains("thing.zzz: no program is registered"), "\(result)")
            let listed = try mount.shell(Desktop.prelude + #"exec "$HYDRANT" open --list thing.zzz --json"#)
            #expect(listed.status == 3 && listed.stdout == "[\n\n]\n", "\(listed)")
            let unknown = try mount.shell(Desktop.prelude + #"exec "$HYDRANT" open letter.txt --with org.none"#)
            #expect(unknown.status == 1 && unknown.stderr.contains("is not an installed program"), "\(unknown)")
            let gone = try mount.shell(Desktop.prelude + #"exec "$HYDRANT" open none.txt"#)
            #expect(gone.status == 1 && gone.stderr.contains("none.txt: No such file"), "\(gone)")
            #expect(try mount.status("thing.zzz").state == .placeholder)
        }
    }

    @Test("a failed download is reported, and no program is started")
    func downloadFails() async throws {
        try await withDesktop { mount in
            let result = try mount.shell(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    mv "$STORE" "$STORE.away"; status=0
                    "$HYDRANT" open letter.txt || status=$?
                    mv "$STORE.away" "$STORE"; test ! -e "$SCRATCH/opened"; exit $status
                    """)
            #expect(result.status == 1 && result.stderr.contains("letter.txt: cannot be downloaded"), "\(result)")
        }
    }

    @Test("the progress of a download is reported")
    func progress() async throws {
        try await withDesktop { mount in
            try Seeding(mount.store).file("long.txt", String(repeating: "0123456789abcde\n", count: 60_000))
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    until [[ -e long.txt ]]; do sleep 0.05; done
                    "$HYDRANT" limit --download 400K "$MOUNT" >/dev/null
                    "$(dirname "$HYDRANT")/hydrant-interact" long.txt open-in:org.a.desktop; opened
                    """)
            let lines = output.split(separator: "\n").map(String.init)
            #expect(lines[0].hasPrefix("downloading: ") && lines[0].hasSuffix(" of 960000 bytes"), "\(output)")
            #expect(
                lines.contains("opened in org.a") && lines.contains("word \(mount.mountPoint)/long.txt"), "\(output)")
        }
    }

    @Test("a scoped program gets the document in its own folder until it ends; nothing of the right is left")
    func scoped() async throws {
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    export HYDRANT_TEST_DO='cat "$HYDRANT_SCOPED_PATH"; ls "$HYDRANT_SCOPED_FOLDER"; echo more >>"$1" || echo refused'
                    "$HYDRANT" open letter.txt --scoped read; opened
                    "$HYDRANT" open letter.txt --scoped write; opened
                    cat letter.txt; "$HYDRANT" grants --json "$MOUNT"; ls "$XDG_RUNTIME_DIR/hydrant/scoped"
                    """)
            let lines = output.split(separator: "\n").map(String.init)
            let place = mount.sandbox.runtime + "/hydrant/scoped/"
            #expect(lines[0].hasPrefix("word \(place)") && lines[0].hasSuffix("/letter.txt"))
            #expect(lines[3...4] == ["Dear Ada", "letter.txt"] && output.contains("refused"), "\(output)")
            #expect(output.components(separatedBy: "refused").count == 2)
            #expect(output.hasSuffix("Dear Ada\nmore\n[\n\n]\n"), "\(output)")
        }
    }

    @Test(
        "a scope ends when its terminal is closed or the command is ended; the program goes on",
        arguments: ["HUP", "TERM"])
    func scopedInterrupted(_ signal: String) async throws {
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    export HYDRANT_TEST_DO='until [ -e "$SCRATCH/go" ]; do sleep 0.05; done; ls "$HYDRANT_SCOPED_FOLDER" || echo ended'
                    env --default-signal=\(signal) "$HYDRANT" open letter.txt --scoped write & command=$!
                    until [ -e "$SCRATCH/opening" ]; do sleep 0.05; done
                    "$HYDRANT" grants --json "$MOUNT" | grep -c '"id"'
                    kill -\(signal) $command; status=0; wait $command || status=$?; echo $status
                    "$HYDRANT" grants --json "$MOUNT"; ls "$XDG_RUNTIME_DIR/hydrant/scoped"
                    touch "$SCRATCH/go"; opened | tail -n 1
                    """)
            #expect(output == "1\n\(128 + (signal == "HUP" ? SIGHUP : SIGTERM))\n[\n\n]\nended\n", "\(output)")
        }
    }

    @Test("a desktop entry whose working directory (Path) does not exist: the error names the folder")
    func startingFolder() async throws {
        try await withDesktop { mount in
            let result = try mount.shell(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;" "Path=/no/such/place"
                    exec "$HYDRANT" open letter.txt
                    """)
            #expect(
                result.status == 1 && result.stderr.contains("hydrant: /no/such/place: No such file or directory"),
                "\(result)")
        }
    }

    /// A program that has a name on the bus and writes what it is asked.
    private static let service = """
        import json, os, sys
        from gi.repository import Gio, GLib
        XML = '''<node><interface name="org.freedesktop.Application"><method name="Open">
            <arg type="as" direction="in"/><arg type="a{sv}" direction="in"/></method></interface></node>'''
        loop = GLib.MainLoop()
        def called(bus, sender, path, interface, method, arguments, invocation):
            uris, data = arguments.unpack()
            with open(os.environ["SCRATCH"] + "/opening", "w") as file:
                json.dump({"path": path, "uris": uris, "data": data}, file, sort_keys=True)
            os.rename(os.environ["SCRATCH"] + "/opening", os.environ["SCRATCH"] + "/opened")
            invocation.return_value(None)
            GLib.timeout_add(200, loop.quit)
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        info = Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0]
        bus.register_object(sys.argv[1], info, called, None, None)
        Gio.bus_own_name_on_connection(bus, "org.example.Bus-App", Gio.BusNameOwnerFlags.NONE, None, None)
        loop.run()

        """

    @Test("a program that D-Bus activates is called over D-Bus, with annotation and source in platform-data")
    func bus() async throws {
        try await withDesktop { mount in
            try Seeding(mount.scratch).file("service.py", Self.service)
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.example.Bus-App "DBusActivatable=true" "MimeType=text/plain;"
                    mkdir -p "$XDG_DATA_HOME/dbus-1/services"
                    printf '[D-BUS Service]\\nName=org.example.Bus-App\\nExec=/usr/bin/python3 %s /org/example/Bus_App\\n' \
                        "$SCRATCH/service.py" >"$XDG_DATA_HOME/dbus-1/services/org.example.Bus-App.service"
                    export XDG_ACTIVATION_TOKEN=token-1
                    dbus-run-session -- "$HYDRANT" open letter.txt --annotation '[1]' --json >"$SCRATCH/json"
                    opened; echo; grep -c '"pid" : null' "$SCRATCH/json"
                    dbus-run-session -- "$HYDRANT" open letter.txt --scoped read; opened; echo
                    ls "$XDG_RUNTIME_DIR/hydrant/scoped"
                    # Without a bus there is nothing that would start it.
                    "$HYDRANT" open letter.txt || echo "status $?"
                    entry org.example.Bus-App "DBusActivatable=true" "MimeType=text/plain;" "Exec=$APP %f"
                    "$HYDRANT" open letter.txt; opened
                    """, limit: 60)
            let lines = output.split(separator: "\n").map(String.init)
            #expect(
                lines[0] == """
                    {"data": {"activation-token": "token-1", "hydrant-annotation": "[1]", "hydrant-source-program": "hydrant"}, \
                    "path": "/org/example/Bus_App", "uris": ["file://\(mount.mountPoint)/letter.txt"]}
                    """)
            #expect(lines[1] == "1" && lines[2].contains("/hydrant/scoped/") && lines[3] == "status 1", "\(output)")
            #expect(lines[4] == "word \(mount.mountPoint)/letter.txt")
        }
    }

    @Test("a program that needs a terminal gets ours; a program in its own session outlives the command")
    func terminals() async throws {
        try await withDesktop { mount in
            let without = try mount.shell(
                Desktop.prelude + """
                    entry org.t "Exec=$APP %f" "MimeType=text/plain;" "Terminal=true"
                    mkdir "$SCRATCH/bin"; export PATH="$SCRATCH/bin"; exec "$HYDRANT" open letter.txt
                    """)
            #expect(without.status == 1 && without.stderr.contains("runs in a terminal"), "\(without)")
            let script =
                Desktop.prelude + """
                    cat >"$APP" <<'APP'
                    #!/bin/sh
                    trap 'echo interrupted' INT; echo ready
                    until read line; do :; done; echo "got $line of $1"
                    APP
                    entry org.t "Exec=$APP %f" "MimeType=text/plain;" "Terminal=true"
                    "$HYDRANT" open "$MOUNT/letter.txt"; echo "ended with $?"

                    """
            try Seeding(mount.scratch).file("script", script)
            let session = try TerminalSession(mount, "bash \"$SCRATCH/script\" >\"$(tty)\"; true")
            defer { session.end() }
            try session.until("ready")
            // Ctrl-C is the program's, and nobody goes on before it has ended.
            try session.send("C-c")
            try session.until("interrupted", without: "ended")
            try session.type("hello")
            try session.send("Enter")
            try session.until("got hello of \(mount.mountPoint)/letter.txt", "ended with 0")
        }
    }

    @Test("type and icons of a document as JSON, and its picture from the desktop's cache unless it is old")
    func described() async throws {
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + #"""
                    mkdir -p "$XDG_DATA_HOME/icons/hicolor/48x48/mimetypes"
                    printf 'x' >"$XDG_DATA_HOME/icons/hicolor/48x48/mimetypes/image-png.png"
                    "$HYDRANT" types of photo.png --json; "$HYDRANT" types of thing.zzz; "$HYDRANT" types of folder
                    cp thing.zzz "$SCRATCH/a picture.png"; export XDG_CACHE_HOME="$SCRATCH/cache"
                    /usr/bin/python3 - <<'PYTHON'
                    import hashlib, os, struct, urllib.parse, zlib
                    path = os.environ["SCRATCH"] + "/a picture.png"
                    os.utime(path, (1700000000, 1700000000))
                    name = hashlib.md5(("file://" + urllib.parse.quote(path)).encode()).hexdigest()
                    def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"0" * 13) + chunk(b"tEXt", b"Thumb::MTime\x001700000000")
                            + chunk(b"IEND", b""))
                    folder = os.environ["XDG_CACHE_HOME"] + "/thumbnails/large"
                    os.makedirs(folder)
                    open(folder + "/" + name + ".png", "wb").write(data)
                    print(len(data))
                    PYTHON
                    interact="$(dirname "$HYDRANT")/hydrant-interact"
                    "$interact" "$SCRATCH/a picture.png" | grep thumbnail
                    touch "$SCRATCH/a picture.png"; "$interact" "$SCRATCH/a picture.png" | grep thumbnail
                    """#)
            let parts = output.components(separatedBy: "}\n")
            let text = parts.dropLast().joined(separator: "}\n") + "}"
            let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(object["type"] as? String == "public.png" && object["mimeType"] as? String == "image/png")
            #expect(object["here"] as? Bool == false && object["preview"] as? String == "picture" && object.count == 8)
            let icons = try #require(object["icons"] as? [String: String])
            #expect(icons["48"]?.hasSuffix("/48x48/mimetypes/image-png.png") == true && icons.count == 7)
            #expect(
                parts.last == """
                    thing.zzz: dyn.mime.application/octet-stream (application/octet-stream)
                    folder: public.folder (inode/directory)
                    80
                      thumbnail: 80 bytes
                      thumbnail: 0 bytes

                    """, "\(output)")
            #expect(try mount.status("photo.png").state == .placeholder)
        }
    }

    @Test("the picture of a placeholder is the store's")
    func storesPicture() async throws {
        try await withSandbox(.with { $0.limit = 60 }) { mount in
            let built = String(Sandbox.executable.dropLast("/hydrant".count))
            let mounted = try mount.sandbox.run(
                [
                    Sandbox.executable, "mount", "memory://host/pictures", mount.mountPoint, "--state-dir",
                    mount.sandbox.state,
                ], environment: mount.environment.merging(["PATH": "\(built):/usr/bin:/bin"]) { $1 }, limit: 20)
            guard mounted.succeeded else { throw HarnessError("cannot mount: \(mounted)") }
            let output = try mount.run(
                PreviewTests.makesPDF + """
                    picture half.png; "$HYDRANT" sync --quiet "$MOUNT"; "$HYDRANT" evict --quiet half.png
                    "$(dirname "$HYDRANT")/hydrant-interact" half.png | grep 'here\\|thumbnail'; stat -c %s half.png
                    """)
            let lines = output.split(separator: "\n").map(String.init)
            #expect(lines[0] == "half.png: public.png, here: false")
            // (In whatever size the cache has it by now.)
            #expect(
                lines.count == 3 && lines[1].hasPrefix("  thumbnail: ") && lines[1] != "  thumbnail: 0 bytes",
                "\(output)"
            )
        }
    }

    @Test(
        "the menu has programs, preview, copy and print; the program in the documentation adds its own entry"
    )
    func documentedProgram() async throws {
        let root = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let program = try String(
            contentsOf: root.appending(path: "Sources/Examples/Interact/Interact.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(
                path: "Sources/DocumentInteraction/Documentation.docc/DocumentInteraction.md"), encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```"))
        try await withDesktop { mount in
            let output = try mount.run(
                Desktop.prelude + """
                    entry org.a "Exec=$APP %f" "MimeType=text/plain;"
                    mkdir -p "$XDG_DATA_HOME/icons/hicolor/48x48/mimetypes"
                    printf 'x' >"$XDG_DATA_HOME/icons/hicolor/48x48/mimetypes/text-plain.png"
                    interact="$(dirname "$HYDRANT")/hydrant-interact"
                    "$HYDRANT" open --menu letter.txt; "$HYDRANT" open --menu thing.zzz
                    "$interact" "$MOUNT/letter.txt" | grep -v '^  icon of 16'
                    "$interact" letter.txt count
                    "$interact" letter.txt preview
                    "$interact" letter.txt open-in:org.a.desktop; opened
                    "$interact" letter.txt none || echo "status $?"
                    "$interact" letter.txt copy || echo "status $?"
                    """)
            let icon = mount.sandbox.path + "/data/icons/hicolor/48x48/mimetypes/text-plain.png"
            #expect(
                output
                    == """
                    open-in:org.a.desktop  Open in org.a
                    preview  Preview
                    copy  Copy
                    print  Print
                    copy  Copy
                    letter.txt: public.plain-text, here: false
                      icon of 48: \(icon)
                      thumbnail: 0 bytes
                      open-in:org.a.desktop: Open in org.a
                      preview: Preview
                      copy: Copy
                      print: Print
                      count: Count its bytes
                    9 bytes
                    downloading: 9 of 9 bytes
                    Dear Ada
                    opened in org.a
                    word \(mount.mountPoint)/letter.txt
                    annotation {"asked-by":"hydrant-interact"}
                    source hydrant-interact
                    nothingToShow: letter.txt: no entry “none” in its menu
                    status 1
                    failed: there is no clipboard here; run this in a desktop session
                    status 1

                    """.replacing("downloading: 9 of 9 bytes\n", with: ""),
                "\(output)")
        }
    }
}
