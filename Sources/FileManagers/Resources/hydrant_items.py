"""What Hydrant knows of the files that a file manager shows: for its extensions, which share this module.

For each folder that is shown, a `hydrant find --live --shallow` reports the items' states; a watch of GLib reads them
without blocking. Nothing here opens, lists or stats anything in a mount: a hanging store must not stop a window.
"""

import json
import os
import shutil
import subprocess
import time
from urllib.parse import unquote_to_bytes

from gi.repository import GLib

HYDRANT = os.environ.get("HYDRANT_PROGRAM") or "@HYDRANT@"
SHARED = "@SHARED@"

# Folders that are followed at a time; of more, those that were asked about last.
MOST_FOLDERS = 16
# Items of one folder; of a larger folder nothing is shown.
MOST_ITEMS = 200_000
# Seconds after which a folder is no longer followed that nobody asks about.
IDLE = 60.0
# Seconds before a folder is tried again whose program has ended.
PATIENCE = 10.0
LONGEST_LINE = 1 << 20
PIECE = 1 << 16


def local_path(uri):
    """The path of a file's address; None: it is not on this machine."""
    if not uri.startswith("file:///"):
        return None
    return unquote_to_bytes(uri[len("file://"):])


def shown(path):
    """A path as `hydrant … --json` prints it: bytes that are not UTF-8 as U+FFFD."""
    return path.decode("utf-8", "replace")


def command(*arguments):
    """The words that start `hydrant` so that it ends with this process."""
    guard = shutil.which("setpriv", path="/usr/bin:/bin")
    return ([guard, "--pdeathsig", "TERM", "--"] if guard else []) + [HYDRANT, *arguments]


class Mounts:
    """This user's Hydrant mounts, as the kernel lists them."""

    TABLE = "/proc/self/mountinfo"

    def __init__(self, gone):
        self._gone = gone
        self._file = os.open(self.TABLE, os.O_RDONLY | os.O_CLOEXEC)
        self.points = self._read()
        condition = GLib.IOCondition.PRI | GLib.IOCondition.ERR
        GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT, self._file, condition, self._changed)

    def _read(self):
        os.lseek(self._file, 0, os.SEEK_SET)
        parts = []
        while part := os.read(self._file, PIECE):
            parts.append(part)
        user = b"user_id=%d" % os.geteuid()
        points = {}
        for line in b"".join(parts).splitlines():
            head, _, tail = line.partition(b" - ")
            head, tail = head.split(b" "), tail.split(b" ")
            if len(head) > 4 and len(tail) > 2 and tail[0] == b"fuse.hydrant" and user in tail[2].split(b","):
                points[self._unescaped(head[4])] = head[0]
        return points

    @staticmethod
    def _unescaped(text):
        for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
            text = text.replace(escaped, plain)
        return text

    def _changed(self, _file, _condition):
        old, self.points = self.points, self._read()
        gone = [point for point, number in old.items() if self.points.get(point) != number]
        if gone:
            self._gone(gone)
        return GLib.SOURCE_CONTINUE

    def has(self, path):
        """Whether a path is in a mount, and not the mount point itself."""
        while len(path) > 1:
            path = os.path.dirname(path)
            if path in self.points:
                return True
        return False


class Item:
    """The state of one file or folder."""

    __slots__ = ("kind", "state", "size", "here", "conditions", "identifier", "error")

    def __init__(self, line):
        self.kind = line["kind"]
        self.state = line["state"]
        self.size = line["size"]
        self.here = line["bytesDownloaded"]
        self.conditions = frozenset(line["conditions"])
        self.identifier = line["identifier"]
        self.error = line["error"]

    @property
    def mark(self):
        """The one word for the item's state."""
        for condition, mark in (
            ("conflict", "conflict"), ("error", "error"), ("excluded", "local"), ("uploading", "waiting"),
            ("downloading", "downloading"),
        ):
            if condition in self.conditions:
                return mark
        if self.kind not in ("document", "folder"):
            return None
        if self.state == "downloaded":
            # (Of a folder that says only that it was listed.)
            return "here" if self.kind == "document" else None
        return "cloud"

    @property
    def emblems(self):
        marks = [self.mark] if self.mark else []
        if "pinned" in self.conditions:
            marks.append("pinned")
        return ["hydrant-" + mark for mark in marks]

    WORDS = {
        "conflict": "Conflict", "error": "Error", "local": "On this machine only", "waiting": "Waiting to be sent",
        "downloading": "Being downloaded", "here": "Here", "cloud": "Not here", None: "",
    }

    @property
    def words(self):
        """For the column."""
        text = self.WORDS[self.mark]
        if self.mark == "cloud" and self.state == "partial":
            text = "Partly here"
        if "pinned" in self.conditions:
            text = text + ", kept here" if text else "Kept here"
        return text

    def rows(self):
        """For the property page: pairs of names and values."""
        rows = [("State", self.words or "Folder")]
        if self.kind == "document":
            rows += [("Size", GLib.format_size(self.size)), ("Here", GLib.format_size(self.here))]
        if self.identifier:
            rows.append(("Identifier", self.identifier))
        if self.error:
            rows.append(("Last error", self.error))
        return rows


class _Folder:
    """One folder, and the program that reports its items."""

    def __init__(self, path, items):
        self.path = path
        self.items = {}
        self.used = time.monotonic()
        self.ended = None
        self.is_too_large = False
        self._owner = items
        self._rest = b""
        words = command(
            "find", "--live", "--json", "--shallow", "--interval", "0.3", "--in", os.fsdecode(path))
        self._process = self._source = None
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/")
        except OSError:
            self.ended = self.used
            return
        self._file = self._process.stdout.fileno()
        os.set_blocking(self._file, False)
        condition = GLib.IOCondition.IN | GLib.IOCondition.HUP | GLib.IOCondition.ERR
        # (After drawing: a large folder's items come in many pieces.)
        self._source = GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT_IDLE, self._file, condition, self._read)

    def _read(self, _file, _condition):
        try:
            piece = os.read(self._file, PIECE)
        except BlockingIOError:
            return GLib.SOURCE_CONTINUE
        except OSError:
            piece = b""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        changed = set()
        for line in lines:
            self._take(line, changed)
        if not piece or len(self._rest) > LONGEST_LINE or len(self.items) > MOST_ITEMS:
            self._source = None
            self.is_too_large = len(self.items) > MOST_ITEMS
            changed |= self.items.keys()
            self.end()
            self._owner._tell(changed)
            return GLib.SOURCE_REMOVE
        self._owner._tell(changed)
        return GLib.SOURCE_CONTINUE

    def may_begin_again(self, now):
        return self.ended is not None and not self.is_too_large and now - self.ended > PATIENCE

    def _take(self, line, changed):
        try:
            line = json.loads(line)
            path = line["path"]
            item = None if line["change"] == "removed" else Item(line)
        except (ValueError, KeyError, TypeError):
            return
        if item is None:
            self.items.pop(path, None)
        else:
            self.items[path] = item
        changed.add(path)

    def end(self):
        if self.ended is not None:
            return
        self.ended = time.monotonic()
        self.items = {}
        self._rest = b""
        if self._source is not None:
            GLib.source_remove(self._source)
            self._source = None
        process = self._process
        process.stdout.close()
        process.terminate()
        # Waited for without blocking, so that no dead process stays.
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT_IDLE, process.pid, lambda _pid, status: process.poll())


class Items:
    """The states of the files that a file manager asks about.

    `changed` is called with a set of paths (as `shown` writes them) whose states differ from before; `in_use` is asked
    whether the file manager still shows a folder (bytes).
    """

    def __init__(self, changed, in_use=lambda folder: False):
        self._changed = changed
        self._in_use = in_use
        self._folders = {}
        self._timer = None
        self.mounts = Mounts(self._unmounted)

    def look(self, path):
        """What is known of a path (bytes) now; None: nothing yet, or it is in no mount."""
        if path is None or not self.mounts.has(path):
            return None
        folder = self._follow(os.path.dirname(path))
        return folder.items.get(shown(path))

    def knows(self, path):
        return path is not None and self.mounts.has(path)

    def _follow(self, path):
        now = time.monotonic()
        folder = self._folders.pop(path, None)
        if folder is None or folder.may_begin_again(now):
            folder = _Folder(path, self)
        folder.used = now
        # (The last one is the one that was asked about last.)
        self._folders[path] = folder
        while len(self._folders) > MOST_FOLDERS:
            self._folders.pop(next(iter(self._folders))).end()
        if self._timer is None:
            self._timer = GLib.timeout_add_seconds(1, self._tick)
        return folder

    def _tick(self):
        now = time.monotonic()
        for path, folder in list(self._folders.items()):
            if now - folder.used > IDLE:
                if self._in_use(path):
                    folder.used = now
                else:
                    self._folders.pop(path).end()
        if self._folders:
            return GLib.SOURCE_CONTINUE
        self._timer = None
        return GLib.SOURCE_REMOVE

    def _unmounted(self, points):
        changed = set()
        for path in list(self._folders):
            if any(path == point or path.startswith(point + b"/") for point in points):
                folder = self._folders.pop(path)
                changed |= folder.items.keys()
                folder.end()
        self._tell(changed)

    def _tell(self, changed):
        if changed:
            self._changed(changed)

    def end(self):
        for path in list(self._folders):
            self._folders.pop(path).end()


def menu(paths, items):
    """The entries for a selection: (action, label, tip).

    `items` are the known states of the paths, None where nothing is known yet.
    """
    entries = []
    folders = any(item is None or item.kind == "folder" for item in items)
    documents = [item for item in items if item is not None and item.kind == "document"]
    if folders or any(item.state != "downloaded" for item in documents):
        entries.append(("download", "Download", "Download all of it now"))
    if folders or any(item.here > 0 for item in documents):
        entries.append(("evict", "Free Up Space", "Remove the bytes from this machine; they stay in the store"))
    pinned = [item is not None and "pinned" in item.conditions for item in items]
    if not all(pinned):
        entries.append(("pin", "Always Keep on This Device", "Download it, and keep it here"))
    if any(pinned):
        entries.append(("unpin", "No Longer Keep on This Device", "Its bytes may be removed when space is needed"))
    if len(paths) == 1:
        item = items[0]
        if item is None or item.identifier:
            entries.append(("link", "Copy Link…", "Make a public link, if the store gives out links"))
        if item is not None and item.kind == "document":
            if item.identifier:
                entries.append(("versions", "Versions…", "Earlier versions that the store keeps"))
            if "conflict" in item.conditions:
                entries.append(("resolve", "Resolve Conflict…", "Look at both versions, and choose"))
        if item is not None and item.conditions & {"uploading", "error"}:
            entries.append(("why", "Why Is This Waiting?", "What is still to be sent, and what went wrong"))
    return entries


def act(action, paths):
    """Starts an action on paths (bytes), which reports by itself, in a process of its own."""
    program = os.path.join(SHARED, "hydrant_actions.py")
    python = shutil.which("python3", path="/usr/bin:/bin") or "python3"
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    # (No pipe, which could be full, or broken: not every file manager ignores SIGPIPE.)
    file = os.memfd_create("hydrant", os.MFD_CLOEXEC)
    try:
        with open(file, "wb", closefd=False) as stream:
            stream.write(b"\0".join(paths))
        os.lseek(file, 0, os.SEEK_SET)
        process = subprocess.Popen(
            [python, program, "--stdin", action], stdin=file, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, env=environment)
    except OSError:
        return
    finally:
        os.close(file)
    GLib.child_watch_add(GLib.PRIORITY_DEFAULT_IDLE, process.pid, lambda _pid, _status: process.poll())


def ask_status(path, answered):
    """Calls `answered` with the status of one item (a dictionary, empty: none) when `hydrant status` has answered."""
    try:
        process = subprocess.Popen(
            command("status", "--json", os.fsdecode(path)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/")
    except OSError:
        return
    file = process.stdout.fileno()
    os.set_blocking(file, False)
    parts = []

    def read(_file, _condition):
        try:
            piece = os.read(file, PIECE)
        except BlockingIOError:
            return GLib.SOURCE_CONTINUE
        if piece and len(parts) < 16:
            parts.append(piece)
            return GLib.SOURCE_CONTINUE
        process.stdout.close()
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT_IDLE, process.pid, lambda _pid, status: process.poll())
        try:
            status = dict(json.loads(b"".join(parts))[0])
        except (ValueError, IndexError, TypeError):
            status = {}
        answered(status)
        return GLib.SOURCE_REMOVE

    condition = GLib.IOCondition.IN | GLib.IOCondition.HUP | GLib.IOCondition.ERR
    GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT, file, condition, read)


def grid(Gtk, path):
    """A page of properties in GTK 3; it is filled when `hydrant status` has answered."""
    grid = Gtk.Grid(row_spacing=6, column_spacing=12, margin=12, visible=True)

    def answered(status):
        rows = [("State", status.get("state")), ("Version", status.get("version"))]
        if status.get("kind") == "document":
            rows.append(("Size", GLib.format_size(status["size"])))
            rows.append(("Here", GLib.format_size(status["bytesDownloaded"])))
        marks = [words for key, words in (
            ("modified", "waiting to be sent"), ("pinned", "kept here"), ("excluded", "on this machine only"),
        ) if status.get(key)]
        rows.append(("Besides", ", ".join(marks)))
        rows += [("Identifier", status.get("identifier")), ("Last error", status.get("error"))]
        for number, (name, value) in enumerate((name, value) for name, value in rows if value):
            grid.attach(Gtk.Label(label=name, xalign=1, yalign=0), 0, number, 1, 1)
            grid.attach(Gtk.Label(label=value, xalign=0, wrap=True, selectable=True), 1, number, 1, 1)
        grid.show_all()

    ask_status(path, answered)
    return grid


class Shown:
    """The files that a file manager has, for as long as it has them."""

    def __init__(self):
        self._folders = {}
        self.items = Items(self._changed, self._is_shown)

    def look(self, path, file):
        """As `Items.look`; the file's information is asked for again when it changes."""
        item = self.items.look(path)
        if self.items.knows(path):
            folder = shown(os.path.dirname(path))
            if folder not in self._folders and len(self._folders) >= 2 * MOST_FOLDERS:
                for known in list(self._folders):
                    self._is_shown(known)
            self._folders.setdefault(folder, {})[shown(path)] = file.weak_ref()
        return item

    # What Nautilus and Nemo have in common: `library` is their module, with classes of the same names.

    def describe(self, file):
        """Adds what is known of a file to it: emblems, and the words of the column."""
        item = self.look(local_path(file.get_uri()), file)
        if item is None:
            return
        for emblem in item.emblems:
            file.add_emblem(emblem)
        file.add_string_attribute("hydrant_state", item.words)

    @staticmethod
    def columns(library):
        return [
            library.Column(
                name="HydrantExtension::state", attribute="hydrant_state", label="State",
                description="Whether the file is on this machine (Hydrant)"),
        ]

    def menu_items(self, library, files):
        """One entry with a menu of its own; none unless all files are in mounts."""
        paths = [local_path(file.get_uri()) for file in files]
        if not paths or not all(map(self.items.knows, paths)):
            return []
        inner = library.Menu()
        for action, label, tip in menu(paths, [self.items.look(path) for path in paths]):
            entry = library.MenuItem(name="HydrantExtension::" + action, label=label, tip=tip)
            entry.connect("activate", lambda _entry, action=action: act(action, paths))
            inner.append_item(entry)
        top = library.MenuItem(name="HydrantExtension::menu", label="Hydrant", tip="Files on demand")
        top.set_submenu(inner)
        return [top]

    def _is_shown(self, folder):
        name = folder if isinstance(folder, str) else shown(folder)
        files = self._folders.get(name, {})
        for path in [path for path, file in files.items() if file() is None]:
            del files[path]
        if not files:
            self._folders.pop(name, None)
        return bool(files)

    def _changed(self, paths):
        for path in paths:
            files = self._folders.get(os.path.dirname(path))
            file = files[path]() if files and path in files else None
            if file is not None:
                file.invalidate_extension_info()
