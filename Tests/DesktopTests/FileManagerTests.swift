import Foundation
import MountHarness
import Testing

/// File managers that show a folder of placeholders: they draw pictures of what is here, and download nothing. Needs what
/// `scripts/test desktop` installs.
@Suite("File managers of real desktops")
struct FileManagerTests {
    /// One picture is here, the others are not.
    private static func show(_ script: String, onScreen: Bool = false) async throws {
        try await DesktopSession.atMount { mount in
            _ = try mount.run("cat p1.svg >/dev/null")
            let pictures = DesktopSession.pictures
            let made = try DesktopSession.run(
                """
                \(script) >"$SCRATCH/manager.log" 2>&1 & manager=$!
                until [ "$(refused | grep -o 'p[0-9]*\\.svg' | sort -u | wc -l)" -ge \(pictures - 1) ]; do sleep 0.3; done
                if [ "\(onScreen)" = true ]; then
                    hash=$(printf 'file://%s/p1.svg' "$MOUNT" | md5sum | cut -d' ' -f1)
                    until [ -n "$(find "$XDG_CACHE_HOME/thumbnails" -path "*/$hash.png" -not -path '*/fail/*')" ]; do sleep 0.1; done
                fi
                refused | grep -c 'p1.svg' || true
                kill $manager; wait $manager || true
                """, mount, onScreen: onScreen)
            #expect(made.hasSuffix("0\n"), "\(made)")
            #expect(
                try mount.run("\"$HYDRANT\" status * | grep -c ^placeholder")
                    == "\(pictures + DesktopSession.texts - 1)\n")
        }
    }

    @Test("GNOME's Files (Nautilus), with thumbnails of everything")
    func nautilus() async throws {
        try await Self.show(
            """
            gsettings set org.gnome.nautilus.preferences show-image-thumbnails always
            nautilus --new-window "$MOUNT"
            """, onScreen: true)
    }

    @Test("KDE's Dolphin, with previews; its thumbnailer is a plugin of KIO")
    func dolphin() async throws {
        try await Self.show(
            """
            export XDG_DATA_HOME="$SCRATCH/data"; properties="$XDG_DATA_HOME/dolphin/view_properties/global"
            mkdir -p "$properties"
            printf '[Dolphin]\\nPreviewsShown=true\\nVersion=4\\nTimestamp=2026,1,1,0,0,0\\n' >"$properties/.directory"
            printf '[PreviewSettings]\\nPlugins=svgthumbnail,imagethumbnail\\n' >"$XDG_CONFIG_HOME/dolphinrc"
            dolphin --new-window "$MOUNT"
            """)
    }
}
