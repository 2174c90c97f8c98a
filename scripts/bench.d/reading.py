"""Reading documents, downloaded and not."""

import time

import datasets
import machine
from workloads import ALL, OURS, REMOTE, Figure, Goal, Workload


class Downloaded(Workload):
    """One big document, all of it downloaded."""

    name = "read"
    needs_root = True

    def __init__(self, bench):
        super().__init__(bench)
        size = f"{bench.mebibytes} MiB"
        self.figures = [
            Figure("read-warm", f"downloaded {size}, sequential, page cache warm", "MB/s", Goal(native=0.95)),
            Figure("read-cold", "the same, page cache dropped", "MB/s", Goal(native=0.95)),
            Figure("random-1", "random 4 KiB, 1 thread", "k/s", Goal(native=0.95)),
            Figure("random-4", "random 4 KiB, 4 threads", "k/s", Goal(native=0.95)),
        ]

    def prepare(self):
        self.datasets.on_server("big", lambda folder: datasets.big(folder, self.bench.mebibytes))

    def begin(self, system):
        file = system.open("big") / "file"
        system.timed("sequential", file)
        system.settle()

    def sample(self, system):
        file = system.point / "file"
        # The best of several: for the first read after a write the data comes from further away than the disk's own
        # cache (for the native file system as well, a quarter as fast here).
        cold = max(self.dropped(system, file) for _ in range(3))
        # Once may not be enough: pages that a cold reader read ahead may be cached twice.
        system.timed("sequential", file)
        warm = max(system.timed("sequential", file) for _ in range(2))
        return [warm, cold, system.timed("random", file, 1, 1), system.timed("random", file, 4, 1)]

    def dropped(self, system, file):
        machine.drop_caches(1)
        return system.timed("sequential", file)


class OpenRate(Workload):
    name = "rate"
    systems = (*ALL, "bindfs")
    figures = [Figure("rate", "open + read 16 KiB + close, downloaded", "k/s", Goal(value=15))]

    def prepare(self):
        self.datasets.on_server("small", lambda folder: datasets.flat(folder, self.bench.small, 16 << 10))

    def begin(self, system):
        point = system.open("small")
        self.list = self.bench.list_of("small", point)
        system.timed("read", self.list, 1)
        system.settle()

    def sample(self, system):
        self.bench.list_of("small", system.point)
        return [system.timed("rate", self.list, 2)]


class FirstBytes(Workload):
    """4 KiB of a placeholder: only its existence is known to the mount."""

    systems = REMOTE
    network = "wan"
    place = 0

    def prepare(self):
        self.datasets.on_server("big", lambda folder: datasets.big(folder, self.bench.mebibytes))

    def sample(self, system):
        file = system.open("big", self.network) / "file"
        # Looked at, as by a file manager.
        system.run(["stat", file])
        time.sleep(0.2)
        figure = system.timed("head", file, self.place, 4096)
        system.close()
        return [figure]


class Beginning(FirstBytes):
    name = "first-wan"
    figures = [Figure("first-wan", "first 4 KiB of a big placeholder, wan", "s", Goal(value=0.09))]


class Middle(FirstBytes):
    name = "middle-wan"
    figures = [Figure("middle-wan", "4 KiB in its middle, wan", "s", Goal(value=0.09))]

    def __init__(self, bench):
        super().__init__(bench)
        self.place = bench.mebibytes << 19


class ColdSequential(Workload):
    systems = REMOTE

    def __init__(self, bench, network):
        super().__init__(bench)
        self.network = network
        self.name = f"cold-{network}"
        self.mebibytes = bench.mebibytes if network == "lan" else bench.mebibytes // 8
        # A share of curl's own speed where the server is the limit.
        goal = Goal(value=600, reference=0.9) if network == "lan" else Goal(value=12.2, reference=0.98)
        self.figures = [Figure(self.name, f"cold sequential read of {self.mebibytes} MiB, {network}", "MB/s", goal)]
        self.dataset = "big" if network == "lan" else "medium"

    def prepare(self):
        self.datasets.on_server(self.dataset, lambda folder: datasets.big(folder, self.mebibytes))

    def sample(self, system):
        file = system.open(self.dataset, self.network) / "file"
        system.run(["stat", file])
        figure = system.timed("sequential", file)
        system.close()
        return [figure]

    def reference(self):
        """To a new file on the same disk, like a download."""
        target = self.bench.sandbox / "curl"
        start = time.monotonic()
        machine.run(["curl", "-sf", "-o", target, self.bench.server.url(f"{self.dataset}/file", self.network)])
        figure = self.mebibytes * 1.048576 / (time.monotonic() - start)
        target.unlink()
        return [figure]


class Small(Workload):
    """Many small placeholders."""

    systems = ("native", *REMOTE)

    def __init__(self, bench, network, readers):
        super().__init__(bench)
        self.network, self.readers = network, readers
        if readers == 1:
            self.name = f"small-{network}"
            title, goals = "one after another", {"lan": 0.5, "wan": 10}
        else:
            self.name = f"small-{readers}-{network}"
            title, goals = f"{readers} readers", {"lan": 0.4, "wan": 5.7}
        goal = Goal(value=goals[network] * bench.small / 1000)
        self.figures = [
            Figure(self.name, f"{bench.small:,} placeholders of 16 KiB, {title}, {network}", "s", goal)]

    def prepare(self):
        self.datasets.on_server("small", lambda folder: datasets.flat(folder, self.bench.small, 16 << 10))

    def sample(self, system):
        point = system.open("small", self.network)
        system.run(["ls", "-l", point])
        if system.is_native:
            machine.drop_caches(1)
        figure = system.timed("read", self.bench.list_of("small", point), self.readers)
        system.close()
        return [figure]


def workloads(bench):
    return [
        Downloaded(bench), OpenRate(bench), Beginning(bench), Middle(bench), ColdSequential(bench, "lan"),
        ColdSequential(bench, "wan"), Small(bench, "lan", 1), Small(bench, "wan", 1), Small(bench, "lan", 8),
        Small(bench, "wan", 8),
    ]
