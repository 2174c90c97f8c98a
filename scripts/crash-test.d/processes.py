"""Children: functions that run in a process of their own, and commands with a time limit."""

import os
import signal
import subprocess
import sys
import time
import traceback


class Failure(Exception):
    """A fault that the test has found."""


class Child:
    """A function in a forked process. SIGTERM makes it end after its present operation (see `until`)."""

    def __init__(self, name, body):
        self.name, self.status = name, None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self.run(body)

    def run(self, body):
        code = 70
        try:
            told = []
            signal.signal(signal.SIGTERM, lambda *_: told.append(True))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            die_with_parent()
            code = body(lambda: bool(told)) or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def end(self, limit=20, told=True):
        """Waits for the end, after asking for it; returns the exit status."""
        deadline = time.monotonic() + limit
        while told and self.status is None and time.monotonic() < deadline:
            # (Again: CPython drops a signal that comes while it forks.)
            os.kill(self.pid, signal.SIGTERM)
            self.ends_within(1)
        if not self.ends_within(max(0, deadline - time.monotonic())):
            where = stack(self.pid)
            raise Failure(f"{self.name} hung for {limit} s\n{where}")
        return self.status

    def ends_within(self, limit):
        deadline = time.monotonic() + limit
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                return False
            else:
                time.sleep(0.002)
        return True

    def kill(self):
        if self.status is not None:
            return
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        self.status = -signal.SIGKILL


def die_with_parent():
    """prctl(2), PR_SET_PDEATHSIG."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def stack(pid):
    try:
        with open(f"/proc/{pid}/stack") as file:
            return file.read()
    except OSError:
        return ""


def run(command, environment, limit=60):
    """The command's output; a Failure when it fails or takes too long."""
    status, output = attempt(command, environment, limit)
    if status != 0:
        raise Failure(f"{' '.join(command[1:])}: status {status}\n{output}")
    return output


def attempt(command, environment, limit=60):
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{' '.join(command[1:])}: takes longer than {limit} s\n{error.output or ''}") from None
    return done.returncode, done.stdout.decode(errors="replace")


def wait_until(limit, what, condition):
    """`condition` returns False or a text (the remaining fault) until it holds; then None or True."""
    deadline = time.monotonic() + limit
    while True:
        answer = condition()
        if answer is None or answer is True:
            return
        if time.monotonic() > deadline:
            raise Failure(f"not after {limit} s: {what}\n{answer or ''}")
        time.sleep(0.01)


def is_alive(pid):
    """A process that has ended but was not collected yet counts as gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
