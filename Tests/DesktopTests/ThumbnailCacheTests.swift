import ControlAPI
import FileCoordination
import Foundation
import MountHarness
import Testing

/// Looking at a folder of placeholders shows pictures and downloads nothing: what file managers ask their libraries, and the
/// desktop's thumbnailer, at a real mount.
@Suite("Pictures of placeholders for file managers")
struct ThumbnailCacheTests {
    /// Enough to see that none is made anew; HYDRANT_TEST_PICTURES names another number (500 before a release).
    private static let count = ProcessInfo.processInfo.environment["HYDRANT_TEST_PICTURES"].flatMap { Int($0) } ?? 100

    /// Half of them of a type for which the desktop has a thumbnailer. None is what its name says: nobody can make a picture of it
    /// but who knows it.
    private static func name(_ number: Int) -> String { number % 2 == 0 ? "p\(number).png" : "d\(number).xyz" }

    private static func seed(_ store: String, modified: Int?) throws {
        let seeding = Seeding(store)
        for number in 0..<count { try seeding.file(name(number), "document \(number)\n", modified: modified) }
    }

    private static let options = MountOptions.with {
        $0.store = .directory
        $0.limit = 240
        $0.arguments = ["--read-ahead", "none"]
    }

    /// Programs on another machine gave the pictures; this one has neither them nor the documents.
    ///
    /// - Parameter modified: the date of the documents, in whole seconds; nil: now, with its fraction.
    private func withPictures(
        modified: Int? = nil, _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withMount(Self.options, seed: { try Self.seed($0, modified: modified) }) { mount in
            _ = try mount.run(TestPicture.shell + "picture 1024 700 336699 \"$SCRATCH/picture.png\"")
            let picture = try Data(
                contentsOf: URL(filePath: mount.scratch + "/picture.png", directoryHint: .notDirectory))
            let executor = ThreadExecutor()
            defer { executor.finish() }
            try blocking(on: executor) {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    for number in 0..<Self.count {
                        let url = URL(
                            filePath: mount.mountPoint + "/" + Self.name(number), directoryHint: .notDirectory)
                        let place = try await DocumentThumbnails.set(picture, of: url)
                        #expect(place == .store)
                    }
                }
            }
            try waitUntil(60, "the store has all pictures") {
                try mount.run("find \"$STORE/.hydrant-thumbnails\" -name '*.png' | wc -l") == "\(Self.count)\n"
            }
            try mount.unmount()
            _ = try mount.run("cd /; rm -rf \"$SCRATCH/../state\" \"$SCRATCH/../home/.cache\"")
            try mount.mount()
            try body(mount)
            // And all of that has downloaded nothing, and nobody was refused anything.
            #expect(try mount.run("\"$HYDRANT\" status * | grep -c ^placeholder") == "\(Self.count)\n")
            let events = try mount.run("\"$HYDRANT\" events --last 10000 --no-follow --json \"$MOUNT\"")
            #expect(!events.contains("startProvidingItem") && !events.contains("\"refused\""))
        }
    }

    /// As a file manager looks at a folder; returns when the pictures of all are there.
    private func list(_ mount: MountedStore) throws {
        _ = try mount.run("gio list -a standard::name,standard::size,thumbnail::path \"$MOUNT\" >/dev/null")
        try waitUntil(60, "the cache has all pictures") {
            try mount.run("\"$HYDRANT\" thumbnails status --json \"$MOUNT\"").contains("\"documents\" : \(Self.count)")
        }
    }

    @Test("GIO (Nautilus, Nemo, GTK's file chooser) has a valid picture of all, in each size")
    func gio() async throws {
        try await withPictures { mount in
            try list(mount)
            for size in ["xx-large", "x-large", "large", "normal"] {
                // (GIO names the largest size that it finds: give it a copy of the cache with this size alone. The
                // cache itself stays whole; the service puts back what is taken out of it.)
                let said = try mount.run(
                    """
                    export XDG_CACHE_HOME="$SCRATCH/\(size)"; mkdir -p "$XDG_CACHE_HOME/thumbnails"
                    cp -a "$SCRATCH/../home/.cache/thumbnails/\(size)" "$XDG_CACHE_HOME/thumbnails/"
                    cd "$MOUNT"
                    gio info -a 'thumbnail::*' * >"$SCRATCH/said"
                    grep -c "thumbnail::path: $XDG_CACHE_HOME/thumbnails/\(size)/" "$SCRATCH/said"
                    grep -c 'thumbnail::is-valid: TRUE' "$SCRATCH/said"
                    grep -c 'thumbnail::failed' "$SCRATCH/said" || true
                    """, limit: DesktopSession.limit)
                #expect(said == "\(Self.count)\n\(Self.count)\n0\n", "\(size): \(said)")
            }
        }
    }

    @Test(
        "tumblerd (Thunar and others) is ready with all and opens none", arguments: ["normal", "large"])
    func tumbler(_ flavour: String) async throws {
        // (tumblerd 4.18 compares fractions of a second, which the standard's cache does not have: WebDAV servers know none.)
        try await withPictures(modified: 1_500_000_000) { mount in
            try list(mount)
            try
                (#"""
            exec >"$SCRATCH/log" 2>&1
            stdbuf -oL dbus-monitor --session "interface='org.freedesktop.thumbnails.Thumbnailer1'" >"$SCRATCH/signals" & monitor=$!
            gdbus wait --session --activate org.freedesktop.thumbnails.Thumbnailer1
            uris=$(cd "$MOUNT"; for f in *; do printf "'file://%s/%s'," "$MOUNT" "$f"; done)
            types=$(cd "$MOUNT"; for f in *; do printf "'image/png',"; done)
            \#(DesktopSession.call) --dest org.freedesktop.thumbnails.Thumbnailer1 \
                --object-path /org/freedesktop/thumbnails/Thumbnailer1 \
                --method org.freedesktop.thumbnails.Thumbnailer1.Queue "[${uris%,}]" "[${types%,}]" "$FLAVOUR" default 0
            until grep -q member=Finished "$SCRATCH/signals"; do sleep 0.1; done
            kill $monitor
            """#).write(toFile: mount.scratch + "/session.sh", atomically: true, encoding: .utf8)
            _ = try mount.run(
                """
                export FLAVOUR=\(flavour) GIO_USE_VFS=local GSETTINGS_BACKEND=keyfile
                cd /; exec dbus-run-session -- bash -eu "$SCRATCH/session.sh"
                """, limit: DesktopSession.limit)
            let ready = try mount.run(
                "awk '/member=/ { ready = /member=Ready/ } ready && /file:/' \"$SCRATCH/signals\" | sort -u | wc -l")
            #expect(ready == "\(Self.count)\n")
            #expect(try mount.run("grep -c 'member=Error' \"$SCRATCH/signals\" || true") == "0\n")
        }
    }
}
