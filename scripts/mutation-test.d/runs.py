"""One run of tests, watched while it goes on; and the removal of all that it started."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

# All processes started here inherit this mark, by which leftovers are found.
MARK = "RUN_OF_HYDRANT_TESTS"
OURS = f"{os.getpid()}.{uuid.uuid4().hex[:8]}"

# The exit status of a run without a matching test (EX_UNAVAILABLE, as in swift test).
NO_TESTS = 69

# The running processes.
RUNNING = set()

# Eight at a time, as in scripts/test: more would wait for each other so long that they fail.
WIDTH = "8"


class Result:
    """The result of one run of one kind of tests."""

    def __init__(self, what, red=(), after="", seconds=0.0, note=""):
        self.what = what
        self.red = list(red)
        self.after = after
        self.seconds = seconds
        self.note = note

    def __str__(self):
        state = f"red after {self.after}: {', '.join(self.red[:4])}" if self.red else f"green, {self.after}"
        return f"{self.what}: {self.note or state} ({self.seconds:.0f} s)"


class Events:
    """The test library's event stream, one JSON object per line, as far as it has been written."""

    def __init__(self, path):
        self.path = path
        self.position = 0
        self.rest = b""
        self.red = []
        self.running = []
        self.ended = 0
        self.is_over = False

    def look(self):
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.position)
            data = file.read()
        self.position += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line.strip():
                self.take(json.loads(line))

    def take(self, record):
        if record.get("kind") != "event":
            return
        event = record["payload"]
        test = short(event.get("testID"))
        match event["kind"]:
            case "testStarted" if test:
                self.running.append(test)
            case "testEnded" if test:
                if test in self.running:
                    self.running.remove(test)
                # Suites are tests as well.
                self.ended += 1 if "/" in test else 0
            case "issueRecorded":
                issue = event.get("issue", {})
                if not issue.get("isKnown") and issue.get("isFailure", True):
                    self.note(test or "outside of a test")
            case "runEnded":
                self.is_over = True

    def note(self, test):
        if test not in self.red:
            self.red.append(test)

    @property
    def innermost(self):
        return [test for test in self.running if "/" in test] or self.running


def short(identifier):
    """VolumeTests.SplitTests/aTest()/SplitTests.swift:12:4 -> SplitTests/aTest"""
    if not identifier:
        return None
    name = re.sub(r"/[^/]*\.swift:\d+:\d+$", "", identifier)
    return re.sub(r"\(.*\)$", "", name.split(".", 1)[-1])


def tests(package, expression, environment, limit, linger, stops):
    """Runs the tests whose names match.

    stops: ends `linger` seconds after the first failure. A run that crashes, or has not ended after `limit` seconds,
    counts as failed as well: the running tests are named."""
    binaries = list((package / ".build/debug").glob("*PackageTests.xctest"))
    if not binaries:
        raise SystemExit(f"{package} has not been built")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hydrant-mutant-"))
    events = Events(scratch / "events")
    started = time.monotonic()
    command = [
        binaries[0], "--testing-library", "swift-testing", "--filter", expression, "--parallel",
        "--experimental-maximum-parallelization-width", WIDTH, "--event-stream-output-path", events.path,
        "--event-stream-version", "0",
    ]
    process = start(
        command, cwd=package, stdout=(scratch / "output").open("wb"),
        env={**os.environ, "TMPDIR": str(scratch), MARK: OURS, **environment})
    try:
        first_red = None
        count = 0
        while process.poll() is None:
            time.sleep(0.05)
            events.look()
            now = time.monotonic()
            if events.red and first_red is None:
                first_red, count = now, events.ended
            if stops and first_red is not None and now - first_red > linger:
                break
            if now - started > limit:
                for test in events.innermost:
                    events.note(f"{test} (did not end)")
                break
        seconds = (first_red or time.monotonic()) - started
        status = process.poll()
        events.look()
        if status == NO_TESTS:
            raise SystemExit(f"no test matches {expression}")
        if status not in (None, 0) and not events.red:
            for test in events.innermost or ["before the first test"]:
                events.note(f"{test} (ended by signal {-status})" if status < 0 else f"{test} (status {status})")
        if status is not None and not events.is_over and status == 0:
            events.note("the run did not end as it should")
        note = "" if events.ended or events.red else f"no test matches {expression}"
        ended = count + 1 if first_red is not None else events.ended
        return Result(expression, events.red, f"{ended} tests", seconds, note)
    finally:
        end(process)
        shutil.rmtree(scratch, ignore_errors=True)


# A process of the model test plays only some sequences: each one leaves the memory of a "killed" daemon behind.
BATCH = 20


def model(executable, environment, sequences, seed, limit):
    """Plays random sequences against the model until one fails."""
    started = time.monotonic()
    played = 0
    red = []
    while played < sequences and not red:
        if time.monotonic() - started > limit:
            return Result("model", [], f"{played} sequences", time.monotonic() - started)
        count = min(BATCH, sequences - played)
        output, status = model_batch(executable, environment, seed + played, count, limit)
        begun = len(re.findall(r"^begin ", output, re.MULTILINE))
        played += begun if status else count
        if status == 2:
            raise SystemExit(f"the model test cannot run: {last_line(output)}")
        if status:
            found = re.search(r"^failed (seed \d+): (.*)$", output, re.MULTILINE)
            what = f"{found[1]}: {found[2]}" if found else f"seed {seed + played - 1} did not end well: {last_line(output)}"
            red.append("model, " + what.replace("|", "/").replace("`", "'")[:110])
    return Result("model", red, f"{played} sequences", time.monotonic() - started)


def model_batch(executable, environment, seed, count, limit):
    scratch = tempfile.mkdtemp(prefix="hydrant-mutant-")
    process = start(
        [executable, "--seed", str(seed), "--count", str(count)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": scratch, MARK: OURS, **environment})
    try:
        return process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + "\nit did not end", -signal.SIGKILL
    finally:
        end(process)
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(f"/dev/shm/hydrant-model-{process.pid}", ignore_errors=True)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:80].replace("|", "/") if lines else "ended without a word"


# Leftovers.

def start(command, **arguments):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True, **arguments)
    RUNNING.add(process)
    return process


def end(process):
    """Ends a run, with all that it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    RUNNING.discard(process)
    leave_nothing(process.pid)


def leave_nothing(owner):
    """Removes daemons, mounts and folders of one test process's scenarios (each folder names its owner)."""
    for folder in pathlib.Path("/tmp").glob("hyt-*"):
        try:
            if (folder / "owner").read_text().strip() != str(owner):
                continue
        except OSError:
            continue
        for pid in processes_of(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for mount in mounts_below(folder):
            subprocess.run(["umount", "-l", "--", mount], capture_output=True, check=False)
        if not mounts_below(folder):
            shutil.rmtree(folder, ignore_errors=True)


def processes_of(folder):
    """The processes that we started for the scenario in this folder."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"{MARK}={OURS}".encode() in environment and f"XDG_RUNTIME_DIR={folder}/run".encode() in environment:
            yield int(entry.name)


def mounts_below(folder):
    """From the mount table, so that a dead mount cannot block. The innermost first."""
    found = []
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        place = line.split(" ")[1].encode().decode("unicode_escape")
        if place.startswith(f"{folder}/"):
            found.append(place)
    return found[::-1]


@contextlib.contextmanager
def cleaning():
    """A signal that ends this process also ends its children."""
    def stop(number, _):
        for process in list(RUNNING):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in list(RUNNING):
            end(process)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    yield
