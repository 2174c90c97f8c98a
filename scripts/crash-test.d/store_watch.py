"""Watches the store from outside: records each content that was ever seen under a user's name."""

import ctypes
import hashlib
import json
import os
import re
import stat
import struct

import shared_lines

CLOSE_WRITE, MOVED_TO, CREATE, ISDIR = 0x8, 0x80, 0x100, 0x40000000
OVERFLOW = 0x4000
libc = ctypes.CDLL(None, use_errno=True)
# The directory provider's own files: drafts, and files set aside.
TEMPORARY = re.compile(r"\.hydrant-[nx][0-9a-f]{16}\.tmp")


class StoreWatch:
    """Writes a line for each content: [path, size, SHA-256, whether it is lines of shared_lines]."""

    def __init__(self, store, record):
        self.store, self.folders = store, {}
        self.record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.inotify = libc.inotify_init1(os.O_CLOEXEC)
        self.add("")

    def add(self, folder):
        """Also called again, under another name."""
        path = os.path.join(self.store, folder)
        watch = libc.inotify_add_watch(self.inotify, os.fsencode(path), CLOSE_WRITE | MOVED_TO | CREATE)
        if watch < 0:
            return
        self.folders[watch] = folder
        try:
            names = os.listdir(path)
        except OSError:
            return
        for name in names:
            self.look(os.path.join(folder, name))

    def look(self, path):
        if TEMPORARY.fullmatch(os.path.basename(path)):
            return
        full = os.path.join(self.store, path)
        try:
            file = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return
        try:
            if stat.S_ISDIR(os.fstat(file).st_mode):
                return self.add(path)
            pieces = []
            while piece := os.read(file, 1 << 20):
                pieces.append(piece)
        finally:
            os.close(file)
        data = b"".join(pieces)
        is_whole_lines = shared_lines.lines(data) is not None
        seen = [path, len(data), hashlib.sha256(data).hexdigest(), is_whole_lines]
        os.write(self.record, (json.dumps(seen) + "\n").encode())

    def run(self):
        while True:
            events, place = os.read(self.inotify, 1 << 16), 0
            while place < len(events):
                watch, mask, _, length = struct.unpack_from("iIII", events, place)
                name = events[place + 16:place + 16 + length].rstrip(b"\0")
                place += 16 + length
                if mask & OVERFLOW:
                    self.add("")
                elif watch in self.folders and name:
                    self.look(os.path.join(self.folders[watch], os.fsdecode(name)))
