import ControlAPI
import FileCoordination
import Foundation
import MetadataQuery
import MountHarness
import Testing

/// Pictures of documents: given by programs, kept by stores, put where file managers look.
@Suite("Thumbnails at a real mount")
struct ThumbnailTests {
    private static let onDirectory = MountOptions.with { $0.store = .directory }

    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("report.xyz", "a report\n")
        try seeding.file("folder/other.xyz", "another\n")
    }

    private func withPictures(
        _ options: MountOptions = onDirectory, _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            _ = try mount.run(
                TestPicture.shell
                    + "picture 900 600 ff0000 \"$SCRATCH/red.png\"; picture 300 500 0000ff \"$SCRATCH/blue.png\"")
            try body(mount)
        }
    }

    private static let cache = "$SCRATCH/../home/.cache/thumbnails"

    /// Defines `entry FILE SIZE`: where its picture is in the user's cache, and `gone`, `there`.
    private static let functions = """
        entry() {
            python3 -c 'import hashlib, sys, urllib.parse
        path = urllib.parse.quote(sys.argv[1], safe="/!$&\\x27()*+,:=@~")
        print(hashlib.md5(("file://" + path).encode()).hexdigest())' "$1" \
                | sed "s#.*#\(cache)/$2/&.png#"
        }
        there() { until [ -e "$(entry "$1" normal)" ]; do sleep 0.05; done; }
        gone() { while [ -e "$(entry "$1" normal)" ]; do sleep 0.05; done; }
        width() { file "$1" | sed 's/.*data, \\([0-9]*\\) x.*/\\1/'; }

        """

    /// Another machine, with its own state, at the same store.
    private static let another = """
        mkdir "$SCRATCH/b"
        HOME="$SCRATCH/home-b" "$HYDRANT" mount "dir:$STORE" "$SCRATCH/b" --state-dir "$SCRATCH/state-b" >/dev/null
        ls -R "$SCRATCH/b" >/dev/null

        """

    private func kept(_ mount: MountedStore) throws -> [String] {
        // (What goes while it is looked at is none.)
        try mount.run("find \"$STORE\" -path '*/.hydrant-thumbnails/*.png' 2>/dev/null || true").split(separator: "\n")
            .map(String.init)
    }

    // MARK: Written

    @Test("another machine has the picture before the document, and nobody sees the picture as a document")
    func elsewhere() async throws {
        try await withPictures { mount in
            let said = try mount.run(
                """
                echo 'written here' >new.xyz
                "$HYDRANT" thumbnail new.xyz --set "$SCRATCH/red.png" --json
                "$HYDRANT" sync "$MOUNT" --timeout 20
                """)
            #expect(said.contains("\"kept\" : \"store\""))
            try waitUntil(10, "the store has it") { try kept(mount).count == 1 }
            _ = try mount.run(
                Self.another + """
                    cd "$SCRATCH/b"
                    "$HYDRANT" thumbnail new.xyz --size 1024 -o "$SCRATCH/out.png"
                    file "$SCRATCH/out.png" | grep -q '900 x 600'
                    "$HYDRANT" thumbnail new.xyz --size 64 -o "$SCRATCH/small.png"
                    file "$SCRATCH/small.png" | grep -q '64 x 43'
                    "$HYDRANT" status new.xyz | grep -q ^placeholder
                    if "$HYDRANT" events --last 1000 --no-follow "$SCRATCH/b" | grep startProvidingItem; then exit 1; fi
                    if ls -A "$SCRATCH/b" "$MOUNT" | grep hydrant; then exit 1; fi
                    cd /
                    "$HYDRANT" unmount "$SCRATCH/b"
                    """)
        }
    }

    @Test("a picture survives a kill and an absent store, and is uploaded after the contents")
    func pending() async throws {
        try await withPictures(
            .with {
                $0.store = .directory
                $0.settle = 3_600
                $0.settleAfterSync = 3_600
            }
        ) { mount in
            _ = try mount.run("cat report.xyz >/dev/null; echo more >>report.xyz; echo new >new.xyz")
            _ = try mount.run(
                "\"$HYDRANT\" thumbnail report.xyz --set \"$SCRATCH/red.png\"; \"$HYDRANT\" thumbnail new.xyz --set \"$SCRATCH/blue.png\""
            )
            try mount.kill9()
            try mount.mount()
            let same = """
                "$HYDRANT" thumbnail report.xyz -o "$SCRATCH/out.png" --size 1024; file "$SCRATCH/out.png" | grep -q '900 x 600'
                "$HYDRANT" thumbnail new.xyz -o "$SCRATCH/out.png" --size 1024; file "$SCRATCH/out.png" | grep -q '300 x 500'
                """
            _ = try mount.run(same)
            _ = try mount.run(
                """
                mv "$STORE" "$STORE.away"
                echo away >away.xyz; "$HYDRANT" thumbnail away.xyz --set "$SCRATCH/red.png"
                echo again >>new.xyz; "$HYDRANT" thumbnail new.xyz --set "$SCRATCH/blue.png"
                if "$HYDRANT" sync "$MOUNT" --timeout 1; then exit 1; fi
                mv "$STORE.away" "$STORE"
                """)
            try mount.sync()
            try waitUntil(20, "the store has all") { try kept(mount).count == 3 }
            _ = try mount.run("rm -rf \"$SCRATCH/../home/.cache\"\n" + same)
        }
    }

    @Test("a change of contents without a picture removes it: here, in the store, on another machine")
    func outdated() async throws {
        try await withPictures { mount in
            let functions = """
                give() {
                    "$HYDRANT" thumbnail "$MOUNT/report.xyz" --set "$SCRATCH/red.png" >/dev/null
                    "$HYDRANT" sync "$MOUNT" --timeout 20
                    until [ -n "$(find "$STORE/.hydrant-thumbnails" -name '*.png' 2>/dev/null)" ]; do sleep 0.05; done
                    "$HYDRANT" thumbnail "$MOUNT/report.xyz" >/dev/null
                }
                none() { if "$HYDRANT" thumbnail "$1/report.xyz" >/dev/null 2>&1; then echo "a picture of $1"; exit 1; fi; }

                """
            _ = try mount.run(functions + Self.another)
            _ = try mount.run(
                functions + """
                    give
                    echo 'changed here' >>report.xyz
                    none "$MOUNT"
                    "$HYDRANT" sync "$MOUNT" --timeout 20
                    none "$MOUNT"
                    [ ! -e "$STORE/.hydrant-thumbnails" ]
                    give
                    until [ "$(cat "$SCRATCH/b/report.xyz")" = "$(cat report.xyz)" ]; do sleep 0.05; done
                    "$HYDRANT" thumbnail "$SCRATCH/b/report.xyz" >/dev/null
                    echo 'changed in the store' >>"$STORE/report.xyz"
                    until grep -q 'in the store' report.xyz; do sleep 0.05; done
                    none "$MOUNT"
                    until grep -q 'in the store' "$SCRATCH/b/report.xyz"; do sleep 0.05; done
                    none "$SCRATCH/b"
                    give
                    echo 'changed on the other machine' >>"$SCRATCH/b/report.xyz"
                    "$HYDRANT" sync "$SCRATCH/b" --timeout 20
                    until grep -q 'other machine' report.xyz; do sleep 0.05; done
                    none "$MOUNT"
                    none "$SCRATCH/b"
                    "$HYDRANT" unmount "$SCRATCH/b"
                    """, limit: 40)
        }
    }

    @Test("the picture moves with the document, and with its folder; a deletion leaves nothing behind")
    func moves() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                """
                "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                until [ -n "$(find "$STORE/.hydrant-thumbnails" -name '*.png' 2>/dev/null)" ]; do sleep 0.05; done
                mv report.xyz renamed.xyz; "$HYDRANT" sync "$MOUNT" --timeout 20
                mv renamed.xyz folder/moved.xyz; "$HYDRANT" sync "$MOUNT" --timeout 20
                [ ! -e "$STORE/.hydrant-thumbnails" ]
                mv folder other; "$HYDRANT" sync "$MOUNT" --timeout 20
                """)
            _ = try mount.run(
                Self.another + """
                    "$HYDRANT" thumbnail "$SCRATCH/b/other/moved.xyz" --size 1024 -o "$SCRATCH/out.png" >/dev/null
                    file "$SCRATCH/out.png" | grep -q '900 x 600'
                    "$HYDRANT" unmount "$SCRATCH/b"
                    rm -r other; "$HYDRANT" sync "$MOUNT" --timeout 20
                    [ -z "$(ls -A "$STORE")" ]
                    """)
        }
    }

    @Test("a program that saves names the contents that its picture shows; pictures of other contents are refused")
    func fromSwift() async throws {
        try await withMount(Self.onDirectory, seed: Self.seed) { mount in
            _ = try mount.run(
                TestPicture.shell
                    + """
                    picture 900 600 ff0000 "$SCRATCH/red.png"; picture 1025 2 ff0000 "$SCRATCH/wide.png"
                    head -c 5000000 /dev/urandom >"$SCRATCH/large.png"
                    """)
            let picture = try Data(contentsOf: URL(filePath: mount.scratch + "/red.png", directoryHint: .notDirectory))
            let executor = ThreadExecutor()
            defer { executor.finish() }
            try blocking(on: executor) {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    let url = URL(filePath: mount.mountPoint + "/report.xyz", directoryHint: .notDirectory)
                    let contents = try Self.save("one save", over: url)
                    #expect(try await DocumentThumbnails.set(picture, of: url, contents: contents) == .store)
                    let promised = try await PromisedItems.values(of: url, thumbnailSize: 1_024)
                    #expect(promised.thumbnail == picture)
                    _ = try Self.save("another save", over: url)
                    func code(_ picture: Data, _ contents: DocumentThumbnails.Contents? = nil) async -> String {
                        do {
                            try await DocumentThumbnails.set(picture, of: url, contents: contents)
                            return "kept"
                        } catch { return "\((error as? CoordinationError)?.code ?? .refused)" }
                    }
                    #expect(await code(picture, contents) == "otherContents")
                    #expect(try await PromisedItems.values(of: url, thumbnailSize: 1_024).thumbnail == nil)
                    #expect(await code(picture, try DocumentThumbnails.Contents(of: url)) == "kept")
                    for name in ["wide.png", "large.png"] {
                        let bad = try Data(
                            contentsOf: URL(filePath: mount.scratch + "/" + name, directoryHint: .notDirectory))
                        #expect(await code(bad) == "refused", "\(name)")
                    }
                    #expect(await code(picture.dropLast(20)) == "refused")
                    #expect(await code(Data("no picture".utf8)) == "refused")
                    let folder = URL(filePath: mount.mountPoint + "/folder", directoryHint: .isDirectory)
                    await #expect(throws: CoordinationError.self) {
                        try await DocumentThumbnails.set(picture, of: folder)
                    }
                }
            }
        }
    }

    /// As programs save: beside it, synced, renamed over it.
    private static func save(_ text: String, over url: URL) throws -> DocumentThumbnails.Contents {
        let path = url.path(percentEncoded: false)
        let file = open(path + ".new", O_WRONLY | O_CREAT | O_EXCL, 0o644)
        guard file >= 0 else { throw HarnessError("open: \(String(cString: strerror(errno)))") }
        defer { close(file) }
        _ = write(file, text, text.utf8.count)
        guard fsync(file) == 0, rename(path + ".new", path) == 0 else {
            throw HarnessError("save: \(String(cString: strerror(errno)))")
        }
        return try DocumentThumbnails.Contents(ofDescriptor: file)
    }

    @Test("where the store keeps no picture, this machine does, until the contents change")
    func machine() async throws {
        try await withPictures { mount in
            try mount.unmount()
            _ = try mount.run(
                """
                PATH="${HYDRANT%/*}:$PATH" "$HYDRANT" mount memory://host/x "$MOUNT" --state-dir "$SCRATCH/memory"
                cd "$MOUNT"
                "$HYDRANT" thumbnail hello.txt --set "$SCRATCH/red.png" | grep -q 'this machine'
                sleep 0.5
                "$HYDRANT" thumbnail hello.txt --size 1024 -o "$SCRATCH/out.png"; file "$SCRATCH/out.png" | grep -q '900 x 600'
                "$HYDRANT" status hello.txt | grep -q ^placeholder
                echo more >>hello.txt; "$HYDRANT" sync "$MOUNT" --timeout 20
                if "$HYDRANT" thumbnail hello.txt; then exit 1; fi
                cd /; "$HYDRANT" unmount "$MOUNT"
                """)
        }
    }

    // MARK: Read

    @Test(
        "pictures of a visited folder are in the cache in all sizes; they follow renames, and are removed with the contents"
    )
    func cached() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                Self.functions + """
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                    "$HYDRANT" thumbnail folder/other.xyz --set "$SCRATCH/blue.png" >/dev/null
                    [ ! -e "\(Self.cache)" ]
                    ls -l . folder >/dev/null
                    there "$MOUNT/report.xyz"; there "$MOUNT/folder/other.xyz"
                    for size in normal:128 large:256 x-large:512 xx-large:900; do
                        file="$(entry "$MOUNT/report.xyz" ${size%:*})"
                        [ "$(width "$file")" = ${size#*:} ]
                        [ "$(stat -c %a "$file" "${file%/*}" | tr '\\n' ' ')" = '600 700 ' ]
                    done
                    gio info -a 'thumbnail::*' report.xyz | grep -q 'is-valid: TRUE'
                    "$HYDRANT" status report.xyz | grep -q ^placeholder
                    "$HYDRANT" thumbnails status "$MOUNT" | grep -q ': on, 2 documents in'

                    mv report.xyz 'r e;port.xyz'; gone "$MOUNT/report.xyz"
                    gio info -a 'thumbnail::*' 'r e;port.xyz' | grep -q 'is-valid: TRUE'
                    mv folder moved; gone "$MOUNT/folder/other.xyz"; there "$MOUNT/moved/other.xyz"
                    echo more >>'r e;port.xyz'; gone "$MOUNT/r e;port.xyz"
                    rm moved/other.xyz; gone "$MOUNT/moved/other.xyz"
                    [ -z "$(find "\(Self.cache)" -name '*.png')" ]
                    """)
        }
    }

    @Test("two documents that exchange names quickly: each has its own picture afterwards")
    func swaps() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                Self.functions + """
                    echo 'as long\n' >report.xyz; cp report.xyz other.xyz; touch -d @1000000000 report.xyz other.xyz
                    "$HYDRANT" sync "$MOUNT" --timeout 20
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                    "$HYDRANT" thumbnail other.xyz --set "$SCRATCH/blue.png" >/dev/null
                    ls >/dev/null; there "$MOUNT/report.xyz"; there "$MOUNT/other.xyz"
                    has() { [ "$(width "$(entry "$MOUNT/$1" normal)")" = "$2" ]; }
                    both() { until has "$1" 128 && has "$2" 77; do sleep 0.05; done; }
                    both report.xyz other.xyz
                    mv report.xyz t; mv other.xyz report.xyz; mv t other.xyz
                    both other.xyz report.xyz
                    # One over the other.
                    mv report.xyz other.xyz; gone "$MOUNT/report.xyz"; until has other.xyz 77; do sleep 0.05; done
                    """)
        }
    }

    @Test("a given picture replaces the cached one; contents of the same date and size remove it")
    func newer() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                Self.functions + """
                    has() { [ "$(width "$(entry "$MOUNT/report.xyz" normal)")" = "$1" ]; }
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                    ls >/dev/null; there "$MOUNT/report.xyz"; has 128
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/blue.png" >/dev/null
                    until has 77; do sleep 0.05; done
                    "$HYDRANT" thumbnail report.xyz --size 1024 -o "$SCRATCH/out.png" >/dev/null
                    file "$SCRATCH/out.png" | grep -q '300 x 500'

                    # One of a file manager's own, which is not in the ledger.
                    "$HYDRANT" thumbnails off "$MOUNT" >/dev/null
                    for size in normal xx-large; do
                        file="$(entry "$MOUNT/report.xyz" $size)"
                        python3 - "$SCRATCH/red.png" "$file" "$MOUNT/report.xyz" <<'PYTHON'
                    import os, struct, sys, zlib
                    def text(key, value):
                        data = b"tEXt" + key + b"\\0" + value.encode()
                        return struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
                    png = open(sys.argv[1], "rb").read()
                    added = text(b"Thumb::URI", "file://" + sys.argv[3])
                    added += text(b"Thumb::MTime", str(int(os.stat(sys.argv[3]).st_mtime)))
                    os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
                    open(sys.argv[2], "wb").write(png[:33] + added + png[33:])
                    PYTHON
                    done
                    "$HYDRANT" thumbnails on "$MOUNT" >/dev/null; sleep 0.5; has 900
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/blue.png" >/dev/null
                    until has 77; do sleep 0.05; done

                    python3 - <<'PYTHON'
                    import os
                    before = os.stat("report.xyz")
                    with open("report.xyz", "r+b") as file: file.write(b"A")
                    os.utime("report.xyz", ns=(before.st_atime_ns, before.st_mtime_ns))
                    after = os.stat("report.xyz")
                    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
                    PYTHON
                    gone "$MOUNT/report.xyz"
                    """)
        }
    }

    @Test("a picture that hydrant thumbnail caches is removed with the document, and with off")
    func fromCommand() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                Self.functions + """
                    cp "$SCRATCH/red.png" red.xyz; cp red.xyz blue.xyz; "$HYDRANT" sync "$MOUNT" --timeout 20
                    for name in red.xyz blue.xyz report.xyz folder/other.xyz; do
                        "$HYDRANT" thumbnail $name --set "$SCRATCH/red.png" >/dev/null
                        "$HYDRANT" thumbnail $name >/dev/null; there "$MOUNT/$name"
                    done
                    "$HYDRANT" thumbnails status "$MOUNT" | grep -q ': on, 4 documents in'
                    rm red.xyz; gone "$MOUNT/red.xyz"
                    mv blue.xyz green.xyz; gone "$MOUNT/blue.xyz"; there "$MOUNT/green.xyz"
                    "$HYDRANT" thumbnails off "$MOUNT" >/dev/null
                    [ -z "$(find "\(Self.cache)" -name '*.png')" ]
                    "$HYDRANT" thumbnail report.xyz >/dev/null; there "$MOUNT/report.xyz"
                    "$HYDRANT" thumbnails on "$MOUNT" >/dev/null
                    "$HYDRANT" thumbnail folder/other.xyz --size 64 >/dev/null; there "$MOUNT/folder/other.xyz"
                    "$HYDRANT" thumbnails off "$MOUNT" >/dev/null
                    [ -z "$(find "\(Self.cache)" -name '*.png')" ]
                    """)
        }
    }

    @Test("off removes the pictures and adds none; on adds them again; config.toml and a remount are obeyed")
    func setting() async throws {
        try await withPictures { mount in
            let pictures = "find \"\(Self.cache)\" -name '*.png' 2>/dev/null | wc -l"
            _ = try mount.run(
                Self.functions + """
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                    ls >/dev/null; there "$MOUNT/report.xyz"
                    [ "$("$HYDRANT" thumbnails off "$MOUNT")" = "$MOUNT: off" ]
                    [ "$(\(pictures))" = 0 ]
                    # On again: of folders that were looked at, at once.
                    "$HYDRANT" thumbnails on "$MOUNT" >/dev/null; there "$MOUNT/report.xyz"
                    touch again.xyz; "$HYDRANT" thumbnail again.xyz --set "$SCRATCH/red.png" >/dev/null
                    echo x >again.xyz; "$HYDRANT" thumbnail again.xyz --set "$SCRATCH/red.png" >/dev/null
                    ls >/dev/null; there "$MOUNT/again.xyz"
                    "$HYDRANT" thumbnails off "$MOUNT" >/dev/null; [ "$(\(pictures))" = 0 ]
                    """)
            try mount.remount()
            _ = try mount.run(
                Self.functions + """
                    "$HYDRANT" thumbnails status "$MOUNT" --json | grep -q '"on" : false'
                    ls >/dev/null; sleep 1; [ "$(\(pictures))" = 0 ]
                    "$HYDRANT" thumbnails on "$MOUNT" >/dev/null
                    touch fresh; ls >/dev/null; there "$MOUNT/report.xyz"
                    """)
        }
    }

    @Test("a walk through a tree, and an indexer, cause no pictures")
    func walkers() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                Self.functions + """
                    "$HYDRANT" thumbnail report.xyz --set "$SCRATCH/red.png" >/dev/null
                    mkdir a b c d e f g h i; "$HYDRANT" sync "$MOUNT" --timeout 20
                    python3 -c 'import os
                    for folder in [".", "folder"] + list("abcdefghi"): os.listdir(folder)
                    import time; time.sleep(1)'
                    printf 'import os, time\\nos.listdir(".")\\ntime.sleep(1)\\n' >"$SCRATCH/updatedb"
                    touch x; python3 "$SCRATCH/updatedb"
                    [ ! -e "$(entry "$MOUNT/report.xyz" normal)" ]
                    touch y; ls . >/dev/null; there "$MOUNT/report.xyz"
                    """)
        }
    }

    @Test(
        "the desktop's thumbnailers make pictures of downloaded documents, never of placeholders; failures are noted")
    func thumbnailers() async throws {
        try await withPictures { mount in
            _ = try mount.run(
                """
                mkdir -p "$SCRATCH/../data/thumbnailers" "$SCRATCH/../data/mime/packages" "$SCRATCH/bin"
                cat >"$SCRATCH/bin/make-it" <<'SCRIPT'
                #!/bin/sh
                echo "$*" >>"$SCRATCH/made"
                [ "$HYDRANT_DOWNLOADS" = deny ] || exit 1
                grep -q good "$1" && cp "$SCRATCH/red.png" "$2"
                SCRIPT
                chmod +x "$SCRATCH/bin/make-it"
                printf '%s\\n' '[Thumbnailer Entry]' "TryExec=$SCRATCH/bin/make-it" \\
                    "Exec=\\"$SCRATCH/bin/make-it\\" %i %o %s" 'MimeType=text/x-hydrant-test;' \\
                    >"$SCRATCH/../data/thumbnailers/test.thumbnailer"
                printf '%s\\n' '50:text/x-hydrant-test:*.hyt' >"$SCRATCH/../data/mime/globs2"
                echo good >"$STORE/good.hyt"; echo bad >"$STORE/bad.hyt"; echo good >"$STORE/away.hyt"
                """)
            // (What types there are a daemon reads once.)
            try mount.remount()
            _ = try mount.run(
                Self.functions + """
                    until [ -e good.hyt ] && [ -e bad.hyt ] && [ -e away.hyt ]; do sleep 0.05; done
                    cat good.hyt bad.hyt >/dev/null
                    ls >/dev/null
                    there "$MOUNT/good.hyt"
                    fail="\(Self.cache)/fail/hydrant-0.1.0/$(basename "$(entry "$MOUNT/bad.hyt" normal)")"
                    until [ -e "$fail" ]; do sleep 0.05; done
                    [ ! -e "$(entry "$MOUNT/away.hyt" normal)" ]
                    [ "$("$HYDRANT" status away.hyt | cut -d' ' -f1)" = placeholder ]
                    [ "$(grep -c . "$SCRATCH/made")" = 2 ]
                    gio info -a 'thumbnail::*' good.hyt | grep -q 'is-valid: TRUE'
                    touch x; ls >/dev/null; sleep 1; [ "$(grep -c . "$SCRATCH/made")" = 2 ]
                    "$HYDRANT" evict good.hyt >/dev/null
                    gio info -a 'thumbnail::*' good.hyt | grep -q 'is-valid: TRUE'
                    [ -z "$(ls -A "$SCRATCH/../state/thumbnailer")" ]
                    """)
        }
    }

    // MARK: The page

    @Test("the documentation shows an existing program, which works as described")
    func example() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let program = try String(
            contentsOf: root.appending(path: "Sources/Examples/PictureGiver/PictureGiver.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(path: "Sources/hydrant/Documentation.docc/Thumbnails.md"), encoding: .utf8)
        #expect(page.contains("```swift\n\(program)```"))
        try await withPictures { mount in
            _ = try mount.run(
                Self.another + """
                    cd "$MOUNT"
                    for document in report.xyz made.xyz; do
                        echo 'what it says now' | "${HYDRANT%/*}/hydrant-give-picture" $document "$SCRATCH/red.png" >"$SCRATCH/said"
                        grep -q 'other machines' "$SCRATCH/said"
                        "$HYDRANT" sync "$MOUNT" --timeout 20
                        until "$HYDRANT" thumbnail "$SCRATCH/b/$document" --size 1024 -o "$SCRATCH/out.png" 2>/dev/null >&2; do sleep 0.05; done
                        file "$SCRATCH/out.png" | grep -q '900 x 600'
                        "$HYDRANT" status "$SCRATCH/b/$document" | grep -q ^placeholder
                    done
                    [ "$(ls -A | tr '\\n' ' ')" = 'folder made.xyz report.xyz ' ]
                    "$HYDRANT" unmount "$SCRATCH/b"
                    """)
        }
    }
}
