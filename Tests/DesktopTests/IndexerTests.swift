import ControlAPI
import Foundation
import MountHarness
import Testing

/// The desktop's own programs at a mount: what makes thumbnails or an index reads what is here, and downloads nothing. Needs what
/// `scripts/test desktop` installs.
@Suite("Thumbnailers and indexers of real desktops")
struct IndexerTests {
    private static let pictures = 12
    private static let texts = 12

    /// Pictures of a size that makes a thumbnail worth it, and texts with a word of their own each.
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for number in 0..<pictures { try seeding.file("p\(number).svg", picture(number)) }
        for number in 0..<texts {
            try seeding.file("t\(number).txt", String(repeating: "a text with uniqueword\(number) in it\n", count: 50))
        }
    }

    private static func picture(_ number: Int) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="400" height="300">
        <rect width="\(20 * (number + 1))" height="200" fill="green"/></svg>
        """
    }

    /// In a session of its own, with folders of its own; before the session begins, so that programs which the bus starts have
    /// them too. (Tracker leaves out what is in the folder for temporary files, and does not read
    /// pictures of this kind.)
    private static let settings = """
        export XDG_CACHE_HOME="$SCRATCH/cache" XDG_CONFIG_HOME="$SCRATCH/config" TMPDIR="$SCRATCH/temporary"
        export GSETTINGS_BACKEND=keyfile QT_QPA_PLATFORM=offscreen GIO_USE_VFS=local
        mkdir -p "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME" "$TMPDIR" "$HOME"
        cd /
        exec dbus-run-session -- bash -eu "$SCRATCH/session.sh"
        """

    private static func session(_ script: String, _ mount: MountedStore) throws -> String {
        let refused = """
            refused() { "$HYDRANT" events --last 1000 --no-follow --json "$MOUNT" | grep '"event":"refused"' || true; }

            """
        try (refused + script).write(toFile: mount.sandbox.scratch + "/session.sh", atomically: true, encoding: .utf8)
        return try mount.run(settings, limit: 30)
    }

    private func states(_ mount: MountedStore) throws -> Set<String> {
        Set(try mount.run("\"$HYDRANT\" status * | cut -d' ' -f1").split(separator: "\n").map(String.init))
    }

    private func atDesktop(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(
            .with {
                $0.limit = 60
                $0.arguments = ["--read-ahead", "none"]
            }, seed: Self.seed
        ) { mount in
            _ = try mount.run("ls >/dev/null")
            try body(mount)
        }
    }

    @Test(
        "GNOME's and others' thumbnailers, as a file manager runs them",
        arguments: [
            "gdk-pixbuf-thumbnailer -s 128 \"file://$MOUNT/p0.svg\" \"$SCRATCH/out.png\"",
            "evince-thumbnailer -s 128 \"file://$MOUNT/t0.txt\" \"$SCRATCH/out.png\"",
            "ffmpegthumbnailer -i p0.svg -o \"$SCRATCH/out.png\"",
        ])
    func thumbnailers(_ command: String) async throws {
        try await atDesktop { mount in
            let result = try mount.shell(command)
            #expect(result.status != 0)
            #expect(try states(mount) == ["placeholder"])
            #expect(try mount.run("\"$HYDRANT\" events --last 9 --no-follow \"$MOUNT\"").contains("refused"))
        }
    }

    @Test("tumblerd: pictures of what is here, nothing of what is not")
    func tumbler() async throws {
        try await atDesktop { mount in
            _ = try mount.run("cat p1.svg >/dev/null")
            let made = try Self.session(
                """
                uris=$(cd "$MOUNT"; for f in p*.svg; do printf "'file://%s/%s'," "$MOUNT" "$f"; done)
                types=$(cd "$MOUNT"; for f in p*.svg; do printf "'image/svg+xml',"; done)
                gdbus call --session --dest org.freedesktop.thumbnails.Thumbnailer1 \\
                    --object-path /org/freedesktop/thumbnails/Thumbnailer1 \\
                    --method org.freedesktop.thumbnails.Thumbnailer1.Queue "[${uris%,}]" "[${types%,}]" normal default 0 >/dev/null
                hash=$(printf 'file://%s/p1.svg' "$MOUNT" | md5sum | cut -d' ' -f1)
                until [ -e "$XDG_CACHE_HOME/thumbnails/normal/$hash.png" ]; do sleep 0.1; done
                for number in 0 2 11; do until refused | grep -q "p$number.svg"; do sleep 0.1; done; done
                find "$XDG_CACHE_HOME/thumbnails" -name '*.png' | wc -l
                """, mount)
            #expect(made == "1\n")
            #expect(
                try mount.run("\"$HYDRANT\" status * | grep -c ^placeholder") == "\(Self.pictures + Self.texts - 1)\n")
        }
    }

    @Test("Tracker: knows the names of all, and reads none of what is not here")
    func tracker() async throws {
        try await atDesktop { mount in
            _ = try Self.session(
                """
                schema=org.freedesktop.Tracker3.Miner.Files
                gsettings set $schema index-recursive-directories "['$MOUNT']"
                gsettings set $schema index-single-directories "[]"
                /usr/libexec/tracker-miner-fs-3 --initial-sleep=0 >/dev/null 2>&1 & miner=$!
                until [ "$(refused | grep -c tracker-extract)" -ge \(Self.texts) ]; do sleep 0.2; done
                kill $miner; wait $miner || true
                """, mount)
            #expect(try states(mount) == ["placeholder"])
        }
    }

    @Test("Baloo: reads none of what is not here")
    func baloo() async throws {
        try await atDesktop { mount in
            let count = Self.pictures + Self.texts
            _ = try Self.session(
                """
                printf '[Basic Settings]\\nIndexing-Enabled=true\\n[General]\\nfolders[$e]=%s/\\nexclude folders[$e]=\\nonly basic indexing=false\\n' \\
                    "$MOUNT" >"$XDG_CONFIG_HOME/baloofilerc"
                baloo_file >/dev/null 2>&1 & miner=$!
                until [ "$(refused | grep -c baloo_file_extractor)" -ge \(count) ]; do sleep 0.2; done
                kill $miner; wait $miner || true
                """, mount)
            #expect(try states(mount) == ["placeholder"])
        }
    }
}
