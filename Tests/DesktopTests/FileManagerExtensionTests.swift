import Foundation
import MountHarness
import Testing

/// The extensions in the real file managers. Needs what `scripts/test desktop` installs.
@Suite("Emblems in real file managers")
struct FileManagerExtensionTests {
    /// A second extension, beside Hydrant's: notes what the file manager gets from that. (A file manager that does not
    /// load the extension, does not ask it, or does not ask again after a change, leaves nothing here.)
    private static func probe(_ module: String) -> String {
        """
        import os, sys, time
        folder = os.environ["XDG_DATA_HOME"] + "/\(module)-python/extensions"
        sys.path.insert(0, folder)
        import hydrant_\(module)

        class Probe:
            def __init__(self, file):
                self.file, self.emblems, self.state = file, [], None

            def __getattr__(self, name):
                return getattr(self.file, name)

            def add_emblem(self, name):
                self.emblems.append(name)
                self.file.add_emblem(name)

            def add_string_attribute(self, name, value):
                self.state = value
                self.file.add_string_attribute(name, value)

        own = hydrant_\(module).HydrantExtension.update_file_info

        def note(self, file):
            probe = Probe(file)
            own(self, probe)
            with open(os.environ["SCRATCH"] + "/probe.log", "a") as log:
                print(f"{time.time():.3f}", os.path.basename(file.get_uri()), *sorted(probe.emblems), file=log)

        hydrant_\(module).HydrantExtension.update_file_info = note
        """
    }

    /// Waits until the last that the file manager got for a name is this; prints how long that took since `begin`.
    private static let functions = #"""
        last() { grep " $1\b" "$SCRATCH/probe.log" | tail -n 1 | cut -d' ' -f3-; }
        begin() { begun=$(date +%s.%N); }
        becomes() {
            until [ "$(last "$1")" = "$2" ]; do sleep 0.02; done
            echo "$1: ${2:-nothing} after $(echo "$(date +%s.%N) $begun" | awk '{ printf "%.2f", $1 - $2 }') s"
        }
        begin

        """#

    private static func emblems(_ module: String, _ start: String) async throws {
        try await DesktopSession.atMount { mount in
            #expect(try mount.hydrant(["desktop", "install"]).succeeded)
            let folder = mount.sandbox.path + "/data/\(module)-python/extensions"
            // (Named so that it comes before Hydrant's, whose class it changes.)
            try probe(module).write(toFile: folder + "/a_probe.py", atomically: true, encoding: .utf8)
            let said = try DesktopSession.run(
                functions + """
                    : >"$SCRATCH/probe.log"
                    \(start) >"$SCRATCH/manager.log" 2>&1 & manager=$!
                    becomes t1.txt hydrant-cloud; becomes t2.txt hydrant-cloud
                    begin; "$HYDRANT" download -q "$MOUNT/t1.txt"; becomes t1.txt hydrant-here
                    begin; "$HYDRANT" evict -q "$MOUNT/t1.txt"; becomes t1.txt hydrant-cloud
                    begin; "$HYDRANT" pin -q "$MOUNT/t1.txt"; becomes t1.txt 'hydrant-here hydrant-pinned'
                    "$HYDRANT" pause "$MOUNT" >/dev/null
                    begin; echo more >>"$MOUNT/t2.txt"; becomes t2.txt hydrant-waiting
                    "$HYDRANT" resume "$MOUNT" >/dev/null
                    becomes t2.txt hydrant-here
                    begin; echo new >"$MOUNT/new.txt"; becomes new.txt hydrant-here
                    cd /; kill $manager; wait $manager || true
                    # With the file manager its programs end.
                    until ! pgrep -f -- "--shallow --interval 0.3 --in $MOUNT" >/dev/null; do sleep 0.1; done
                    """, mount, onScreen: true)
            print(said)
            // Nothing was downloaded but what was asked for. (Nemo reads pictures by itself, to draw them small.)
            #expect(
                try mount.run("\"$HYDRANT\" status t*.txt | grep -c ^placeholder") == "\(DesktopSession.texts - 2)\n")
            #expect(try mount.hydrant(["desktop", "remove"]).succeeded)
            let left = try mount.run("find \"$XDG_DATA_HOME\" -name '*hydrant_*' -o -name 'emblem-hydrant*'")
            #expect(left == "")
        }
    }

    @Test("GNOME's Files (Nautilus) has the emblems, and gets them again after each change")
    func nautilus() async throws { try await Self.emblems("nautilus", "nautilus --new-window \"$MOUNT\"") }

    @Test("Nemo has the emblems, and gets them again after each change")
    func nemo() async throws { try await Self.emblems("nemo", "nemo \"$MOUNT\"") }

    /// Keys open the menu, and the submenu by its letter; the first entry is the download.
    @Test("Dolphin's menu downloads what is selected")
    func dolphin() async throws {
        try await DesktopSession.atMount { mount in
            #expect(try mount.hydrant(["desktop", "install"]).succeeded)
            _ = try DesktopSession.run(
                """
                export QT_QPA_PLATFORM=xcb
                dolphin --new-window "$MOUNT" >"$SCRATCH/manager.log" 2>&1 & manager=$!
                until window=$(xdotool search --onlyvisible --class dolphin | tail -n 1) && [ -n "$window" ]; do
                    sleep 0.1
                done
                until "$HYDRANT" status "$MOUNT"/*.txt | grep -q ^downloaded; do
                    xdotool windowfocus $window key Escape; sleep 1; xdotool key ctrl+a; sleep 0.5; xdotool key Menu
                    sleep 1.5; xdotool key h; sleep 1; xdotool key Return; sleep 3
                done
                while "$HYDRANT" status "$MOUNT"/* | grep -q ^placeholder; do sleep 0.2; done
                kill $manager; wait $manager || true
                """, mount, onScreen: true)
        }
    }

    /// Thunar asks for menus and properties only when somebody opens them: keys do.
    @Test("Thunar has the menu and the page of properties")
    func thunar() async throws {
        try await DesktopSession.atMount { mount in
            #expect(try mount.hydrant(["desktop", "install"]).succeeded)
            let folder = mount.sandbox.path + "/data/thunarx-python/extensions"
            let probe = """
                import os, sys
                sys.path.insert(0, os.environ["XDG_DATA_HOME"] + "/thunarx-python/extensions")
                import hydrant_thunar

                extension = hydrant_thunar.HydrantExtension
                menu, pages = extension.get_file_menu_items, extension.get_property_pages

                def note(what, items):
                    with open(os.environ["SCRATCH"] + "/probe.log", "a") as log:
                        print(what, *[item.get_property("label") for item in items], file=log)
                    return items

                extension.get_file_menu_items = lambda self, *all: note("menu", menu(self, *all))
                extension.get_property_pages = lambda self, *all: note("page", pages(self, *all))
                """
            try probe.write(toFile: folder + "/a_probe.py", atomically: true, encoding: .utf8)
            _ = try DesktopSession.run(
                """
                : >"$SCRATCH/probe.log"
                thunar "$MOUNT" >"$SCRATCH/manager.log" 2>&1 & manager=$!
                until window=$(xdotool search --onlyvisible --class thunar | tail -n 1) && [ -n "$window" ]; do
                    sleep 0.1
                done
                until grep -q 'menu Hydrant' "$SCRATCH/probe.log"; do
                    xdotool windowfocus $window key ctrl+a; sleep 0.5; xdotool key shift+F10; sleep 0.5
                    xdotool key Escape; sleep 0.2
                done
                until grep -q 'page Hydrant' "$SCRATCH/probe.log"; do
                    xdotool windowfocus $window key Home; sleep 0.2; xdotool key alt+Return; sleep 1
                done
                kill $manager; wait $manager || true
                """, mount, onScreen: true)
            #expect(try mount.run("\"$HYDRANT\" status t*.txt | grep -vc ^placeholder || true") == "0\n")
        }
    }
}
