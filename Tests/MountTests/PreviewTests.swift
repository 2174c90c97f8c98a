import ControlAPI
import Foundation
import MountHarness
import Testing

@Suite("Previews at a real mount")
struct PreviewTests {
    /// `makes NAME TEXT…`: a PDF with a page for each text.
    static let makesPDF = #"""
        makes() { /usr/bin/python3 - "$@" <<'PYTHON'
        import sys
        pages = sys.argv[2:]
        kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages)))
        objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
        for number, page in enumerate(pages):
            text = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % page.encode()
            objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
                b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number))
            objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text))
        data, places = b"%PDF-1.4\n", []
        for number, value in enumerate(objects, 1):
            places.append(len(data))
            data += b"%d 0 obj\n%s\nendobj\n" % (number, value)
        start = len(data)
        data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % p for p in places)
        data += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
        open(sys.argv[1], "wb").write(data)
        PYTHON
        }
        # A picture: PPM is what everything can write.
        picture() { /usr/bin/python3 - "$1" <<'PYTHON'
        import struct, sys, zlib
        def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\0" + b"\xff\xff\xff" * 32 + b"\x10\x10\x10" * 32 for _ in range(64))
        open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        PYTHON
        }

        """#

    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("notes.txt", "one\ttab\u{1b}[2J\nGrüße\n")
        try seeding.file("main.swift", "let x = 1 // <b>&\n")
        try seeding.file("table.csv", "name;n\n\"x;y\";1\nzwei;22\n")
        try seeding.file("data.bin", [0, 1, 2, 3])
        try seeding.file("false.txt", [0, 1, 2, 3])
        try seeding.file("broken.pdf", "no PDF\u{1b}]0;title\u{7}\n")
    }

    private func withDocuments(
        _ options: MountOptions = .with { $0.limit = 90 }, _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                Self.makesPDF + """
                    makes "$STORE/two.pdf" 'Quarterly figures' 'Second page'; picture "$STORE/half.png"
                    until [[ -e two.pdf && -e half.png ]]; do sleep 0.05; done
                    """)
            try body(mount)
        }
    }

    @Test(
        "text and code, CSV as a table, PDF by pages, pictures: one or several, downloaded first; no raw control characters"
    )
    func shows() async throws {
        try await withDocuments { mount in
            #expect(try mount.status("two.pdf").state == .placeholder)
            let text = try mount.run("\"$HYDRANT\" preview notes.txt")
            #expect(text == "one     tab\\x1b[2J\nGrüße\n")
            let all = try mount.run("\"$HYDRANT\" preview main.swift table.csv two.pdf")
            #expect(
                all == """
                    ==> main.swift <==
                    let x = 1 // <b>&
                    ==> table.csv <==
                    name │ n
                    ─────┼───
                    x;y  │ 1
                    zwei │ 22
                    ==> two.pdf <==
                    ── 1 of 2 ──
                    Quarterly figures
                    ── 2 of 2 ──
                    Second page

                    """, "\(all)")
            #expect(try mount.status("two.pdf").state == .downloaded)
            let picture = try mount.run("\"$HYDRANT\" preview half.png")
            #expect(picture.contains("PNG, 64 × 64 pixels\n") && !picture.contains("\u{1b}"))
            // Drawn by chafa: the white half and the dark one.
            #expect(picture.contains("█") || picture.contains("▌") || picture.contains("▐"), "\(picture)")
            #expect(try mount.run("\"$HYDRANT\" preview notes.txt main.swift --title Mine").hasPrefix("==> Mine <=="))
        }
    }

    @Test("each document without a preview is reported, and the others are shown")
    func nothing() async throws {
        try await withDocuments { mount in
            let result = try mount.hydrant(
                ["preview"]
                    + ["data.bin", "false.txt", "broken.pdf", "notes.txt"].map { mount.mountPoint + "/" + $0 })
            #expect(result.status == 3 && result.stdout.contains("Grüße"), "\(result)")
            #expect(result.stderr.contains("data.bin: there is no preview of application/octet-stream"))
            #expect(result.stderr.contains("false.txt: is not text, although its name says so"))
            #expect(result.stderr.contains("broken.pdf: cannot be read as PDF"))
            #expect(result.stderr.split(separator: "\n").count == 3 && !result.stderr.contains("\u{1b}"), "\(result)")
            #expect(try mount.status("data.bin").state == .placeholder)
            let folder = try mount.hydrant(["preview", mount.mountPoint])
            #expect(folder.status == 3 && folder.stderr.contains("there is no preview of folders"), "\(folder)")
            let gone = try mount.hydrant(["preview", mount.mountPoint + "/none.pdf"])
            #expect(gone.status == 1, "\(gone)")
            let missing = try mount.shell(
                "mkdir \"$SCRATCH/bin\"; PATH=\"$SCRATCH/bin\" exec \"$HYDRANT\" preview two.pdf")
            #expect(missing.status == 1 && missing.stderr.contains("install poppler-utils"), "\(missing)")
            let office = try mount.shell(
                "echo x >a.odt; PATH=\"$SCRATCH/bin\" exec \"$HYDRANT\" preview a.odt")
            #expect(office.status == 1 && office.stderr.contains("LibreOffice, which is not installed"), "\(office)")
        }
    }

    @Test("large documents are shown in part, with a note")
    func bounded() async throws {
        try await withDocuments { mount in
            try mount.run(
                """
                seq 30000 >lines.txt; seq -f '%g,x' 2000 >rows.csv; head -c 3M /dev/zero | tr '\\0' y >long.txt
                """)
            let lines = try mount.hydrant(["preview", mount.mountPoint + "/lines.txt"])
            #expect(
                lines.succeeded && lines.lines.count == 20_000 && lines.stderr.contains("goes on after these 20000"))
            let rows = try mount.hydrant(["preview", mount.mountPoint + "/rows.csv"])
            #expect(
                rows.succeeded && rows.lines.count == 1_001 && rows.stderr.contains("goes on after these 1000 rows"))
            let long = try mount.hydrant(["preview", mount.mountPoint + "/long.txt"])
            #expect(long.succeeded && long.stdout.count == 4_002)
        }
    }

    @Test("files for a front end: HTML without scripts, pictures of pages, the document itself; JSON names them")
    func files() async throws {
        try await withDocuments { mount in
            let result = try mount.shell(
                "exec \"$HYDRANT\" preview --json --to \"$SCRATCH/out\" --title 'A <title>' main.swift two.pdf half.png data.bin"
            )
            #expect(result.status == 3, "\(result)")
            let all = try #require(
                try JSONSerialization.jsonObject(with: Data(result.stdout.utf8)) as? [[String: Any]])
            #expect(all.map { $0["kind"] as? String } == ["text", "pdf", "picture", nil])
            #expect(all.allSatisfy { $0.count == 8 } && all[3]["error"] is String)
            let files = all.map { ($0["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String } }
            let folder = mount.scratch + "/out/"
            #expect(files[0] == [folder + "1/index.html"])
            #expect(
                files[1]
                    == ["index.html", "page-1.png", "page-2.png", "document.pdf"].map { folder + "2/" + $0 })
            #expect(files[2] == ["index.html", "picture.png"].map { folder + "3/" + $0 })
            let html = try Seeding(folder).text("1/index.html")
            #expect(html.contains("<pre>let x = 1 // &lt;b&gt;&amp;</pre>") && html.contains("A &lt;title&gt;"))
            #expect(html.contains("default-src 'none'"))
            let kinds = try mount.run(
                "cd \"$SCRATCH/out\"; head -c 4 2/page-2.png | tail -c 3; cmp 2/document.pdf \"$STORE/two.pdf\"")
            #expect(kinds == "PNG")
            let pages = try #require(all[1]["pages"] as? [[String: Any]])
            #expect(pages.map { $0["lines"] as? [String] } == [["Quarterly figures"], ["Second page"]])
        }
    }

    @Test(
        "files replace only those of an earlier preview, never the document; users without access to it cannot read them"
    )
    func ownFiles() async throws {
        try await withDocuments { mount in
            let output = try mount.run(
                #"""
                exec 2>&1
                says() { "$HYDRANT" preview "$@" 2>&1 | sed "s|$SCRATCH|S|g" || true; }
                cd "$SCRATCH"; umask 022
                # In a folder of the user's.
                mkdir -p a/1; cp "$STORE/two.pdf" a/1/document.pdf; echo mine >a/1/page-7.png; echo mine >a/1/page-1.png
                says a/1/document.pdf --to a; rm a/1/document.pdf
                says "$MOUNT/two.pdf" --to a; rm a/1/page-1.png
                says "$MOUNT/two.pdf" --to a
                cmp a/1/document.pdf "$STORE/two.pdf"; cat a/1/page-7.png
                # A preview of what a preview is made of.
                says a/1/document.pdf --to a
                mkdir -p b/1; cp "$STORE/half.png" b/1/picture.png; says b/1/picture.png --to b
                cmp b/1/picture.png "$STORE/half.png"
                mkdir -p c/1; echo mine >c/1/index.html; says "$MOUNT/notes.txt" --to c; cat c/1/index.html
                # Another one in its place.
                says "$MOUNT/notes.txt" --to a; ls -A a/1 | tr '\n' ' '
                # What nobody else may read.
                cp "$STORE/two.pdf" private.pdf; chmod 600 private.pdf; says private.pdf --to d/e
                stat -c '%a %n' d d/e d/e/1 d/e/1/* | sed 's|d/e/1/||'
                """#)
            #expect(
                output == """
                    hydrant: S/a/1/document.pdf: is the document itself; choose another folder
                    hydrant: S/a/1/page-1.png: exists, and is not of a preview; choose another folder
                    S/a/1/index.html
                    mine
                    hydrant: S/a/1/document.pdf: is the document itself; choose another folder
                    hydrant: S/b/1/picture.png: is the document itself; choose another folder
                    hydrant: S/c/1/index.html: exists, and is not of a preview; choose another folder
                    mine
                    S/a/1/index.html
                    index.html page-7.png S/d/e/1/index.html
                    700 d
                    700 d/e
                    700 d/e/1
                    600 document.pdf
                    600 index.html
                    600 page-1.png
                    600 page-2.png

                    """, "\(output)")
        }
    }

    /// A LibreOffice that says how it is called, and then does what a test wants.
    private static func office(_ script: String) -> String {
        """
        mkdir "$SCRATCH/bin"; export TMPDIR="$SCRATCH/t m%41p é"; mkdir "$TMPDIR"; echo x >a.odt
        cat >"$SCRATCH/bin/soffice" <<'END'
        #!/bin/bash
        printf '%s\\n' "$@" >"$SCRATCH/words"; echo "$(ulimit -v) $(ulimit -t)" >"$SCRATCH/bounds"
        \(script)
        END
        chmod +x "$SCRATCH/bin/soffice"; export PATH="$SCRATCH/bin:$PATH"

        """
    }

    @Test("LibreOffice ends with the command, and no copy of a document stays", arguments: ["INT", "TERM", "HUP"])
    func interrupted(_ signal: String) async throws {
        try await withDocuments { mount in
            try mount.run(
                Self.office("sleep 600 & echo $! >\"$SCRATCH/pid.new\"; mv \"$SCRATCH/pid.new\" \"$SCRATCH/pid\"; wait")
                    + """
                    for verb in preview print; do
                        env --default-signal=\(signal) "$HYDRANT" $verb a.odt >/dev/null & command=$!
                        until [ -e "$SCRATCH/pid" ]; do sleep 0.05; done
                        [ -n "$(ls -A "$TMPDIR")" ]
                        kill -\(signal) $command; status=0; wait $command || status=$?
                        [ $status = $((128 + $(kill -l \(signal)))) ]
                        [ -z "$(ls -A "$TMPDIR")" ]
                        # (Nobody may have collected it yet.)
                        [ -z "$(cat "/proc/$(cat "$SCRATCH/pid")/cmdline" 2>/dev/null | tr -d '\\0')" ]
                        rm "$SCRATCH/pid"
                    done
                    grep -x -- "-env:UserInstallation=file://.*/t%20m%2541p%20%C3%A9/hydrant-preview-[^/]*/profile" "$SCRATCH/words"
                    grep -qx '4194304 360' "$SCRATCH/bounds"
                    """)
        }
    }

    @Test("running out of memory in LibreOffice is reported")
    func memory() async throws {
        try await withDocuments { mount in
            let result = try mount.shell(
                Self.office("exec python3 -c 'memory = b\"x\" * (2200 << 20)'") + "exec \"$HYDRANT\" preview a.odt",
                limit: 60)
            #expect(
                result.status == 1
                    && result.stderr.contains("a.odt: LibreOffice needs more than 4 GiB of memory for it"),
                "\(result)")
        }
    }

    @Test("on a terminal: pages, the next document and the one before; the terminal is as it was afterwards")
    func pager() async throws {
        try await withDocuments { mount in
            try mount.run("seq 100 >long.txt")
            let session = try TerminalSession(
                mount,
                "echo before; \"$HYDRANT\" preview \"$MOUNT/long.txt\" \"$MOUNT/two.pdf\" \"$MOUNT/data.bin\" >\"$(tty)\"; echo $?"
            )
            defer { session.end() }
            try session.until("1\n2\n3", "long.txt  (1 of 3)  13 %")
            try session.send("Space")
            try session.until("14\n15", "26 %")
            try session.send("G")
            try session.until("\n100\n", "end")
            try session.send("n")
            try session.until("Quarterly figures", "two.pdf  (2 of 3)  page 1 of 2")
            try session.send("n")
            try session.until("data.bin: there is no preview", "(3 of 3)")
            try session.send("n")
            try session.send("Left")
            try session.until("Quarterly figures", "(2 of 3)")
            try session.send("q")
            try session.until("before", without: "Quarterly")
            let status = try session.result().output
            #expect(status == "0\n")
        }
    }

    @Test("a preview waits for a writer; a store that is away is reported")
    func coordinated() async throws {
        try await withDocuments { mount in
            let output = try mount.run(
                """
                mkfifo "$SCRATCH/go"
                "$HYDRANT" coordinate --write notes.txt -- sh -c 'echo half >"$1"; echo >"$SCRATCH/holding"; read line <"$SCRATCH/go"; echo whole >"$1"' sh {} & writer=$!
                until [[ -e $SCRATCH/holding ]]; do sleep 0.02; done
                "$HYDRANT" preview notes.txt >"$SCRATCH/out" & reader=$!
                until "$HYDRANT" claims --json "$MOUNT" | grep -q '"granted" : false'; do sleep 0.05; done
                echo go >"$SCRATCH/go"; wait $writer; wait $reader; cat "$SCRATCH/out"
                """)
            #expect(output == "whole\n")
            let away = try mount.shell(
                """
                mv "$STORE" "$STORE.away"; status=0; "$HYDRANT" preview two.pdf || status=$?
                mv "$STORE.away" "$STORE"; exit $status
                """)
            #expect(away.status == 1 && away.stderr.contains("two.pdf: cannot be downloaded"), "\(away)")
        }
    }
}

/// LibreOffice is large, so these are for machines that have it.
@Suite("Previews through LibreOffice", .enabled(if: Office.isInstalled, "soffice and python3-uno are not installed"))
struct OfficePreviewTests {
    @Test(
        "RTF, OpenDocument and Office are shown as the PDF that LibreOffice makes; no macro, no lock file",
        .timeLimit(.minutes(20)))
    func shows() async throws {
        var options = OfficeSaveTests.options
        options.limit = 400
        try await withMount(options) { store in
            try Seeding(store).file("a.rtf", #"{\rtf1\ansi Hello {\b RTF} world.\par}"#)
        } _: { mount in
            let output = try mount.run(
                """
                "$HYDRANT" preview a.rtf
                (cd /; \(OfficeSaveTests.office) --convert-to odt --outdir "$SCRATCH" "$MOUNT/a.rtf"
                \(OfficeSaveTests.office) --convert-to docx --outdir "$SCRATCH" "$SCRATCH/a.odt") >/dev/null 2>&1
                cp "$SCRATCH/a.odt" "$SCRATCH/a.docx" .
                "$HYDRANT" preview a.odt a.docx
                "$HYDRANT" preview a.odt --to "$SCRATCH/out" --json | grep -c 'page-1.png\\|document.pdf'
                head -c 4 "$SCRATCH/out/1/document.pdf"; echo
                head -c 2000 /dev/urandom >bad.docx; "$HYDRANT" preview bad.docx 2>&1 || echo "status $?"
                ls -A; ls /tmp | grep -c hydrant-preview || true
                """, limit: 300)
            let lines = output.split(separator: "\n").map(String.init)
            #expect(
                lines.prefix(7) == [
                    "Hello RTF world.", "==> a.odt <==", "Hello RTF world.", "==> a.docx <==", "Hello RTF world.", "2",
                    "%PDF",
                ], "\(output)")
            #expect(output.contains("a.docx\na.odt\na.rtf\nbad.docx\n"), "\(output)")
            #expect(!output.contains(".~lock"))
        }
    }

    /// With a picture from elsewhere as the background of a paragraph.
    private static let remote = #"""
        import http.server, os, subprocess, threading, zipfile
        asked = []
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self): asked.append(self.path); self.send_error(404)
            do_HEAD = do_OPTIONS = do_PROPFIND = do_GET
            def log_message(self, *words): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d/background.png" % server.server_port
        names = " ".join('xmlns:%s="urn:oasis:names:tc:opendocument:xmlns:%s:1.0"' % pair for pair in [
            ("office", "office"), ("text", "text"), ("style", "style"), ("fo", "xsl-fo-compatible")])
        with zipfile.ZipFile("background.odt", "w") as file:
            file.writestr("mimetype", "application/vnd.oasis.opendocument.text")
            file.writestr("content.xml", f'''<?xml version="1.0" encoding="UTF-8"?>
        <office:document-content {names} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"><office:automatic-styles>
        <style:style style:name="P1" style:family="paragraph"><style:paragraph-properties fo:background-color="transparent">
        <style:background-image xlink:href="{url}" xlink:type="simple"/></style:paragraph-properties></style:style>
        </office:automatic-styles><office:body><office:text><text:p text:style-name="P1">shown</text:p></office:text></office:body>
        </office:document-content>''')
            file.writestr("META-INF/manifest.xml", '''<?xml version="1.0"?>
        <manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">
        <manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>
        <manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>''')
        out = subprocess.run([os.environ["HYDRANT"], "preview", "background.odt"], capture_output=True, text=True)
        print(out.stdout.strip(), out.stderr.strip(), asked)

        """#

    @Test("a preview makes no network request for a document's links", .timeLimit(.minutes(20)))
    func fetchesNothing() async throws {
        var options = OfficeSaveTests.options
        options.limit = 400
        try await withMount(options) { mount in
            try Seeding(mount.scratch).file("remote.py", Self.remote)
            let output = try mount.run("python3 \"$SCRATCH/remote.py\"", limit: 300)
            #expect(output == "shown  []\n", "\(output)")
        }
    }
}
