"""Measures Hydrant over a WebDAV server and a bucket, beside the native file system, bindfs, rclone and s3fs: each workload
on each system in turn, in one run. Called by scripts/bench after its builds."""

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import sys
import time
import traceback

import buckets
import datasets
import listing
import machine
import reading
import report
import searching
import systems
import writing
from server import Server


class Bench:
    def __init__(self, options):
        self.options, self.quick = options, options.quick
        self.sandbox, self.hydrant, self.fileops = options.sandbox, options.hydrant, options.fileops
        if self.sandbox.exists():
            # The ordinary user clones a repository of another user.
            machine.GIT_CONFIGURATION = self.sandbox / "gitconfig"
            machine.GIT_CONFIGURATION.write_text("[safe]\n\tdirectory = *\n")
        quick = options.quick
        self.mebibytes = 256 if quick else 1024
        self.small = 200 if quick else 1000
        self.listed = 2000 if quick else 10_000
        self.created = 200 if quick else 1000
        self.rounds = options.rounds or (1 if quick else 3)
        self.server = Server(self.sandbox / "server")
        self.datasets = datasets.Datasets(self)
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.systems = systems.all_of(self)
        self.bucket, self.bucket_systems = buckets.all_of(self)
        self.mount_words = []
        self.lists = 0

    def say(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def write_list(self, name, paths):
        file = self.sandbox / f"list-{name}"
        file.write_text("".join(f"{path}\n" for path in paths))
        return file

    def list_of(self, dataset, point):
        """The documents of a flat dataset, at a mount point, sorted by name."""
        names = sorted(os.listdir(self.server.root / dataset))
        return self.write_list(dataset, [point / name for name in names if not name.startswith(".")])

    # MARK: Measuring

    def measure(self, workload):
        """Yields a result for each figure."""
        chosen = [s for s in workload.candidates() if s.name in workload.systems and self.is_wanted(s)]
        samples = {system.name: [] for system in chosen}
        traffic, references = {}, []
        workload.prepare()
        rounds = min(self.rounds, workload.rounds)
        broken = {}
        try:
            begun = []
            for system in chosen:
                if self.attempt(system, broken, lambda: workload.begin(system)) is not broken:
                    begun.append(system)
            for number in range(rounds):
                order = begun if number % 2 == 0 else begun[::-1]
                for system in order:
                    if system.name in broken:
                        continue
                    position = self.server.position()
                    sample = self.attempt(system, broken, lambda: workload.sample(system))
                    if sample is not broken:
                        samples[system.name].append(sample)
                        # The server logs an aborted transfer only when it notices.
                        time.sleep(0.1)
                        traffic[system.name] = self.server.traffic(position)
                reference = workload.reference()
                if reference:
                    references.append(reference)
        finally:
            for system in chosen:
                self.attempt(system, {}, lambda: workload.end(system))
            workload.finish()
        for index, figure in enumerate(workload.figures):
            yield Result(
                figure, {name: [s[index] for s in taken if s[index] is not None] for name, taken in samples.items()},
                [r[index] for r in references if r[index] is not None], traffic if index == 0 else {}, broken)

    def attempt(self, system, broken, body):
        """A failure of one system does not end the measurement of the others."""
        try:
            return body()
        except (machine.BenchError, OSError, ValueError, machine.subprocess.SubprocessError) as error:
            self.say(f"{system.title}: {error}")
            if self.options.verbose:
                traceback.print_exc()
            broken[system.name] = str(error)
            return broken

    def is_wanted(self, system):
        return not self.options.systems or system.name in self.options.systems


class Result:
    """One row: the medians of each system."""

    def __init__(self, figure, samples, references, traffic, broken):
        self.figure, self.samples, self.traffic, self.broken = figure, samples, traffic, broken
        self.medians = {name: statistics.median(taken) for name, taken in samples.items() if taken}
        self.reference = statistics.median(references) if references else None

    @property
    def limit(self):
        if not self.figure.goal:
            return None
        return self.figure.goal.limit(self.figure.more_is_better, self.medians.get("native"), self.reference)

    def is_met(self, name):
        """None: no goal, or no figure."""
        if self.limit is None or name not in self.medians:
            return None
        value = self.medians[name]
        return value >= self.limit if self.figure.more_is_better else value <= self.limit

    def ratio(self, name, to):
        """The ratio of speeds: above 1, `name` is faster."""
        if name not in self.medians or not self.medians.get(to) or not self.medians[name]:
            return None
        value, other = self.medians[name], self.medians[to]
        return value / other if self.figure.more_is_better else other / value

    def object(self):
        ours = [name for name in self.medians if name not in report.OTHERS]
        return {
            "name": self.figure.name, "title": self.figure.title, "unit": self.figure.unit,
            "medians": self.medians, "samples": self.samples, "server": self.reference, "goal": self.limit,
            "goalText": self.figure.goal.words() if self.figure.goal else None,
            "met": {name: self.is_met(name) for name in ours},
            "toNative": {name: self.ratio(name, "native") for name in ours},
            "toRclone": {name: self.ratio(name, "rclone") for name in ours},
            "rounds": max((len(taken) for taken in self.samples.values()), default=0),
            "traffic": self.traffic, "failed": self.broken,
        }


def facts(bench):
    def version(*words):
        try:
            return machine.run(words).splitlines()[0]
        except (machine.BenchError, OSError, IndexError):
            return None
    rclone = next((s for s in bench.systems if s.name == "rclone"), None)
    return {
        "kernel": platform.release(), "cpus": os.cpu_count(), "filesystem": bench.options.filesystem,
        "date": machine.run(["date", "-u", "+%F"]).strip(), "rounds": bench.rounds, "quick": bench.quick,
        "revision": bench.options.revision, "server": version("/usr/sbin/apache2", "-v"),
        "rclone": version(rclone.program, "version") if rclone else None,
        "weed": version(bench.bucket.program, "version") if bench.bucket else None,
        "s3fs": version("s3fs", "--version"),
        "wan": {"roundTripMilliseconds": 40, "megabitsPerSecond": 100},
        "systems": {s.name: s.title for s in [*bench.systems, *bench.bucket_systems] if bench.is_wanted(s)},
    }


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("sandbox", "hydrant", "fileops"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--filesystem", required=True)
    parser.add_argument("--revision", default="")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--systems", type=lambda text: text.split(","), default=[])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    bench = Bench(options)
    found = [*reading.workloads(bench), *listing.workloads(bench), *searching.workloads(bench),
             *writing.workloads(bench), *(buckets.workloads(bench) if bench.bucket or options.list else [])]
    if options.list:
        for workload in found:
            print(f"{workload.name:16} {'; '.join(f.title for f in workload.figures)}")
        return 0
    unknown = set(options.only) - {w.name for w in found}
    if unknown:
        raise SystemExit(f"bench: no such workload: {', '.join(sorted(unknown))}; --list names them")
    chosen = [w for w in found if not options.only or w.name in options.only]
    # (Read first: it may be the file that is written.)
    earlier = report.Earlier(options.against) if options.against else None
    described = facts(bench)
    table = report.Lines(described)
    results = []
    bench.server.start()
    try:
        for workload in chosen:
            if workload.needs_root and not machine.may_drop_caches():
                bench.say(f"{workload.name} is left out: it drops the kernel's caches, which needs root")
                continue
            for result in bench.measure(workload):
                results.append(result)
                table.add(result)
            if options.json:
                # After each workload, so that a long run that is cut off keeps its results.
                order = [figure.name for workload in found for figure in workload.figures]
                report.merge(options.json, described, [r.object() for r in results], order)
    finally:
        for system in [*bench.systems, *bench.bucket_systems]:
            try:
                system.close()
            except (machine.BenchError, OSError) as error:
                bench.say(f"{system.title}: {error}")
        bench.server.stop()
        if bench.bucket:
            bench.bucket.stop()
    if earlier:
        earlier.compare([result.object() for result in results])
    return 0


if __name__ == "__main__":
    # As an exception, so that our child processes are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
