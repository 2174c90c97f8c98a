"""Runs programs, as the right user, and reads the machine's state."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time


# Git's settings for all programs.
GIT_CONFIGURATION = pathlib.Path("/dev/null")


class BenchError(Exception):
    """Ends one measurement; the others go on."""


def run(words, folder="/", user=None, limit=1800, environment=None):
    """A program's output; run as another user (a number) if one is given."""
    words = list(map(str, words))
    if user:
        # The user's mount is closed to root: the program changes into the folder itself.
        words = [
            "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", f"--chdir={folder}", *words]
        folder = "/"
    done = subprocess.run(
        words, cwd=folder, env={**environment_of(), **(environment or {})}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=limit)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(words[:8])}: status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def environment_of():
    return dict(os.environ, LC_ALL="C", GIT_CONFIG_GLOBAL=str(GIT_CONFIGURATION), GIT_CONFIG_NOSYSTEM="1")


def wait_until(limit, what, condition, pause=0.01):
    end = time.monotonic() + limit
    while not (answer := condition()):
        if time.monotonic() > end:
            raise BenchError(f"not within {limit} s: {what}")
        time.sleep(pause)
    return answer


def drop_caches(which):
    """1: pages; 2: dentries and inodes; 3: both. For the whole machine; needs root."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text(str(which))


def may_drop_caches():
    return os.geteuid() == 0 and os.access("/proc/sys/vm/drop_caches", os.W_OK)


def resident(pid):
    """A process's memory, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise BenchError(f"/proc/{pid}/status has no VmRSS")


def stop(process, limit=20):
    """Ends a process that we started."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def remove_large(folder):
    """Removes large files. The many small files stay until the end: for a minute ext4 checks each freed inode before it
    uses one for a new file, which would slow down the next measurement."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size >= 1 << 20:
            path.unlink()


def spread(folder):
    """Makes a folder whose subfolders start at different places of the disk (ext4; chattr(1), T), so that removals in
    one do not affect another. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["chattr", "+T", folder], check=False, stderr=subprocess.DEVNULL)
    return folder


def is_mounted(path):
    path = str(path)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        return any(line.split()[4] == path for line in lines)


def unmount(path):
    """Removes a mount that is left over."""
    if is_mounted(path):
        subprocess.run(["umount", "-l", str(path)], check=False, stderr=subprocess.DEVNULL)


# The kernel's switch for FUSE over io_uring, for new mounts of the whole machine.
RING = pathlib.Path("/sys/module/fuse/parameters/enable_uring")


def may_allow_ring():
    return RING.exists() and os.access(RING, os.W_OK)


@contextlib.contextmanager
def ring_allowed():
    before = RING.read_text()
    RING.write_text("Y")
    try:
        yield
    finally:
        RING.write_text(before)
