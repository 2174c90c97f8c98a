import Foundation
import MountHarness

/// A session with a notification server, and what a test does there as a person would.
enum NoticeSession {
    /// Functions for the scripts. Each wait ends with an event.
    static let functions = """
        # (A wait for an event that does not come ends, and so do the programs.)
        if [ -z "${IN_TIME-}" ]; then IN_TIME=1 exec timeout --foreground 140 bash -eu "$0"; fi
        # The programs that were started, which end with the session.
        started=()
        trap 'for pid in ${started[@]+"${started[@]}"}; do kill $pid 2>/dev/null || true; done; wait' EXIT
        until_line() { until grep -qE -- "$2" "$1" 2>/dev/null; do sleep 0.1; done; }
        # mock CAPABILITIES: a server that records calls, and shows nothing (python3-dbusmock).
        mock() {
            /usr/bin/python3 -m dbusmock --session --logfile "$SCRATCH/server.log" --template notification_daemon \\
                --parameters "{\\"capabilities\\": \\"$1\\"}" 2>"$SCRATCH/server.err" & started+=($!)
            gdbus wait --session --timeout 60 org.freedesktop.Notifications
        }
        # press NUMBER ACTION: what the server says when somebody presses a button.
        press() {
            gdbus call --session --dest org.freedesktop.Notifications --object-path /org/freedesktop/Notifications \\
                --method org.freedesktop.DBus.Mock.EmitSignal org.freedesktop.Notifications ActionInvoked us \\
                "[<uint32 $1>, <'$2'>]" >/dev/null
        }
        notify() { "$HYDRANT" notify >"$SCRATCH/notify.log" 2>&1 & started+=($!); notify=$!; }

        """

    static func run(_ script: String, _ mount: MountedStore, onScreen: Bool = false) throws -> String {
        try DesktopSession.run(functions + script, mount, onScreen: onScreen)
    }

    static let options = MountOptions.with {
        $0.limit = DesktopSession.limit + 30
        $0.arguments = ["--read-ahead", "none"]
    }

    /// `doc.txt`, changed on both sides.
    static func makeConflict(_ mount: MountedStore) throws {
        try mount.run("echo mine > doc.txt")
        try Seeding(mount.store).file("doc.txt", "theirs, which is longer\n")
        try mount.sync()
    }
}
