import ControlAPI
import Foundation
import MountHarness
import Testing

/// The clipboard of a real X server.
@Suite("The desktop's clipboard")
struct ClipboardTests {
    @Test("copy puts the document's URL on the clipboard, in the format of file managers, and downloads nothing")
    func copies() async throws {
        try await withMount(.with { $0.limit = DesktopSession.limit + 30 }) { store in
            try Seeding(store).file("a letter.txt", "letter\n")
        } _: { mount in
            let output = try mount.run(
                """
                unset WAYLAND_DISPLAY
                Xvfb -displayfd 3 -screen 0 640x480x8 -nolisten tcp 3>"$SCRATCH/display" 2>/dev/null & server=$!
                trap 'kill $server' EXIT
                until [[ -s $SCRATCH/display ]]; do sleep 0.05; kill -0 $server; done
                export DISPLAY=":$(cat "$SCRATCH/display")"
                "$HYDRANT" open --copy 'a letter.txt'
                xclip -selection clipboard -o -t text/uri-list
                """, limit: DesktopSession.limit)
            #expect(output == "file://\(mount.mountPoint)/a%20letter.txt\r\n")
            #expect(try mount.status("a letter.txt").state == .placeholder)
        }
    }
}
