"""A program that writes: chooses operations, records each one in the manifest, tries it, and goes on until one
fails."""

import mmap
import os
import random

from model import File


class Writer:
    """The only program that writes below `root`, so that `model` has the whole state."""

    most_files = 30

    def __init__(self, root, model, manifest, seed):
        self.root, self.model, self.manifest = root, model, manifest
        self.seed, self.random = seed, random.Random(seed)
        self.count = 0
        self.descriptors = {}

    # One operation

    def do(self, *op):
        op = list(op)
        self.manifest.about_to(op)
        try:
            getattr(self, "try_" + op[0])(*op[1:])
        except OSError as error:
            self.manifest.refused(error)
            raise
        self.manifest.done()
        self.model.apply(op)

    def at(self, path):
        return os.path.join(self.root, path)

    def try_mkdir(self, path):
        os.mkdir(self.at(path))

    def try_rmdir(self, path):
        os.rmdir(self.at(path))

    def try_unlink(self, path):
        os.unlink(self.at(path))

    def try_rename(self, old, new):
        os.rename(self.at(old), self.at(new))

    def try_link(self, old, new):
        os.link(self.at(old), self.at(new))

    def try_symlink(self, target, path):
        os.symlink(target, self.at(path))

    def try_open(self, path, slot, truncate):
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if truncate else 0)
        self.descriptors[slot] = os.open(self.at(path), flags, 0o644)

    def try_write(self, slot, offset, name, length):
        from model import payload

        data = memoryview(payload(name, length))
        while data:
            done = os.pwrite(self.descriptors[slot], data, offset)
            data, offset = data[done:], offset + done

    def try_append(self, slot, name, length):
        self.try_write(slot, os.fstat(self.descriptors[slot]).st_size, name, length)

    def try_store(self, slot, offset, name, length):
        from model import payload

        with mmap.mmap(self.descriptors[slot], 0) as mapping:
            mapping[offset:offset + length] = payload(name, length)
            mapping.flush()

    def try_ftruncate(self, slot, length):
        os.ftruncate(self.descriptors[slot], length)

    def try_fsync(self, slot):
        os.fsync(self.descriptors[slot])

    def try_close(self, slot):
        os.close(self.descriptors.pop(slot))

    def try_truncate(self, path, length):
        os.truncate(self.at(path), length)

    def try_fsyncdir(self, path):
        folder = os.open(self.at(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    # Actions of programs

    def run(self, until=lambda: False):
        """Runs until an operation fails, or until it is told to end. Returns the error of the last operation."""
        try:
            while not until():
                self.step()
        except OSError as error:
            return error
        return None

    def step(self):
        name = self.random.choices(*zip(*self.actions))[0]
        getattr(self, name)()

    actions = [
        ("make", 10), ("save_by_renaming", 8), ("save_with_backup", 3), ("append", 8), ("overwrite", 6),
        ("rewrite", 5), ("cut", 3), ("store_through_mapping", 3), ("log", 6), ("remove", 7), ("rename", 6),
        ("make_folder", 3), ("rename_folder", 2), ("remove_folder", 2), ("link", 2), ("symlink", 1), ("replace", 3),
    ]

    def fresh(self):
        self.count += 1
        return f"{self.seed}.{self.count}"

    def length(self):
        chance = self.random.random()
        if chance < 0.1:
            return self.random.randint(0, 10)
        if chance < 0.92:
            return self.random.randint(10, 20_000)
        return self.random.randint(20_000, 400_000 if chance < 0.99 else 2_000_000)

    def some_file(self):
        files = self.model.files()
        return self.random.choice(files) if files else None

    def some_folder(self):
        return self.random.choice(self.model.folders())

    def new_path(self, ending=".txt"):
        folder = self.some_folder()
        return f"{folder}/{self.fresh()}{ending}".lstrip("/")

    def fill(self, slot):
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            self.do("append", slot, self.fresh(), self.length())

    def finish(self, slot):
        if self.random.random() < 0.3:
            self.do("fsync", slot)
        self.do("close", slot)

    def make(self):
        if len(self.model.files()) >= self.most_files:
            return self.remove()
        self.do("open", self.new_path(), "file", False)
        self.fill("file")
        self.finish("file")

    def save_by_renaming(self):
        path = self.some_file()
        if path is None:
            return self.make()
        draft = path + ".new"
        self.do("open", draft, "file", True)
        self.do("append", "file", self.fresh(), self.length())
        self.finish("file")
        self.do("rename", draft, path)

    def save_with_backup(self):
        path = self.some_file()
        if path is None or path.endswith(".bak"):
            return self.make()
        self.do("rename", path, path + ".bak")
        self.do("open", path, "file", True)
        self.do("append", "file", self.fresh(), self.length())
        self.finish("file")
        if self.random.random() < 0.7:
            self.do("unlink", path + ".bak")

    def opened(self, truncate=False):
        path = self.some_file()
        if path is None:
            self.make()
            return False
        self.do("open", path, "file", truncate)
        return True

    def append(self):
        if self.opened():
            self.do("append", "file", self.fresh(), self.length())
            self.finish("file")

    def look(self, slot):
        """Reads some or all of it, so that the next change is to a document just downloaded."""
        if self.random.random() < 0.6:
            os.pread(self.descriptors[slot], self.random.choice((1, 5_000, 1 << 22)), 0)

    def overwrite(self):
        if self.opened():
            self.look("file")
            size = len(self.model.open["file"].data)
            self.do("write", "file", self.random.randint(0, size + 100), self.fresh(), self.length())
            self.finish("file")

    def rewrite(self):
        if self.opened(truncate=True):
            self.do("append", "file", self.fresh(), self.length())
            self.finish("file")

    def cut(self):
        path = self.some_file()
        if path is None:
            return self.make()
        size = len(self.model.tree[path].data)
        self.do("truncate", path, self.random.choice((0, size // 2, size, size + 1_000)))

    def store_through_mapping(self):
        if self.opened():
            size = len(self.model.open["file"].data)
            if size:
                length = min(size, 512)
                self.do("store", "file", self.random.randint(0, size - length), self.fresh(), length)
            self.finish("file")

    def log(self):
        """Writes to a file that stays open."""
        if "log" not in self.model.open:
            self.do("open", self.new_path(".log"), "log", False)
        self.do("append", "log", self.fresh(), self.random.randint(10, 300))
        self.do("fsync", "log")
        if self.random.random() < 0.2:
            self.do("close", "log")

    def remove(self):
        path = self.some_file()
        links = [path for path, node in self.model.tree.items() if node is not None and not isinstance(node, File)]
        if links and self.random.random() < 0.2:
            path = self.random.choice(links)
        if path is not None:
            self.do("unlink", path)

    def rename(self):
        path = self.some_file()
        if path is not None:
            self.do("rename", path, self.new_path())

    def replace(self):
        """Renames a document over another one, which is deleted."""
        old, new = self.some_file(), self.some_file()
        if old is not None and self.model.tree[old] is not self.model.tree[new]:
            self.do("rename", old, new)

    def make_folder(self):
        folder = self.some_folder()
        if len(self.model.folders()) < 8 and folder.count("/") < 3:
            self.do("mkdir", f"{folder}/d{self.fresh()}".lstrip("/"))

    def rename_folder(self):
        old, parent = self.some_folder(), self.some_folder()
        if old and not (parent + "/").startswith(old + "/") and parent.count("/") < 3:
            self.do("rename", old, f"{parent}/d{self.fresh()}".lstrip("/"))

    def remove_folder(self):
        empty = [path for path in self.model.folders() if path and not self.model.children(path)]
        if empty:
            self.do("rmdir", self.random.choice(empty))

    def link(self):
        path = self.some_file()
        if path is not None and len(self.model.files()) < self.most_files:
            self.do("link", path, self.new_path())

    def symlink(self):
        self.do("symlink", self.fresh(), self.new_path(".link"))


class OtherClient(Writer):
    """Another client of the store: puts whole documents in place at once, like a sync client."""

    actions = [("put_new", 8), ("put_again", 8), ("remove", 4), ("rename", 4), ("make_folder", 2), ("rename_folder", 1),
               ("remove_folder", 1)]

    def __init__(self, root, model, manifest, seed, staging, pause):
        super().__init__(root, model, manifest, seed)
        self.staging, self.pause = staging, pause

    def try_put(self, path, name, length):
        from model import payload

        draft = os.path.join(self.staging, "draft")
        with open(draft, "wb") as file:
            file.write(payload(name, length))
        os.replace(draft, self.at(path))

    def put_new(self):
        if len(self.model.files()) >= self.most_files:
            return self.remove()
        self.do("put", self.new_path(), self.fresh(), self.length())

    def put_again(self):
        path = self.some_file()
        if path is not None:
            self.do("put", path, self.fresh(), self.length())

    def step(self):
        super().step()
        self.pause(self.random.random() * 0.02)
