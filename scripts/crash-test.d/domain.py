"""One store, mounted by the real command in its own folders: mount, kill, mount again."""

import json
import os
import signal
import subprocess
import time

from processes import Failure, attempt, is_alive, run, wait_until


class Domain:
    def __init__(self, path, hydrant, state=None):
        self.path, self.hydrant = path, hydrant
        self.store, self.mountpoint = path + "/store", path + "/mnt"
        self.state = state or path + "/state"
        self.pid = None
        for folder in (path, self.store, self.mountpoint, path + "/run", path + "/log"):
            os.makedirs(folder, 0o700, exist_ok=True)
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("HYDRANT_", "XDG_"))}
        self.environment |= {
            "XDG_RUNTIME_DIR": path + "/run", "XDG_STATE_HOME": path + "/log", "XDG_DATA_HOME": path + "/data",
            "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    @property
    def log(self):
        return self.path + "/log/hydrant/hydrant.log"

    def command(self, options):
        return [self.hydrant, "mount", "dir:" + self.store, self.mountpoint, "--state-dir", self.state,
                # The other client may delete any number of documents.
                "--hold-deletions", "100",
                "--log-level", "debug", *options]

    def mount(self, options=(), tuning=None):
        """Returns when the mount answers."""
        output = run(self.command(["--json", *options]), self.environment | (tuning or {}), limit=60)
        self.pid = json.loads(output)["pid"]

    def begin_mounting(self, options=(), tuning=None):
        """In the foreground, as a child that can be killed at once."""
        with open(self.path + "/log/foreground.log", "ab") as log:
            return subprocess.Popen(
                self.command(["--foreground", *options]), env=self.environment | (tuning or {}),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        """SIGKILL; returns when the process is gone. (The kernel may hold one of its threads, and its lock, until the
        next mount ends the connection.)"""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(20, "the daemon is gone", lambda: not is_alive(self.pid))
        self.pid = None

    def call(self, *arguments, limit=60):
        return run([self.hydrant, *arguments], self.environment, limit)

    def attempt(self, *arguments, limit=60):
        return attempt([self.hydrant, *arguments], self.environment, limit)

    def sync(self, limit=60):
        self.call("limit", "--download", "none", "--upload", "none", self.mountpoint)
        self.call("sync", "--timeout", str(limit), self.mountpoint, limit=limit + 10)

    def unmount(self):
        pid = self.pid
        self.call("unmount", self.mountpoint)
        wait_until(20, "the daemon is gone", lambda: not is_alive(pid))
        self.pid = None

    def is_mounted(self):
        return bool(self.lines_of_table())

    def abort(self):
        """Aborts the kernel's connection of the mount: waiting programs get an error."""
        for line in self.lines_of_table():
            try:
                with open(f"/sys/fs/fuse/connections/{line.split()[2].split(':')[1]}/abort", "w") as control:
                    # The number may be reused: if the mount is still there, the opened file belongs to it.
                    if line in self.lines_of_table():
                        control.write("1")
            except OSError:
                pass

    def lines_of_table(self):
        with open("/proc/self/mountinfo") as file:
            return [line for line in file if line.split()[4] == self.mountpoint]

    def take_down(self):
        """Removes the daemon and the mount, in any state."""
        if self.pid is not None and is_alive(self.pid):
            os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.05)
        self.abort()
        for _ in range(10):
            if not self.is_mounted():
                return
            tool = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-uz"]
            subprocess.run([*tool, self.mountpoint], stderr=subprocess.DEVNULL, check=False)
            time.sleep(0.02)
        raise Failure(f"{self.mountpoint} cannot be unmounted")
