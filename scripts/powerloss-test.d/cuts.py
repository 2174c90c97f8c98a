"""Power cuts, one after another: mount, programs, cut, the rest of the disk, mount in another boot, check."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import time

import manifest
from documents import document, log_lines, version
from domain import Domain
from manifest import Manifest
from processes import Child, Failure, wait_until
from store_watch import TEMPORARY
from version_watch import VersionWatch
from volatile_disk import VolatileDisk
from workload import COUNT, Editor, OtherClient, Reader, Saver

MAKE = {
    "ext4": (["mkfs.ext4", "-q", "-F"], 160), "xfs": (["mkfs.xfs", "-q", "-f"], 320),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], 256)}


class Cuts:
    def __init__(self, path, hydrant, filesystem, seed):
        self.path, self.filesystem, self.seed = path, filesystem, seed
        self.random = random.Random(seed)
        self.disk_folder, self.image = path + "/disk", path + "/image"
        for folder in ("fuse", "disk", "manifest"):
            os.mkdir(f"{path}/{folder}")
        self.domain = Domain(path, hydrant, state=self.disk_folder + "/state")
        self.store, self.mountpoint = self.domain.store, self.domain.mountpoint
        self.disk = self.loop = None
        self.children, self.number = [], 0
        self.saved, self.versions = {}, {}
        self.log_lines, self.gone, self.maybe = {}, {}, {}
        self.figures = {name: 0 for name in (
            "cuts", "fsynced things looked for", "versions seen in the store", "conflicted copies", "boots")}
        for kind in ("saved", "edited", "read", "other"):
            for index in range(COUNT):
                name = f"{kind}-{index}"
                self.versions[name] = 1
                with open(f"{self.store}/{name}", "wb") as file:
                    file.write(document(name, 1, 20_000))
        make, mebibytes = MAKE[filesystem]
        with open(self.image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run([*make, self.image], check=True, stdout=subprocess.DEVNULL)
        self.watch = Child("the watch of the store", lambda _: VersionWatch(self.store, self.file("seen")).run())

    def file(self, name):
        return f"{self.path}/manifest/{name}"

    # The machine

    def power_on(self):
        self.number += 1
        self.disk = VolatileDisk(self.path + "/fuse", self.image)
        self.disk.start()
        found = subprocess.run(
            ["losetup", "--find", "--show", self.disk.disk], check=True, stdout=subprocess.PIPE, text=True)
        self.loop = found.stdout.strip()
        subprocess.run(["mount", "-t", self.filesystem, self.loop, self.disk_folder], check=True)
        self.figures["boots"] += 1

    def mount(self):
        choose = self.random.choice
        self.settings = (
            [option for option in (choose((None, "--limit-upload=2M")), choose((None, "--cache-limit=300K"))) if option],
            {"HYDRANT_BOOT_ID": f"boot-{self.number}", "HYDRANT_SETTLE": choose(("0", "0.1")),
             "HYDRANT_SETTLE_AFTER_SYNC": choose(("0.1", "5")), "HYDRANT_PASSTHROUGH": choose("01")})
        self.domain.mount(*self.settings)

    def power_off(self):
        """The old disk is gone; its remains are in self.image."""
        self.domain.abort()
        for child in self.children:
            child.ends_within(20)
        self.domain.take_down()
        subprocess.run(["umount", "-l", self.disk_folder], check=False, stderr=subprocess.DEVNULL)
        if self.loop:
            subprocess.run(["losetup", "-d", self.loop], check=False, stderr=subprocess.DEVNULL)
        if self.disk:
            self.disk.end()
        self.loop = self.disk = None

    # One cut

    def run_one(self):
        self.start_programs()
        time.sleep(self.random.choice((0.1, 0.3, 1.0)) * (0.3 + self.random.random()))
        # The daemon stops where it is, so that nothing reaches the store that the disk does not know.
        os.kill(self.domain.pid, signal.SIGSTOP)
        done = {name: manifest.read(self.file(name)) for name in ("saver", "editor")}
        what_was_kept = self.disk.cut(self.image + ".cut", f"{self.seed}.{self.number}")
        os.kill(self.domain.pid, signal.SIGKILL)
        other = [child for child in self.children if child.name == "the other client"]
        for child in other:
            child.end()
        self.power_off()
        self.children = []
        os.replace(self.image + ".cut", self.image)
        self.figures["cuts"] += 1
        self.note(done)
        try:
            self.power_on()
            self.mount()
            self.check_here()
            self.domain.sync()
            self.check_store()
            self.check_seen()
        except subprocess.CalledProcessError as error:
            raise Failure(f"{error}") from None
        except Failure as failure:
            raise Failure(f"({what_was_kept} reached the disk)\n{failure}") from None

    def start_programs(self):
        seed = f"{self.seed}.{self.number}"
        for name in ("saver", "editor", "other"):
            if os.path.exists(self.file(name)):
                os.unlink(self.file(name))

        def manifest_of(name):
            return Manifest(self.file(name))

        def program(name, make):
            self.children.append(Child(name, lambda told: make().run(told)))

        program("the saver", lambda: Saver(self.mountpoint, manifest_of("saver"), seed + "s", self.versions))
        program("the editor", lambda: Editor(self.mountpoint, manifest_of("editor"), seed + "e", self.versions))
        program("the reader", lambda: Reader(self.mountpoint, None, seed + "r", {}, self.evict))
        program("the other client", lambda: OtherClient(
            self.store, manifest_of("other"), seed + "o", self.versions, self.path + "/draft", time.sleep))

    def evict(self, path):
        self.domain.attempt("evict", path)

    def note(self, done):
        """Records the state that must be there from now on."""
        for operations, pending, _ in done.values():
            for name, number in operations:
                self.versions[name] = number
                self.promise(name, number)
            if pending:
                # Unknown; its number is not used again.
                self.versions[pending[0]] = pending[1]
        operations, pending, failure = manifest.read(self.file("other"))
        if pending:
            raise Failure(f"the other client's {pending} failed in the store: {failure}")
        for name, number in operations:
            self.versions[name] = self.saved[name] = number
        # (Also those that were cut in between: see step(); a number is used once.)
        for kind in ("made", "gone"):
            numbers = [int(name.split("-")[1]) for name in self.versions if name.startswith(kind + "-")]
            self.versions[kind] = max(numbers, default=0)
        # A removal that was under way may or may not have happened.
        for _, pending, _ in done.values():
            if pending:
                self.gone.pop(pending[0], None)

    def promise(self, name, number):
        kind = name.split("-")[0]
        if kind in ("saved", "made"):
            self.saved[name] = number
        elif kind == "log":
            self.log_lines.setdefault(name, set()).add(number)
        elif kind == "gone":
            self.gone[name] = number

    # Checks

    def check_here(self):
        self.check_fsynced(self.mountpoint)
        for index in range(COUNT):
            name = f"read-{index}"
            self.check_version(self.mountpoint, name, 1)

    def check_store(self):
        self.check_fsynced(self.store)
        for name in [name for name in self.saved if name.split("-")[0] in ("other", "read")]:
            self.check_version(self.store, name, self.saved[name])
        wait_until(20, "the mount shows the other client's documents", self.differing_read)
        self.figures["conflicted copies"] = sum("conflicted" in name for name in os.listdir(self.store))

    def differing_read(self):
        for kind in ("read", "other"):
            for index in range(COUNT):
                name = f"{kind}-{index}"
                if content(self.mountpoint, name) != content(self.store, name):
                    return f"{name}: version {version(content(self.mountpoint, name) or b'', name)} in the mount, " \
                           f"{version(content(self.store, name) or b'', name)} in the store"
        return None

    def check_fsynced(self, root):
        names = os.listdir(root)
        for name, number in self.saved.items():
            if name.split("-")[0] in ("saved", "made"):
                self.check_version(root, name, number)
        for name, numbers in self.log_lines.items():
            # First the document, then its copies: one may be split off it between the two.
            found = log_lines(content(root, name) or b"", name)
            for other in os.listdir(root):
                if other.startswith(name + " (conflicted"):
                    found |= log_lines(content(root, other) or b"", name)
            if numbers - found:
                raise Failure(f"{root}/{name}: lines that were fsynced are lost: {sorted(numbers - found)[:5]}")
        for name, state in self.gone.items():
            number = int(name.split("-")[1])
            moved = f"moved-{number}"
            if state == 1 or (state == 2 and number % 2 == 0):
                where = name if state == 1 else moved
                if version(content(root, where) or b"", name) != 1:
                    raise Failure(f"{root}/{where}: was fsynced, but is not there completely")
            if state == 2 and name in names:
                raise Failure(f"{root}/{name}: was unlinked or renamed, and the folder fsynced, but it is there again")
        self.figures["fsynced things looked for"] += len(self.saved) + len(self.gone) + sum(
            map(len, self.log_lines.values()))

    def check_version(self, root, name, least):
        data = content(root, name)
        if data is None:
            raise Failure(f"{root}/{name}: is missing; version {least} should be there")
        found = version(data, name)
        if found is None:
            zeros = data.count(0)
            raise Failure(
                f"{root}/{name}: {len(data)} bytes, {zeros} of them zeros, are not a version of it ({data[:40]!r}); version "
                f"{least} should be there")
        if found < least:
            raise Failure(f"{root}/{name}: is version {found}; version {least} should be there")

    def check_seen(self):
        """In the store: only whole versions of what was fsynced, and never an older one after a newer one."""
        latest = {}
        with open(self.file("seen"), "rb") as file:
            lines = file.read().splitlines()
        for line in lines:
            name, number, size = json.loads(line)
            if number is None and name.startswith("made-") and name not in self.saved:
                # The power went before its fsync(2) returned: a new document is sent as the disk left it.
                continue
            if number is None:
                raise Failure(f"the store had {name} of {size} bytes, which is not a version of it")
            if number < latest.get(name, 0):
                raise Failure(f"in the store version {number} of {name} came after version {latest[name]}")
            latest[name] = number
        self.figures["versions seen in the store"] = len(lines)

    def check_state(self):
        self.domain.sync()
        self.domain.unmount()
        status, output = self.domain.attempt("doctor", "--store", self.domain.state)
        if status != 0:
            raise Failure(f"hydrant doctor found faults:\n{output}")

    # The end

    def take_down(self):
        if self.domain.pid:
            try:
                os.kill(self.domain.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.domain.abort()
        for child in [*self.children, self.watch]:
            child.kill()
        self.power_off()

    def remove(self):
        shutil.rmtree(self.path)


def content(root, name):
    for attempt in range(20):
        try:
            with open(os.path.join(root, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            # The store has another version by now: the next open reads that.
            if error.errno != errno.ESTALE or attempt == 19:
                raise Failure(f"{root}/{name}: {error.strerror}") from None
            time.sleep(0.05)


def is_temporary(name):
    return TEMPORARY.fullmatch(name) is not None
