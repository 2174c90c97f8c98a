import ControlAPI
import Foundation
import MountHarness
import Testing

/// The desktop's own programs at a mount: what makes thumbnails or an index reads what is here, and downloads nothing. Needs what
/// `scripts/test desktop` installs.
@Suite("Thumbnailers and indexers of real desktops")
struct IndexerTests {
    @Test(
        "GNOME's and others' thumbnailers, as a file manager runs them",
        arguments: [
            "gdk-pixbuf-thumbnailer -s 128 \"file://$MOUNT/p0.svg\" \"$SCRATCH/out.png\"",
            "evince-thumbnailer -s 128 \"file://$MOUNT/t0.txt\" \"$SCRATCH/out.png\"",
            "ffmpegthumbnailer -i p0.svg -o \"$SCRATCH/out.png\"",
        ])
    func thumbnailers(_ command: String) async throws {
        try await DesktopSession.atMount { mount in
            let result = try mount.shell(command)
            #expect(result.status != 0)
            #expect(try DesktopSession.states(mount) == ["placeholder"])
            #expect(try mount.run("\"$HYDRANT\" events --last 9 --no-follow \"$MOUNT\"").contains("refused"))
        }
    }

    @Test("tumblerd: makes pictures of downloaded documents only")
    func tumbler() async throws {
        try await DesktopSession.atMount { mount in
            _ = try mount.run("cat p1.svg >/dev/null")
            let made = try DesktopSession.run(
                """
                uris=$(cd "$MOUNT"; for f in p*.svg; do printf "'file://%s/%s'," "$MOUNT" "$f"; done)
                types=$(cd "$MOUNT"; for f in p*.svg; do printf "'image/svg+xml',"; done)
                \(DesktopSession.call) --dest org.freedesktop.thumbnails.Thumbnailer1 \\
                    --object-path /org/freedesktop/thumbnails/Thumbnailer1 \\
                    --method org.freedesktop.thumbnails.Thumbnailer1.Queue "[${uris%,}]" "[${types%,}]" normal default "uint32 0" >/dev/null
                hash=$(printf 'file://%s/p1.svg' "$MOUNT" | md5sum | cut -d' ' -f1)
                until [ -e "$XDG_CACHE_HOME/thumbnails/normal/$hash.png" ]; do sleep 0.1; done
                for number in 0 2 11; do until refused | grep -q "p$number.svg"; do sleep 0.1; done; done
                find "$XDG_CACHE_HOME/thumbnails" -name '*.png' | wc -l
                """, mount)
            #expect(made == "1\n")
            #expect(
                try mount.run("\"$HYDRANT\" status * | grep -c ^placeholder")
                    == "\(DesktopSession.pictures + DesktopSession.texts - 1)\n")
        }
    }

    @Test("Tracker: indexes all names, and reads no placeholder")
    func tracker() async throws {
        try await DesktopSession.atMount { mount in
            _ = try DesktopSession.run(
                """
                schema=org.freedesktop.Tracker3.Miner.Files
                gsettings set $schema index-recursive-directories "['$MOUNT']"
                gsettings set $schema index-single-directories "[]"
                /usr/libexec/tracker-miner-fs-3 --initial-sleep=0 >/dev/null 2>&1 & miner=$!
                until [ "$(refused | grep -c tracker-extract)" -ge \(DesktopSession.texts) ]; do sleep 0.2; done
                kill $miner; wait $miner || true
                """, mount)
            #expect(try DesktopSession.states(mount) == ["placeholder"])
        }
    }

    @Test("Baloo: reads no placeholder")
    func baloo() async throws {
        try await DesktopSession.atMount { mount in
            let count = DesktopSession.pictures + DesktopSession.texts
            _ = try DesktopSession.run(
                """
                printf '[Basic Settings]\\nIndexing-Enabled=true\\n[General]\\nfolders[$e]=%s/\\nexclude folders[$e]=\\nonly basic indexing=false\\n' \\
                    "$MOUNT" >"$XDG_CONFIG_HOME/baloofilerc"
                baloo_file >/dev/null 2>&1 & miner=$!
                until [ "$(refused | grep -c baloo_file_extractor)" -ge \(count) ]; do sleep 0.2; done
                kill $miner; wait $miner || true
                """, mount)
            #expect(try DesktopSession.states(mount) == ["placeholder"])
        }
    }
}
