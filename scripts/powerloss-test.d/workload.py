"""The programs that run until the power goes: each kind of document has its own guarantee.

saved-N     saved by a draft, fsync, rename, fsync of the folder: the last saved version is there
log-N       appended to, and fsynced after each line: every such line is there, in the document or a copy of it
made-N      created, fsynced, with its folder: it is there
gone-N      unlinked, or renamed to moved-N, and the folder fsynced: it stays so
edited-N    edited in place or replaced, never fsynced: never anything in the store but one whole version, never an older
            one after a newer one
read-N      only read, downloaded, evicted: always what the store has
other-N     written by the other client, in the store, whole: never lost, never older
"""

import errno
import os
import random

from documents import document, log_line

COUNT = 8
ERRORS_OF_THE_CUT = (OSError,)


class Program:
    def __init__(self, root, manifest, seed, versions):
        self.root, self.manifest, self.random, self.versions = root, manifest, random.Random(seed), dict(versions)

    def run(self, told):
        try:
            while not told():
                self.step()
        except ERRORS_OF_THE_CUT as error:
            if error.errno not in (107, 103, 5, 4, 108):
                print(f"{type(self).__name__}: {error}", flush=True)
                return 1
        return 0

    def at(self, name):
        return os.path.join(self.root, name)

    def next_version(self, name):
        self.versions[name] = self.versions.get(name, 0) + 1
        return self.versions[name]

    def draft(self, name, number):
        """Never an old name: a draft left by a cut may be in the store, and then it is a document like any other."""
        return self.at(f"{name}.{number}.draft")

    def length(self):
        return self.random.choice((10, 3_000, 20_000, 200_000)) + self.random.randint(0, 3_000)

    def sync_folder(self):
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def write(self, path, data, syncs, flags=os.O_TRUNC):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left):]
            if syncs:
                os.fsync(file)
        finally:
            os.close(file)


class Saver(Program):
    """saved-, log-, made-, gone-"""

    def step(self):
        getattr(self, self.random.choice(("save", "save", "log", "log", "make", "remove")))()

    def save(self):
        name = f"saved-{self.random.randrange(COUNT)}"
        number = self.next_version(name)
        self.manifest.about_to([name, number])
        draft = self.draft(name, number)
        self.write(draft, document(name, number, self.length()), syncs=True)
        os.rename(draft, self.at(name))
        self.sync_folder()
        self.manifest.done()

    def log(self):
        name = f"log-{self.random.randrange(3)}"
        number = self.next_version(name)
        self.manifest.about_to([name, number])
        self.write(self.at(name), log_line(name, number), syncs=True, flags=os.O_APPEND)
        self.manifest.done()

    def make(self):
        name = f"made-{self.next_version('made')}"
        self.manifest.about_to([name, 1])
        self.write(self.at(name), document(name, 1, self.length()), syncs=True)
        self.sync_folder()
        self.manifest.done()

    def remove(self):
        number = self.next_version("gone")
        name = f"gone-{number}"
        self.manifest.about_to([name, 1])
        self.write(self.at(name), document(name, 1, self.length()), syncs=True)
        self.manifest.done()
        self.manifest.about_to([name, 2])
        if number % 2:
            os.unlink(self.at(name))
        else:
            os.rename(self.at(name), self.at(f"moved-{number}"))
        self.sync_folder()
        self.manifest.done()


class Editor(Program):
    """edited-"""

    def step(self):
        name = f"edited-{self.random.randrange(COUNT)}"
        number = self.next_version(name)
        data = document(name, number, self.length())
        self.manifest.about_to([name, number])
        if self.random.random() < 0.5:
            self.write(self.at(name), data, syncs=False)
        else:
            draft = self.draft(name, number)
            self.write(draft, data, syncs=False)
            os.rename(draft, self.at(name))
        self.manifest.done()


class Reader(Program):
    """read-; evicts what it has read, with the command."""

    def __init__(self, root, manifest, seed, versions, evict):
        super().__init__(root, manifest, seed, versions)
        self.evict = evict

    def step(self):
        name = f"read-{self.random.randrange(COUNT)}"
        file = os.open(self.at(name), os.O_RDONLY)
        try:
            # Reads some of it, or all.
            os.pread(file, self.random.choice((100, 1 << 22)), 0)
        except OSError as error:
            # The store has another version by now, and this version was not here.
            if error.errno != errno.ESTALE:
                raise
        finally:
            os.close(file)
        if self.random.random() < 0.1:
            self.evict(self.at(name))


class OtherClient(Program):
    """other-; new versions of read- as well. In the store, each whole at once."""

    def __init__(self, root, manifest, seed, versions, staging, pause):
        super().__init__(root, manifest, seed, versions)
        self.staging, self.pause = staging, pause

    def step(self):
        name = f"{self.random.choice(('other', 'read'))}-{self.random.randrange(COUNT)}"
        number = self.next_version(name)
        self.manifest.about_to([name, number])
        self.write(self.staging, document(name, number, self.length()), syncs=False)
        os.replace(self.staging, self.at(name))
        self.manifest.done()
        self.pause(self.random.random() * 0.05)
