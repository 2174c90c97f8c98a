import ControlAPI
import Foundation
import MountHarness
import Testing

/// The status icon, as a host in a desktop's panel sees it.
@Suite("The status icon")
struct NoticeIconTests {
    @Test("a watcher that comes late learns of it; state, tooltip and menu are there; Pause and Resume act; Quit ends")
    func icon() async throws {
        try await withMount(NoticeSession.options, seed: { try Seeding($0).file("doc.txt", "text\n") }) { mount in
            let output = try NoticeSession.run(
                """
                notify
                watcher=org.kde.StatusNotifierWatcher
                gdbus wait --session --timeout 60 org.hydrant.Notify
                cat >"$SCRATCH/watcher.py" <<END
                import dbus, dbus.service, dbus.mainloop.glib
                from gi.repository import GLib
                dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
                bus = dbus.SessionBus()
                name = dbus.service.BusName("$watcher", bus)
                class Watcher(dbus.service.Object):
                    @dbus.service.method("$watcher", in_signature="s")
                    def RegisterStatusNotifierItem(self, item):
                        open("$SCRATCH/item", "w").write(item + "\\n")
                watcher = Watcher(bus, "/StatusNotifierWatcher")
                GLib.MainLoop().run()
                END
                /usr/bin/python3 "$SCRATCH/watcher.py" & started+=($!)
                until_line "$SCRATCH/item" '^:'
                item=$(cat "$SCRATCH/item")
                property() {
                    gdbus call --session --dest $item --object-path /StatusNotifierItem \\
                        --method org.freedesktop.DBus.Properties.Get org.kde.StatusNotifierItem $1
                }
                layout() {
                    gdbus call --session --dest $item --object-path /MenuBar --method com.canonical.dbusmenu.GetLayout 0 -- -1 '[]'
                }
                # The number of the line with this label.
                number() { layout | grep -oE "<\\\\([0-9]+, \\\\{[^}]*'label': <'$1'>" | grep -oE '[0-9]+' | head -1; }
                click() {
                    gdbus call --session --dest $item --object-path /MenuBar \\
                        --method com.canonical.dbusmenu.Event "$(number "$1")" clicked "<''>" 0 >/dev/null
                }
                until property ToolTip | grep -q 'up to date'; do sleep 0.1; done
                property Status; property IconName; property Menu
                layout
                click Pause
                until "$HYDRANT" status "$MOUNT" | grep -q 'paused:'; do sleep 0.1; done
                until property IconName | grep -q media-playback-pause; do sleep 0.1; done
                until [ -n "$(number Resume)" ]; do sleep 0.1; done
                click Resume
                while "$HYDRANT" status "$MOUNT" | grep -q 'paused:'; do sleep 0.1; done
                click Quit
                wait $notify; echo "ended $?"
                """, mount)
            #expect(output.contains("<'Active'>") && output.contains("<'folder-remote'>"), "\(output)")
            #expect(output.contains("objectpath '/MenuBar'") && output.contains("'Open folder'"), "\(output)")
            #expect(output.hasSuffix("ended 0\n"), "\(output)")
        }
    }
}
