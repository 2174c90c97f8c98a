"""What the menus of Hydrant do: `hydrant_actions.py [--stdin] ACTION [PATH…]`, in a process of its own.

Runs `hydrant`, and tells of a failure in a notification; the actions link, versions, resolve and why show a window.
Paths are arguments, or with --stdin what standard input has, separated by NULs.
"""

import datetime
import html
import json
import os
import subprocess
import sys
import threading

import gi
from gi.repository import Gio, GLib

HYDRANT = os.environ.get("HYDRANT_PROGRAM") or "@HYDRANT@"
# Paths in one command.
PART = 500
LONGEST_NOTICE = 400
TITLES = {
    "download": "Not all could be downloaded", "evict": "Not all space could be freed",
    "pin": "Not all will be kept here", "unpin": "Not all could be released",
}


def run(*arguments):
    """Runs `hydrant`: its output, and its error (None: it succeeded)."""
    try:
        result = subprocess.run([HYDRANT, *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        return "", f"{HYDRANT}: {error.strerror}"
    error = result.stderr.decode("utf-8", "replace").strip()
    prefix = "hydrant: "
    lines = [line.removeprefix(prefix) for line in error.splitlines()]
    failed = "\n".join(lines) or f"hydrant {arguments[0]} has failed ({result.returncode})"
    return result.stdout.decode("utf-8", "replace"), failed if result.returncode else None


def run_json(*arguments):
    output, error = run(*arguments)
    if error is None:
        try:
            return json.loads(output), None
        except ValueError:
            error = f"hydrant {arguments[0]}: unexpected output"
    return None, error


def notify(title, text):
    """A notice; where nobody shows notices, a window."""
    text = text if len(text) <= LONGEST_NOTICE else text[:LONGEST_NOTICE] + "…"
    try:
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        # (Some servers read markup.)
        notice = ("Hydrant", 0, "dialog-error", title, html.escape(text, quote=False), [], {}, -1)
        bus.call_sync(
            "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
            "Notify", GLib.Variant("(susssasa{sv}i)", notice), None, Gio.DBusCallFlags.NONE, 5_000)
    except GLib.Error:
        window = Window(title)
        window.text(text)
        window.run()


def all_of(action, paths):
    errors = []
    for start in range(0, len(paths), PART):
        _, error = run(action, "--quiet", "--", *paths[start:start + PART])
        if error:
            errors.append(error)
    if errors:
        notify(TITLES[action], "\n".join(errors))
    return 1 if errors else 0


class Window:
    """A small window of texts and buttons, in GTK 4 or 3."""

    def __init__(self, title):
        for version in ("4.0", "3.0"):
            try:
                gi.require_version("Gtk", version)
                gi.require_version("Gdk", version)
                break
            except ValueError:
                continue
        from gi.repository import Gdk, Gtk

        self.Gdk, self.Gtk = Gdk, Gtk
        self.is_new = version == "4.0"
        if not (Gtk.init_check() if self.is_new else Gtk.init_check([])[0]):
            raise SystemExit(f"{title}: there is no display")
        self.loop = GLib.MainLoop()
        self.window = Gtk.Window(title=title, default_width=520)
        self.window.connect("close-request" if self.is_new else "delete-event", lambda *_: self.loop.quit())
        self.box = Gtk.Box(
            orientation=Gtk.Orientation.VERTICAL, spacing=8, margin_top=12, margin_bottom=12, margin_start=12,
            margin_end=12)
        if self.is_new:
            self.window.set_child(self.box)
        else:
            self.window.add(self.box)
        self.buttons = []

    def _add(self, box, child, grows=False):
        if self.is_new:
            child.set_hexpand(grows)
            box.append(child)
        else:
            box.pack_start(child, grows, grows, 0)

    def text(self, text):
        label = self.Gtk.Label(label=text, xalign=0, wrap=True, selectable=True)
        self._add(self.box, label)
        return label

    def row(self, text, *buttons):
        """A text with buttons: pairs of a label and what it does."""
        row = self.Gtk.Box(orientation=self.Gtk.Orientation.HORIZONTAL, spacing=8)
        if text is not None:
            self._add(row, self.Gtk.Label(label=text, xalign=0, wrap=True, selectable=True), True)
        for label, action in buttons:
            button = self.Gtk.Button(label=label)
            button.connect("clicked", lambda _button, action=action: action())
            self._add(row, button)
            self.buttons.append(button)
        self._add(self.box, row)

    def scroll(self):
        """What is added next is in a list that scrolls."""
        scrolled = self.Gtk.ScrolledWindow(min_content_height=320, vexpand=True)
        inner = self.Gtk.Box(orientation=self.Gtk.Orientation.VERTICAL, spacing=6)
        if self.is_new:
            scrolled.set_child(inner)
        else:
            scrolled.add(inner)
        self._add(self.box, scrolled)
        outer, self.box = self.box, inner
        return outer

    def copy(self, text):
        if self.is_new:
            self.Gdk.Display.get_default().get_clipboard().set(text)
        else:
            clipboard = self.Gtk.Clipboard.get(self.Gdk.SELECTION_CLIPBOARD)
            clipboard.set_text(text, -1)
            clipboard.store()

    def work(self, status, then, *arguments):
        """Runs `hydrant` beside the window; `then` gets its output and error."""
        for button in self.buttons:
            button.set_sensitive(False)

        def ended(output, error):
            for button in self.buttons:
                button.set_sensitive(True)
            status.set_text(error or "")
            then(output, error)
            return GLib.SOURCE_REMOVE

        status.set_text("…")
        threading.Thread(target=lambda: GLib.idle_add(ended, *run(*arguments)), daemon=True).start()

    def close(self):
        self.window.destroy()
        self.loop.quit()

    def run(self):
        if self.is_new:
            self.window.present()
        else:
            self.window.show_all()
        self.loop.run()


def name(path):
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in os.path.basename(path))


def day(seconds):
    if seconds is None:
        return "unknown date"
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def link(path):
    """Everybody who has a link can open the item, so it is made only when somebody says so."""
    window = Window(f"Link to {name(path)}")
    window.text("Everybody who has the link can open the item as it is in the store.")
    status = window.text("")

    def made(output, error):
        if error is None:
            window.copy(output.strip())
            status.set_text(f"{output.strip()}\nThe link is in the clipboard for as long as this window is open.")

    window.row(
        None, ("Make Link and Copy", lambda: window.work(status, made, "share", "--", path)), ("Close", window.close))
    window.run()
    return 0


def versions(path):
    found, error = run_json("versions", "--json", "--", path)
    if error is not None:
        notify("Versions", error)
        return 1
    window = Window(f"Versions of {name(path)}")
    status = window.text("The store keeps no earlier versions." if not found else "The newest is first.")

    def restore(version):
        window.work(
            status, lambda _output, error: error is None and status.set_text(f"Restored: {day(version['modified'])}"),
            "versions", "--restore", version["identifier"], "--", path)

    outer = window.scroll()
    for version in found:
        words = [day(version["modified"]), GLib.format_size(version["size"])]
        words += [version[key] for key in ("author", "label") if version.get(key)]
        window.row(", ".join(words), ("Restore", lambda version=version: restore(version)))
    window.box = outer
    window.row(None, ("Close", window.close))
    window.run()
    return 0


def resolve(path):
    # (Another mount may not answer.)
    output, error = run("conflicts", "--json")
    try:
        found = json.loads(output)
    except ValueError:
        notify("Conflicts", error or "hydrant conflicts: unexpected output")
        return 1
    shown = os.fsencode(path).decode("utf-8", "replace")
    conflict = next((one for one in found if shown in (one["original"], one["copy"])), None)
    if conflict is None:
        notify("Conflicts", f"{name(path)}: the conflict is over")
        return 0
    window = Window(f"Conflict of {name(conflict['original'])}")
    window.text(conflict["explanation"])
    status = window.text("")

    def open_it(place):
        window.work(status, lambda *_: None, "open", "--", place)

    def keep(which):
        def ended(_output, error):
            if error is None:
                window.close()

        window.work(status, ended, "resolve", "--keep", which, "--", path)

    window.row("Mine: " + name(conflict["copy"]), ("Open", lambda: open_it(conflict["copy"])))
    window.row("Theirs: " + name(conflict["original"]), ("Open", lambda: open_it(conflict["original"])))
    window.row(
        None, ("Keep Mine", lambda: keep("mine")), ("Keep Theirs", lambda: keep("theirs")),
        ("Keep Both", lambda: keep("both")), ("Close", window.close))
    window.run()
    return 0


def reason(output):
    """Why an item waits, by what `hydrant status --json` says of it."""
    try:
        item = json.loads(output)[0]
    except (ValueError, IndexError):
        return ""
    if item["error"]:
        return item["error"]
    return "Its changes wait to be sent to the store." if item["modified"] else "Nothing waits."


def why(path):
    window = Window(f"Why {name(path)} waits")
    label = window.text("…")
    status = window.text("")

    def look(*_):
        window.work(status, lambda output, _error: label.set_text(reason(output)), "status", "--json", "--", path)

    def again():
        window.work(status, lambda _output, error: error is None and look(), "retry", "--", path)

    window.row(None, ("Try Again", again), ("Close", window.close))
    look()
    window.run()
    return 0


def main(arguments):
    takes_input = arguments[:1] == ["--stdin"]
    action, *paths = arguments[1:] if takes_input else arguments
    if takes_input:
        paths = [os.fsdecode(path) for path in sys.stdin.buffer.read().split(b"\0") if path]
    if not paths:
        return 64
    if action in TITLES:
        return all_of(action, paths)
    one = {"link": link, "versions": versions, "resolve": resolve, "why": why}.get(action)
    return one(paths[0]) if one else 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
