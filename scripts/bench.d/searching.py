"""Queries: `hydrant find` over many documents that are not here, beside find(1) on a local disk."""

import time

import datasets
import machine
from workloads import Figure, Goal, Workload


class Find(Workload):
    """Many documents in folders of 1,000, all of which have been listed."""

    systems = ("native", "hydrant")
    rounds = 5

    def __init__(self, bench, count):
        super().__init__(bench)
        self.count = count
        self.name = f"find-{count}"
        number = f"{count:,}"
        self.figures = [
            Figure(f"find-name-{count}", f"find a name's part (1 result), of {number} documents", "ms", Goal(value=50)),
            Figure(f"find-folder-{count}", "the same with 1,000 results", "ms"),
            Figure(f"find-dates-{count}", "find by size and date (no result)", "ms", Goal(value=1000)),
            Figure(f"find-first-{count}", "a name's part before there is an index", "ms"),
            Figure(f"find-index-{count}", "size of the index", "MiB"),
        ]

    def prepare(self):
        self.datasets.on_server(
            self.name, lambda folder: datasets.tree(folder, self.count // 1000, 1000, 10))

    def begin(self, system):
        point = system.open(self.name)
        system.timed("list", point, self.count)
        self.first, self.index = None, None
        if system.is_native:
            return
        start = time.monotonic()
        self.ask(system, f'"{self.one}"')
        self.first = (time.monotonic() - start) * 1e3
        # The index grows in the background, until it covers the whole catalog.
        last = [0]

        def has_grown():
            size = sum(p.stat().st_size for p in system.state.glob("names.sqlite*"))
            grown, last[0] = size == last[0] and size > 0, size
            return grown

        machine.wait_until(600, "the index is made", has_grown, 2)
        self.index = last[0] / (1 << 20)

    # In the names of one folder, and of one document in each folder.
    one, each = "folder 0007", "000345"

    def ask(self, system, *query):
        return system.command("find", *query, "--in", system.point)

    @staticmethod
    def time(body):
        start = time.monotonic()
        body()
        return (time.monotonic() - start) * 1e3

    def sample(self, system):
        if system.is_native:
            def look(*words):
                return self.time(lambda: machine.run(["find", str(system.point), *words]))
            return [
                look("-name", f"*{self.one}*"), look("-name", f"*{self.each}*"),
                look("-size", "+1000c", "-mtime", "-1"), None, None]
        return [
            self.time(lambda: self.ask(system, f'"{self.one}"')), self.time(lambda: self.ask(system, self.each)),
            self.time(lambda: self.ask(system, "size:>1000", "modified:<1d")), self.first, self.index]


def workloads(bench):
    return [Find(bench, 20_000 if bench.quick else 1_000_000)]
