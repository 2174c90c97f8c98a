"""The expected state of a folder: a small reference model of a file tree, and the operations on it.

An operation is a list, [kind, argument…], so that it can be written as JSON before it is tried, and replayed by a
reader. Contents are named by an id and a length, never by their bytes."""

import functools
import hashlib
import itertools
import os
import random
import stat


@functools.lru_cache(maxsize=64)
def payload(name, length):
    """The bytes of content `name`: different for different names."""
    return random.Random(name).randbytes(length)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class File:
    """One inode: its bytes, and those last made durable (`synced`, for the test of power loss)."""

    def __init__(self, data=b""):
        self.data = bytearray(data)


class Link:
    def __init__(self, target):
        self.target = target


class Model:
    """Paths are relative to the folder of the model; a value is None (folder), File or Link."""

    def __init__(self):
        self.tree = {}
        self.open = {}
        # All contents that a program finished writing (close, fsync, msync, truncate, a whole save).
        self.finished = set()

    # State

    def files(self):
        return [path for path, node in self.tree.items() if isinstance(node, File)]

    def folders(self):
        return [""] + [path for path, node in self.tree.items() if node is None]

    def names_of(self, file):
        return [path for path, node in self.tree.items() if node is file]

    def children(self, folder):
        prefix = folder + "/"
        return [path for path in self.tree if path.startswith(prefix)]

    def listing(self):
        """The result of scan() for a folder with exactly this state."""
        return {path: shape(node) for path, node in self.tree.items()}

    def copy(self):
        """An independent copy; hard links stay links to one file."""
        other = Model()
        copies = {}

        def twin(node):
            if not isinstance(node, File):
                return node
            if id(node) not in copies:
                copies[id(node)] = File(node.data)
            return copies[id(node)]

        other.tree = {path: twin(node) for path, node in self.tree.items()}
        other.open = {slot: twin(node) for slot, node in self.open.items()}
        # Shared: a content finished in one possible state was finished.
        other.finished = self.finished
        return other

    # Operations

    def apply(self, op):
        getattr(self, "do_" + op[0])(*op[1:])

    def finish(self, file):
        self.finished.add(digest(file.data))

    def do_mkdir(self, path):
        self.tree[path] = None

    def do_rmdir(self, path):
        del self.tree[path]

    do_unlink = do_rmdir

    def do_rename(self, old, new):
        if old == new or (self.tree.get(new) is not None and self.tree[new] is self.tree[old]):
            return  # rename(2): two names of one file both stay
        moved = {path: node for path, node in self.tree.items() if path == old or path.startswith(old + "/")}
        for path in moved:
            del self.tree[path]
        self.tree.pop(new, None)
        for path, node in moved.items():
            self.tree[new + path[len(old):]] = node

    def do_link(self, old, new):
        self.tree[new] = self.tree[old]

    def do_symlink(self, target, path):
        self.tree[path] = Link(target)

    def do_open(self, path, slot, truncate):
        node = self.tree.get(path)
        if node is None:
            node = self.tree[path] = File()
        if truncate:
            del node.data[:]
        self.open[slot] = node

    def do_write(self, slot, offset, name, length):
        write(self.open[slot].data, offset, payload(name, length))

    def do_append(self, slot, name, length):
        data = self.open[slot].data
        write(data, len(data), payload(name, length))

    def do_store(self, slot, offset, name, length):
        """Through a mapping, and msync(2)."""
        self.do_write(slot, offset, name, length)
        self.finish(self.open[slot])

    def do_ftruncate(self, slot, length):
        resize(self.open[slot].data, length)

    def do_fsync(self, slot):
        self.finish(self.open[slot])

    def do_close(self, slot):
        self.finish(self.open.pop(slot))

    def do_truncate(self, path, length):
        resize(self.tree[path].data, length)
        self.finish(self.tree[path])

    def do_put(self, path, name, length):
        """A whole document, put in place at once (the other client's way of saving)."""
        self.tree[path] = File(payload(name, length))
        self.finish(self.tree[path])

    def do_fsyncdir(self, path):
        pass

    # Possible states while an operation was under way

    def possible(self, op, root):
        """The possible models when it is unknown whether `op` was carried out. Looks at the files in `root` for
        operations that may be carried out in part."""
        if op is None:
            return [self]
        after = self.copy()
        try:
            after.apply(op)
        except KeyError:
            return [self]
        models = [after, self]
        if op[0] in ("write", "append", "store"):
            half = self.half_written(op, after, root)
            if half:
                models.append(half)
        return models

    def half_written(self, op, after, root):
        before, wanted = self.open[op[1]].data, after.open[op[1]].data
        names = self.names_of(self.open[op[1]])
        if not names:
            return None
        try:
            with open(os.path.join(root, names[0]), "rb") as file:
                found = file.read()
        except OSError:
            return None
        # A kill cuts a write off between two pages, and pages of a mapping are written one by one. If a write into a
        # placeholder was cut off before the catalog knew of it, the bytes within the store's version are the store's
        # again, and the bytes beyond its end are new.
        is_mix = len(before) <= len(found) <= len(wanted) and all(
            byte in choice for byte, choice in zip(found, itertools.zip_longest(before, wanted)))
        if not is_mix:
            return None
        half = self.copy()
        half.open[op[1]].data[:] = found
        return half

    def abandon(self):
        """All files are closed by force: their contents are what had been written."""
        for file in self.open.values():
            self.finish(file)
        self.open = {}


def shape(node):
    if node is None:
        return "folder"
    if isinstance(node, Link):
        return "-> " + node.target
    return len(node.data)


def write(data, offset, piece):
    if not piece:
        # write(2): only the errors are checked, nothing else happens.
        return
    if len(data) < offset:
        data.extend(bytes(offset - len(data)))
    data[offset:offset + len(piece)] = piece


def resize(data, length):
    if length < len(data):
        del data[length:]
    else:
        data.extend(bytes(length - len(data)))


def scan(root):
    """Everything below `root`, in the form of listing()."""
    found = {}

    def look(folder, prefix):
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = prefix + entry.name
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    found[path] = "folder"
                    look(entry.path, path + "/")
                elif stat.S_ISLNK(status.st_mode):
                    found[path] = "-> " + os.readlink(entry.path)
                else:
                    found[path] = status.st_size

    look(root, "")
    return found
