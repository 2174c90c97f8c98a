import Foundation
import MountHarness
import Testing

/// Document types that a program registers, as other programs see them.
@Suite("Registered document types")
struct DocumentTypesTests {
    private static let manifest = """
        identifier = "org.example.notes"
        name = "Notes"
        program = "APP"
        arguments = ["--edit", "%f"]
        icons = ["notes.svg"]
        [[types]]
        identifier = "org.example.note"
        name = "A note"
        conforms-to = ["public.plain-text"]
        mime = "application/x-hynote"
        extensions = ["hynote"]
        [[types]]
        identifier = "org.example.notebook"
        conforms-to = ["public.data"]
        mime = "application/x-hynotebook"
        extensions = ["hynb"]
        [[documents]]
        name = "Note"
        types = ["org.example.note", "org.example.notebook"]
        icons = ["note-48.png", "note.svg"]
        rank = "owner"
        [[documents]]
        name = "Text"
        types = ["public.plain-text"]
        """

    private static func seed(_ store: String) throws {
        try Seeding(store).file("a.hynote", "note\n")
        try Seeding(store).file("b.hynb", "book\n")
        try Seeding(store).file("c.txt", "text\n")
    }

    /// With the manifest and its icons in `$SCRATCH`.
    private static let files = #"""
        sed -i "s|APP|$APP|" "$SCRATCH/notes.toml"
        /usr/bin/python3 - <<'PYTHON'
        import os, struct, zlib
        def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\0" + b"\x80\x20\x20" * 48 for _ in range(48))
        with open(os.environ["SCRATCH"] + "/note-48.png", "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 48, 48, 8, 2, 0, 0, 0))
                       + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        PYTHON
        for name in note notes; do echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$SCRATCH/$name.svg"; done
        types() { (cd "$SCRATCH"; "$HYDRANT" types "$@"); }

        """#

    private func withManifest(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(.with { $0.limit = 90 }, seed: Self.seed) { mount in
            try Seeding(mount.scratch).file("notes.toml", Self.manifest)
            try body(mount)
        }
    }

    @Test(
        "gio, xdg-mime and hydrant find a registered program, its types and icons, the owner first; nothing after unregister"
    )
    func registers() async throws {
        try await withManifest { mount in
            let output = try mount.run(
                Desktop.prelude + Self.files + """
                    entry org.aaa "Exec=$APP %f" "MimeType=text/plain;application/x-hynote;"
                    types register notes.toml
                    gio mime application/x-hynote | sed -n 1p
                    xdg-mime query default application/x-hynote
                    XDG_CURRENT_DESKTOP=GNOME xdg-mime query filetype a.hynote
                    gio info -a standard::content-type b.hynb | tail -n 1
                    list a.hynote; list --type org.example.notebook; list c.txt
                    types
                    "$(dirname "$HYDRANT")/hydrant-interact" a.hynote | grep 'icon of\\|org.example' | sed 's|/.*/icons|icons|'
                    "$HYDRANT" open a.hynote; opened
                    # The user's own choice goes before the owner's.
                    printf '[Default Applications]\\napplication/x-hynote=org.aaa.desktop;\\n' >"$XDG_CONFIG_HOME/mimeapps.list"
                    list a.hynote
                    rm "$XDG_CONFIG_HOME/mimeapps.list"
                    """, limit: 60)
            #expect(
                output == """
                    org.example.notes: registered for Note, Text
                    Default application for “application/x-hynote”: org.example.notes.desktop
                    org.example.notes.desktop
                    application/x-hynote
                      standard::content-type: application/x-hynotebook
                    org.example.notes.desktop (default)
                    org.aaa.desktop (alternate)
                    org.example.notes.desktop (default)
                    org.aaa.desktop (default)
                    org.example.notes.desktop (alternate)
                    org.example.notes  Notes  (\(mount.scratch)/app)
                      owner     Note: org.example.note, org.example.notebook
                      alternate Text: public.plain-text
                    a.hynote: org.example.note, here: false
                      icon of 16: icons/hicolor/scalable/mimetypes/application-x-hynote.svg
                      icon of 48: icons/hicolor/48x48/mimetypes/application-x-hynote.png
                      open-in:org.example.notes.desktop: Open in Notes
                    word --edit
                    word \(mount.mountPoint)/a.hynote
                    annotation 
                    source hydrant
                    org.aaa.desktop (default)
                    org.example.notes.desktop (owner)

                    """, "\(output)")
            let json = try mount.run(Desktop.prelude + "\"$HYDRANT\" types list --json")
            let all = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
            #expect(all.count == 1 && all[0]["identifier"] as? String == "org.example.notes" && all[0].count == 5)
            // What is started from now on knows them.
            try mount.remount()
            let found = try mount.run(
                """
                for kind in org.example.note text; do "$HYDRANT" find kind:$kind --in "$MOUNT" | sed 's|.*/||'; done
                """)
            #expect(found == "a.hynote\na.hynote\nc.txt\n", "\(found)")
            let after = try mount.run(
                Desktop.prelude + Self.files + """
                    types unregister org.example.notes
                    types unregister org.example.notes || echo "status $?"
                    list a.hynote; types
                    find "$XDG_DATA_HOME" -name '*note*'; grep -r hynote "$XDG_DATA_HOME/mime" "$XDG_DATA_HOME/hydrant" || true
                    grep -h example "$XDG_DATA_HOME"/applications/*.list || true
                    """)
            #expect(
                after == """
                    org.example.notes: unregistered
                    status 1
                    org.aaa.desktop (default)

                    """, "\(after)")
        }
    }

    @Test("without the tools that make the databases, Hydrant still writes their entries, and removes them again")
    func withoutTools() async throws {
        try await withManifest { mount in
            let output = try mount.run(
                Desktop.prelude + Self.files + """
                    # As it is on a machine that has none of them: programs read other files then.
                    rm "$SCRATCH/share/mime"; mkdir "$SCRATCH/share/mime" "$SCRATCH/bin"
                    cp /usr/share/mime/{globs2,globs,subclasses,aliases,types,magic,icons,generic-icons} "$SCRATCH/share/mime"
                    without() { PATH="$SCRATCH/bin" "$HYDRANT" types "$@"; }
                    without register "$SCRATCH/notes.toml"; without register "$SCRATCH/notes.toml"
                    gio mime application/x-hynote | sed -n 1p
                    gio info -a standard::content-type a.hynote | tail -n 1
                    list b.hynb; list c.txt
                    without unregister org.example.notes
                    gio mime application/x-hynote
                    gio info -a standard::content-type b.hynb | tail -n 1; list c.txt || echo "status $?"
                    """)
            #expect(
                output == """
                    org.example.notes: registered for Note, Text
                    org.example.notes: registered for Note, Text
                    Default application for “application/x-hynote”: org.example.notes.desktop
                      standard::content-type: application/x-hynote
                    org.example.notes.desktop (default)
                    org.example.notes.desktop (default)
                    org.example.notes: unregistered
                    No default applications for “application/x-hynote”
                      standard::content-type: text/plain
                    status 3

                    """, "\(output)")
        }
    }

    @Test("an invalid manifest changes nothing; another program's entry and types stay unchanged")
    func refuses() async throws {
        try await withManifest { mount in
            let output = try mount.run(
                Desktop.prelude + Self.files + """
                    exec 2>&1
                    says() { types register "$1" 2>&1 | sed 's| /tmp/[^ ]*/| |g'; }
                    says none.toml || true
                    echo 'x = 1' >"$SCRATCH/bad.toml"; says bad.toml | sed 's|Decoding.*||' || true
                    sed 's|note-48|none|' "$SCRATCH/notes.toml" >"$SCRATCH/icon.toml"; says icon.toml || true
                    sed 's|^program.*|program = "/no/such"|' "$SCRATCH/notes.toml" >"$SCRATCH/program.toml"; says program.toml || true
                    find "$XDG_DATA_HOME" -type f -not -name .lock -not -name mimeinfo.cache
                    types register notes.toml
                    sed 's|org.example.notes|org.example.thief|' "$SCRATCH/notes.toml" >"$SCRATCH/thief.toml"; says thief.toml || true
                    entry org.example.mine "Exec=$APP"
                    sed 's|org.example.notes|org.example.mine|; s|example.note"|example.mynote"|; s|example.notebook|example.mybook|' \
                        "$SCRATCH/notes.toml" >"$SCRATCH/mine.toml"; says mine.toml || true
                    # So do files of the same names, and another program's icons.
                    sed -i 's|x-hynote|x-mynote|; s|^icons = .*svg"\\]$|&\\ndbus-arguments = ["--serve"]|' "$SCRATCH/mine.toml"
                    rm "$XDG_DATA_HOME/applications/org.example.mine.desktop"
                    for file in mime/packages/org.example.mine.xml dbus-1/services/org.example.mine.service \
                        icons/hicolor/scalable/apps/org.example.mine.svg icons/hicolor/48x48/mimetypes/application-x-mynote.png
                    do
                        mkdir -p "$(dirname "$XDG_DATA_HOME/$file")"; echo others >"$XDG_DATA_HOME/$file"
                        says mine.toml || true
                        [ "$(cat "$XDG_DATA_HOME/$file")" = others ]; rm "$XDG_DATA_HOME/$file"
                    done
                    types register mine.toml; types register mine.toml
                    # What somebody has put in their place since stays.
                    for file in mime/packages/org.example.mine.xml dbus-1/services/org.example.mine.service \
                        icons/hicolor/scalable/apps/org.example.mine.svg
                    do
                        echo others >"$SCRATCH/others"; mv "$SCRATCH/others" "$XDG_DATA_HOME/$file"
                    done
                    types unregister org.example.mine
                    grep -rl others "$XDG_DATA_HOME" | sed 's|.*/||' | sort; find "$XDG_DATA_HOME" -name '*mynote*'
                    """)
            #expect(
                output == """
                    hydrant: none.toml: No such file or directory
                    hydrant: bad.toml: a manifest needs identifier, name, program and documents: 
                    hydrant: icons: none.png: unreadable, or larger than 4 MiB
                    hydrant: program: /no/such: no such program
                    org.example.notes: registered for Note, Text
                    hydrant: org.example.note: org.example.notes has declared it; name it in documents only
                    hydrant: org.example.mine.desktop: exists, and hydrant did not make it; remove it, or choose another identifier
                    hydrant: org.example.mine.xml: exists, and hydrant did not make it; remove it, or choose another identifier
                    hydrant: org.example.mine.service: exists, and hydrant did not make it; remove it, or choose another identifier
                    hydrant: org.example.mine.svg: exists, and is not this program's; remove it, or choose another identifier or MIME type
                    hydrant: application-x-mynote.png: exists, and is not this program's; remove it, or choose another identifier or MIME type
                    org.example.mine: registered for Note, Text
                    org.example.mine: registered for Note, Text
                    org.example.mine: unregistered
                    org.example.mine.service
                    org.example.mine.svg
                    org.example.mine.xml

                    """, "\(output)")
        }
    }
}
