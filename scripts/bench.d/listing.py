"""Listing: folders of many documents, and how the cost grows."""

import time

import datasets
import machine
from workloads import ALL, OURS, REMOTE, SYNC, WRITING, Figure, Goal, Workload

# The PROPFIND of a client's listing, sent by curl to measure the server's own time.
QUESTION = (
    '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/><D:getcontentlength/>'
    "<D:getlastmodified/><D:getetag/></D:prop></D:propfind>")


class Known(Workload):
    """A folder that has been listed before."""

    name = "list"
    systems = SYNC
    needs_root = True

    def __init__(self, bench):
        super().__init__(bench)
        self.count = bench.listed
        self.figures = [
            Figure("list-warm", f"list + stat {self.count:,} files, warm", "ms", Goal(native=1.3)),
            Figure("list-dropped", "the same, kernel dentries dropped", "ms", Goal(native=2)),
            Figure("list-remount", "the same, after a remount", "ms", Goal(native=2)),
            Figure("list-remount-requests", "requests to the server for it", "", Goal(value=0)),
            Figure("list-offline", "the same, with the server down", "ms", Goal(native=2)),
        ]

    def prepare(self):
        self.datasets.on_server("listed", lambda folder: datasets.flat(folder, self.count))

    def begin(self, system):
        self.list(system, system.open("listed"))

    def list(self, system, point=None):
        return system.timed("list", point or system.point, self.count)

    def sample(self, system):
        self.list(system)
        warm = min(self.list(system) for _ in range(3))
        machine.drop_caches(2)
        dropped = self.list(system)
        if system.is_native:
            machine.drop_caches(2)
            again = self.list(system)
            return [warm, dropped, again, None, again]
        system.unmount()
        system.mount()
        position = self.bench.server.position()
        remounted = self.list(system)
        requests = self.bench.server.traffic(position)["requests"]
        offline = None
        if system.name != "rclone":
            system.unmount()
            self.bench.server.stop()
            try:
                system.mount()
                offline = self.list(system)
            finally:
                self.bench.server.launch()
                system.unmount()
                system.location = self.bench.server.url("listed", "lan", "webdav")
                system.mount()
                self.list(system)
        return [warm, dropped, remounted, requests, offline]


class Cold(Workload):
    """A folder that was never listed."""

    name = "list-cold"
    systems = REMOTE
    rounds = 3

    def __init__(self, bench):
        super().__init__(bench)
        self.count = bench.listed * 10
        self.figures = [
            Figure("list-cold-lan", f"list + stat {self.count:,} files, cold, lan", "s", Goal(reference=1.2)),
            Figure("rss-flat", f"daemon's memory (RSS) after it", "MiB", Goal(value=60)),
        ]

    def prepare(self):
        self.datasets.on_server("many", lambda folder: datasets.flat(folder, self.count))

    def sample(self, system):
        point = system.open("many")
        figure = system.timed("list", point, self.count) / 1e3
        time.sleep(1)
        memory = machine.resident(system.pid)
        system.close()
        return [figure, memory]

    def reference(self):
        start = time.monotonic()
        machine.run([
            "curl", "-sf", "-o", "/dev/null", "-X", "PROPFIND", "-H", "Depth: 1", "--data", QUESTION,
            self.bench.server.url("many/")])
        return [time.monotonic() - start, None]


class Tree(Workload):
    """100 folders, in turn, over the slow line."""

    name = "tree-wan"
    systems = REMOTE
    network = "wan"

    def __init__(self, bench):
        super().__init__(bench)
        self.each = bench.listed // 100
        self.figures = [
            Figure(
                "tree-wan", f"list + stat {self.each * 100:,} files in 100 folders, cold, wan", "s", Goal(value=1.5))]

    def prepare(self):
        self.datasets.on_server("tree", lambda folder: datasets.tree(folder, 100, self.each))

    def sample(self, system):
        point = system.open("tree", "wan")
        figure = system.timed("list", point, self.each * 100) / 1e3
        system.close()
        return [figure]


class Again(Workload):
    """A program that shows a tree which is known here."""

    name = "ls-again"
    systems = WRITING

    def __init__(self, bench):
        super().__init__(bench)
        self.each = bench.listed // 100
        self.figures = [
            Figure("ls-again", f"ls -lR of {self.each * 100:,} known files in 100 folders, second time", "ms",
                   Goal(native=1.3))]

    def prepare(self):
        self.datasets.on_server("tree", lambda folder: datasets.tree(folder, 100, self.each))

    def sample(self, system):
        point = system.open("tree")
        system.run(["ls", "-lR", point])
        start = time.monotonic()
        system.run(["ls", "-lR", point])
        figure = (time.monotonic() - start) * 1e3
        system.close()
        return [figure]


class Growth(Workload):
    """Many items in folders of 1,000: listing them, the daemon's memory, and the next mount."""

    systems = OURS
    rounds = 1

    def __init__(self, bench, count, memory=None, ready=None):
        super().__init__(bench)
        self.count = count
        self.name = f"growth-{count}"
        number = f"{count:,}"
        self.figures = [
            Figure(f"growth-list-{count}", f"list + stat {number} items in folders of 1,000, cold, lan", "s"),
            Figure(f"growth-again-{count}", "the same once more, dentries dropped", "s"),
            Figure(f"growth-rss-{count}", f"daemon's memory (RSS) after listing {number} items", "MiB",
                   Goal(value=memory) if memory else None),
            Figure(f"growth-ready-{count}", f"mount ready with a catalog of {number} items", "s",
                   Goal(value=ready) if ready else None),
            Figure(f"growth-catalog-{count}", "size of that catalog", "MiB"),
        ]

    def prepare(self):
        self.datasets.on_server(
            f"growth-{self.count}", lambda folder: datasets.tree(folder, self.count // 1000, 1000, 10))

    def sample(self, system):
        point = system.open(f"growth-{self.count}")
        listed = system.timed("list", point, self.count) / 1e3
        time.sleep(1)
        memory = machine.resident(system.pid)
        again = None
        if machine.may_drop_caches():
            machine.drop_caches(2)
            again = system.timed("list", point, self.count) / 1e3
        system.unmount()
        catalog = sum(p.stat().st_size for p in system.state.glob("catalog.sqlite*")) / (1 << 20)
        if machine.may_drop_caches():
            machine.drop_caches(1)
        start = time.monotonic()
        system.mount()
        ready = time.monotonic() - start
        system.close()
        return [listed, again, memory, ready, catalog]


def workloads(bench):
    found = [
        Known(bench), Again(bench), Cold(bench), Tree(bench), Growth(bench, 10_000), Growth(bench, 100_000, memory=60),
    ]
    if not bench.quick:
        found.append(Growth(bench, 1_000_000, memory=150, ready=0.3))
    return found
