"""The manifest: the operations that a writer began, and those that returned. Outside the mount, one line each."""

import json
import os


class Manifest:
    """One write(2) per line, so that a killed writer leaves whole lines."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def about_to(self, op):
        os.write(self.file, (json.dumps(op) + "\n").encode())

    def done(self, result=None):
        os.write(self.file, b"done\n")

    def refused(self, error):
        """The call failed without effect; or the mount is dead, and the effect is unknown."""
        os.write(self.file, ("refused %d\n" % error.errno).encode())


def read(path, start=0):
    """The completed operations, the one under way at the end (or None), and the error of the last one."""
    done, pending, failure = [], None, None
    try:
        with open(path, "rb") as file:
            file.seek(start)
            lines = file.read().decode().splitlines()
    except FileNotFoundError:
        # The program had not begun yet.
        return done, pending, failure
    for line in lines:
        if line == "done":
            done.append(pending)
            pending = None
        elif line.startswith("refused "):
            failure = int(line.split()[1])
        else:
            pending, failure = json.loads(line), None
    return done, pending, failure
