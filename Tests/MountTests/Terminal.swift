import Foundation
import MountHarness

/// A program at a terminal. Editors take other ways when they have none, so they are given one (pty(7)) and
/// somebody who types.
struct Terminal: Sendable {
    /// What the typist waits for on the screen, and what is typed then.
    struct Step: Sendable, Codable {
        var text: String
        /// Seconds between what was waited for and the keys.
        var pause: Double
        var keys: String

        /// When `text` has come up, `keys`.
        static func at(_ text: String, pause: Double = 0.3, _ keys: String) -> Step {
            Step(text: text, pause: pause, keys: keys)
        }
    }

    static let enter = "\r"
    static let escape = "\u{1b}"
    static func control(_ letter: Character) -> String {
        String(UnicodeScalar((letter.asciiValue ?? 0) & 0x1f))
    }

    /// A script for ``MountedStore/run(_:limit:)`` that runs `command` and types. It fails, with the screen on
    /// standard error, when a text does not come up or when the program does not end by itself.
    static func script(_ command: String, _ steps: [Step]) throws -> String {
        let json = String(decoding: try JSONEncoder().encode(steps), as: UTF8.self)
        return """
            cat > "$SCRATCH/terminal.py" <<'PYTHON'
            \(typist)
            PYTHON
            cat > "$SCRATCH/steps.json" <<'JSON'
            \(json)
            JSON
            TERM=xterm python3 "$SCRATCH/terminal.py" "$SCRATCH/steps.json" \(command)

            """
    }

    private static let typist = #"""
        import fcntl, json, os, pty, re, select, struct, sys, termios, time

        steps = json.load(open(sys.argv[1]))
        pid, master = pty.fork()
        if pid == 0:
            os.execvp(sys.argv[2], sys.argv[2:])
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        screen = b""
        deadline = time.monotonic() + 120

        def read(seconds):
            """Takes what the program writes; False when it has let go of the terminal."""
            global screen
            until = time.monotonic() + seconds
            while True:
                if not select.select([master], [], [], max(0, min(0.1, until - time.monotonic())))[0]:
                    if time.monotonic() >= until: return True
                    continue
                try: data = os.read(master, 65536)
                except OSError: return False
                if not data: return False
                screen += data

        def shown():
            return re.sub(r"\x1b(\[[0-9;?>]*[a-zA-Z]|[()].|[=>78])", "", screen.decode(errors="replace"))

        def give_up(why):
            sys.stderr.write("%s; on the screen:\n%s\n" % (why, shown()[-1500:]))
            os.kill(pid, 9)
            sys.exit(1)

        for step in steps:
            while step["text"] not in shown():
                if not read(0.05): give_up("it ended before “%s” came" % step["text"])
                if time.monotonic() > deadline: give_up("“%s” did not come" % step["text"])
            read(step["pause"])
            screen = b""
            os.write(master, step["keys"].encode())
        while read(0.05):
            if time.monotonic() > deadline: give_up("it does not end")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """#
}
