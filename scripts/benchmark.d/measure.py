"""Measures what a mount costs: each case alternately on the native file system and on the mount, over the same
documents (see make_store.py) on the same disk. What counts is the ratio of the medians; the figures themselves are
the machine's. Called by scripts/benchmark, which has made and mounted everything."""

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys


class Side:
    """The native file system, or the mount."""

    def __init__(self, bench, name, root):
        self.bench, self.name, self.root = bench, name, root
        self.large = root / "large"

    def loop(self, folder, *words):
        """A loop of fileops in a folder: its nanoseconds a call."""
        return float(self.bench.run([self.bench.fileops, *map(str, words)], self.root / folder))

    def fio(self, kind, engine="psync", block="4k", threads=1, file=None, once=False):
        """One job of fio on the large document (or a new file): its bytes a second."""
        bench = self.bench
        words = [
            "fio", "--name=job", f"--filename={file or self.large}", f"--rw={kind}", f"--ioengine={engine}",
            f"--bs={block}", f"--size={bench.mebibytes}m", f"--numjobs={threads}", "--thread", "--group_reporting",
            # As an ordinary program: the page cache stays, no hints, no time stamps for each call.
            "--invalidate=0", "--fadvise_hint=0", "--gtod_reduce=1", "--norandommap",
            "--random_generator=tausworthe64", "--fallocate=none", "--output-format=json",
        ]
        if kind == "write":
            # Without, it is the kernel's mood in writing back that is measured.
            words += ["--end_fsync=1"]
        if not once:
            words += ["--time_based", "--runtime=500ms"]
        if "read" in kind:
            # Never lays out a file, nor writes one.
            words += ["--readonly", "--allow_file_create=0"]
        output = bench.run(words, "/")
        # Notes may stand before the object.
        job = json.loads(output[output.index("{"):])["jobs"][0]
        return job["write" if kind == "write" else "read"]["bw_bytes"]

    def settle(self):
        """What was changed has been sent, and is on disk: it does not disturb the next measurement."""
        if self.name == "mount":
            self.bench.run([self.bench.hydrant, "sync", "--timeout", "300", str(self.root)], "/")
        self.bench.run(["sync", "-f", str(self.bench.native.root)], "/")

    def drop_caches(self):
        self.settle()
        if os.geteuid() == 0:
            try:
                pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")
                return
            except OSError:
                pass  # A container's /proc may not be written to.
        files = [self.large]
        if self.name == "mount":
            # Its pages are also, or only, those of the local file behind it.
            files += [p for p in self.bench.state.rglob("*") if p.is_file() and p.stat().st_size >= 16 << 20]
        self.bench.run([self.bench.fileops, "drop", *map(str, files)], "/")


# MARK: Cases

def sequential(side):
    return [side.fio("read", block="128k")]


def nothing(side):
    pass


def warm(side):
    """The whole document is in the page cache."""
    side.fio("read", block="1m", once=True)


def sequential_cold(side):
    side.drop_caches()
    return [side.fio("read", block="128k", once=True)]


def random_reads(threads):
    return lambda side: [side.fio("randread", threads=threads)]


def mapped(kind):
    return lambda side: [side.fio(kind, engine="mmap")]


def stat_all(side):
    return [side.loop("small", "stat", 10, side.bench.list)]


def read_all(side):
    return [side.loop("small", "read", 1, side.bench.list)]


def command(count, folder, *words):
    return lambda side: [side.loop(folder, "run", count, *words) / 1e6]


def changes(side):
    """Creates documents, renames them and removes them: three figures. What was done before has been sent."""
    count = side.bench.changes
    folder = side.root / "changes"
    folder.mkdir()
    side.settle()
    results = []
    for words in (["create", count, 16 << 10], ["rename", count], ["unlink", count]):
        results.append(side.loop("changes", *words))
        side.settle()
    folder.rmdir()
    side.settle()
    return results


def append(side):
    result = side.loop(".", "append", side.bench.changes)
    (side.root / "appended").unlink()
    side.settle()
    return [result]


def write(side):
    file = side.root / "written"
    result = side.fio("write", block="1m", file=file, once=True)
    file.unlink()
    side.settle()
    return [result]


class Case:
    def __init__(self, titles, sample, unit, target=None, prepare=None, turns=3):
        self.titles, self.sample, self.unit, self.target = titles, sample, unit, target
        # In a round. Many short ones stand other people's load on the machine better than few long ones.
        self.turns = turns
        # Once on each side before the first round: afterwards the caches are warm.
        self.prepare = prepare or sample


def cases(bench):
    large, small = f"{bench.mebibytes} MiB", f"{bench.files} files"
    return [
        Case([f"read {large}, warm"], sequential, "B/s", 0.95, warm),
        Case([f"read {large}, cold"], sequential_cold, "B/s", 0.95, nothing, turns=1),
        Case(["random 4 KiB, warm"], random_reads(1), "B/s", 0.95, warm),
        Case(["random 4 KiB, warm, 4 threads"], random_reads(4), "B/s", 0.95, warm),
        Case(["mmap, sequential"], mapped("read"), "B/s", prepare=warm),
        Case(["mmap, random 4 KiB"], mapped("randread"), "B/s", prepare=warm),
        Case([f"stat {small}, cached"], stat_all, "ns", 0.8),
        Case([f"find -size in {small}"], command(5, "small", "find", ".", "-type", "f", "-size", "+1"), "ms", 0.8),
        Case([f"ls -lR of {small}"], command(2, "small", "ls", "-lR"), "ms"),
        Case([f"open, read, close {small}"], read_all, "ns"),
        Case([f"git status, {small}"], command(3, "repository", "git", "status", "--porcelain"), "ms"),
        Case(
            [f"create {bench.changes} of 16 KiB", f"rename {bench.changes}", f"unlink {bench.changes}"],
            changes, "ns", prepare=nothing, turns=1),
        Case([f"append {bench.changes} times, open, close"], append, "ns", prepare=nothing, turns=1),
        Case([f"write {large}, fsync"], write, "B/s", prepare=nothing),
    ]


# MARK: Rounds

class Bench:
    def __init__(self, options):
        self.options = options
        self.files, self.mebibytes = options.files, options.mebibytes
        self.changes = 200 if options.quick else 1000
        self.fileops, self.hydrant, self.state = options.fileops, options.hydrant, options.state
        self.native = Side(self, "native", options.native)
        self.mount = Side(self, "mount", options.mount)
        # Beside the documents: every side reads the same list.
        self.list = options.fileops.parent / "list"
        small = options.native / "small"
        self.list.write_text("".join(f"{p.relative_to(small)}\n" for p in sorted(small.rglob("*.txt"))))

    def run(self, words, folder):
        environment = dict(os.environ, LC_ALL="C", GIT_CONFIG_GLOBAL="/dev/null")
        done = subprocess.run(
            list(map(str, words)), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True)
        if done.returncode != 0:
            raise SystemExit(f"benchmark: {' '.join(map(str, words))}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def measure(self, case):
        """One result for each of the case's titles."""
        for side in (self.native, self.mount):
            case.prepare(side)
        samples = {"native": [], "mount": []}
        for number in range(self.options.rounds * case.turns):
            order = [self.native, self.mount] if number % 2 == 0 else [self.mount, self.native]
            for side in order:
                samples[side.name].append(case.sample(side))
        for index, title in enumerate(case.titles):
            native, mount = ([sample[index] for sample in samples[name]] for name in ("native", "mount"))
            yield Result(case, title, native, mount)


class Result:
    def __init__(self, case, title, native, mount):
        self.title, self.unit, self.target = title, case.unit, case.target
        self.samples = {"native": native, "mount": mount}
        self.native, self.mount = statistics.median(native), statistics.median(mount)
        # Of speeds: above 1 the mount is the faster one.
        self.ratio = self.mount / self.native if case.unit == "B/s" else self.native / self.mount
        # How far the middle half of the samples lies apart: by so much the ratio may be wrong.
        self.spread = max(self.middle_half(samples) for samples in (native, mount))

    @staticmethod
    def middle_half(samples):
        if len(samples) < 2:
            return 0
        low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
        return (high - low) / middle

    @property
    def is_missed(self):
        return self.target is not None and self.ratio < self.target

    def shown(self, value):
        if self.unit == "B/s":
            return f"{value / 1e6:,.0f} MB/s"
        if self.unit == "ms":
            return f"{value:,.1f} ms"
        return f"{value / 1000:,.2f} µs" if value < 1e6 else f"{value / 1e6:,.2f} ms"

    def line(self):
        target = "" if self.target is None else f"{self.target:.2f}{' missed' if self.is_missed else ''}"
        return (
            f"{self.title:32} {self.shown(self.native):>13} {self.shown(self.mount):>13} {self.ratio:7.2f} "
            f"{self.spread:7.0%}  {target}").rstrip()

    def object(self):
        return {
            "case": self.title, "unit": self.unit, "native": self.native, "mount": self.mount,
            "ratio": round(self.ratio, 4), "target": self.target, "missed": self.is_missed,
            "spread": round(self.spread, 4), "samples": self.samples,
        }


HEADING = f"{'case':32} {'native':>13} {'mount':>13} {'ratio':>7} {'spread':>7}  target"


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("native", "mount", "state", "fileops", "hydrant"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("files", "mebibytes", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("quick", "json", "check"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--passthrough", required=True)
    parser.add_argument("--filesystem", required=True)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def main():
    options = arguments()
    bench = Bench(options)
    facts = {
        "kernel": platform.release(), "cpus": os.cpu_count(), "filesystem": options.filesystem,
        "passthrough": options.passthrough, "rounds": options.rounds,
    }
    if not options.json:
        print(
            f"Linux {facts['kernel']}, {facts['cpus']} CPUs, {options.filesystem}, passthrough "
            f"{options.passthrough}; medians of {options.rounds} rounds; ratio of speeds, mount to native\n\n{HEADING}",
            flush=True)
    results = []
    for case in cases(bench):
        if not any(options.only in title for title in case.titles):
            continue
        for result in bench.measure(case):
            results.append(result)
            if not options.json:
                print(result.line(), flush=True)
    if not results:
        raise SystemExit(f"benchmark: no case has \"{options.only}\" in its name")
    if options.json:
        print(json.dumps({**facts, "cases": [result.object() for result in results]}, indent=2))
    missed = [result for result in results if result.is_missed]
    if missed:
        print(f"{len(missed)} targets missed: {', '.join(result.title for result in missed)}", file=sys.stderr)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    # As an exception, so that what runs for us is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
