"""Documents that both sides write at the same time. Each edit adds a line; in the end every line must be in the
document or in a conflicted copy of it."""

import ctypes
import errno
import hashlib
import os
import random
import re

names = [f"lines-{number}.txt" for number in range(3)]
LINE = re.compile(rb"line (\S+) ([0-9a-f]{8})\n")
libc = ctypes.CDLL(None, use_errno=True)


def line(name):
    return f"line {name} {hashlib.sha256(name.encode()).hexdigest()[:8]}\n".encode()


def lines(data):
    """The names in it; None unless it consists of whole lines."""
    found = []
    for text in data.splitlines(keepends=True):
        match = LINE.fullmatch(text)
        if not match or line(match.group(1).decode()) != text:
            return None
        found.append(match.group(1).decode())
    return found


def append_through_mount(root, seed, said, until=lambda: False):
    """Appends like a program: open, read, write, close. `said` gets each line before and after.

    (An append to a placeholder without reading it can be uploaded only while the store still has the version that it
    was appended to: otherwise it stays pending, and `hydrant status` says so.)"""
    choose, count = random.Random(seed), 0
    while not until():
        count += 1
        name = f"mount.{seed}.{count}"
        said.about_to(["line", name])
        try:
            file = os.open(os.path.join(root, choose.choice(names)), os.O_RDWR | os.O_APPEND)
            try:
                while os.read(file, 1 << 20):
                    pass
                os.write(file, line(name))
            finally:
                os.close(file)
        except OSError as error:
            said.refused(error)
            # The store has another version by now, and not all of this version was here; or it has another document,
            # which shows after the next listing of the folder.
            if error.errno not in (errno.ESTALE, errno.ENOENT):
                return error
        else:
            said.done()
    return None


def append_in_store(root, staging, seed, said, until, pause):
    """Saves like a sync client: exchanges a new whole document with the old one. If the old one was not the version
    that it had read, it merges that version in as well."""
    choose, count = random.Random(seed), 0
    draft = os.path.join(staging, "lines")
    while not until():
        count += 1
        name, path = f"store.{seed}.{count}", os.path.join(root, choose.choice(names))
        said.about_to(["line", name])
        seen = read(path)
        wanted = seen + line(name)
        while True:
            with open(draft, "wb") as file:
                file.write(wanted)
            if seen is None or not exchange(draft, path):
                os.replace(draft, path)
                break
            displaced = read(draft)
            os.unlink(draft)
            missing = [each for each in lines(displaced) or [] if each not in set(lines(wanted))]
            if not missing:
                break
            seen = read(path) or b""
            wanted = seen + b"".join(line(each) for each in missing if each not in set(lines(seen) or []))
        said.done()
        pause(choose.random() * 0.05)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def exchange(one, other):
    """renameat2(2), RENAME_EXCHANGE; False when `other` does not exist."""
    at_cwd, exchange_flag = -100, 2
    if libc.renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange_flag) == 0:
        return True
    return False
