"""Writing, and the programs that people write with."""

import io
import tarfile
import time

import datasets
import machine
from workloads import ALL, REMOTE, WRITING, Figure, Goal, Workload


class Writing(Workload):
    """Each system writes into its own folder on the server, into a new subfolder each time."""

    systems = WRITING

    def begin(self, system):
        name = self.folder_of(system)
        self.datasets.on_server(name, lambda folder: None)
        system.open(name, self.network)
        system.turn = 0

    def folder_of(self, system):
        return f"{self.name}-{system.name}"

    def fresh(self, system):
        system.turn += 1
        folder = system.point / f"turn {system.turn}"
        # An ordinary user's mount is closed to root.
        system.run(["mkdir", folder])
        system.settle()
        machine.run(["sync", "-f", self.bench.sandbox])
        return folder

    def on_server(self, system, folder):
        return self.bench.server.root / self.folder_of(system) / folder.name

    def end(self, system):
        system.close()
        # (Small files stay until the end; see machine.remove_large.)
        machine.remove_large(self.bench.server.root / self.folder_of(system))


class Create(Writing):
    def __init__(self, bench, network):
        super().__init__(bench)
        self.network = network
        self.name = f"create-{network}"
        self.count = bench.created
        share = self.count / 1000
        until = {"lan": 1.2, "wan": 4}[network]
        self.figures = [
            Figure(self.name, f"create {self.count:,} files of 16 KiB, for the program, {network}", "s",
                   Goal(value=0.2 * share)),
            Figure(f"{self.name}-server", f"until they are on the server, {network}", "s", Goal(value=until * share)),
            Figure(f"{self.name}-requests", "requests a file", "", Goal(value=1)),
        ]
        if network == "wan":
            self.systems = REMOTE

    def sample(self, system):
        folder = self.fresh(system)
        position = self.bench.server.position()
        start = time.monotonic()
        created = system.timed("create", self.count, 16 << 10, folder=folder)
        system.settle()
        there = time.monotonic() - start
        requests = None
        if not system.is_native:
            arrived = [p for p in self.on_server(system, folder).iterdir() if p.stat().st_size == 16 << 10]
            if len(arrived) != self.count:
                raise machine.BenchError(f"{system.name}: {len(arrived)} of {self.count} files are on the server")
            requests = self.bench.server.traffic(position)["requests"] / self.count
        return [created, None if system.is_native else there, requests]


class Names(Writing):
    """Runs after all other writing workloads: see machine.remove_large."""

    name = "names"

    def __init__(self, bench):
        super().__init__(bench)
        self.count = bench.created
        self.figures = [
            Figure("rename", f"rename {self.count:,} files, for the program, lan", "s"),
            Figure("unlink", f"unlink {self.count:,} files, for the program, lan", "s"),
        ]

    def sample(self, system):
        folder = self.fresh(system)
        system.timed("create", self.count, 16 << 10, folder=folder)
        system.settle()
        renamed = system.timed("rename", self.count, folder=folder)
        system.settle()
        unlinked = system.timed("unlink", self.count, folder=folder)
        system.settle()
        return [renamed, unlinked]


class WriteBig(Writing):
    name = "write"
    systems = ALL

    def __init__(self, bench):
        super().__init__(bench)
        self.figures = [
            Figure("write", f"write {bench.mebibytes} MiB, for the program", "MB/s", Goal(native=0.9)),
            Figure("write-server", "the same, until it is on the server", "MB/s", Goal(reference=0.8)),
        ]

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        figure = system.timed("write", folder / "file", self.bench.mebibytes)
        system.settle()
        there = self.bench.mebibytes * 1.048576 / (time.monotonic() - start)
        (folder / "file").unlink() if not system.user else system.run(["rm", folder / "file"])
        system.settle()
        return [figure, None if system.is_native else there]

    def reference(self):
        """curl's PUT of such a file."""
        source = self.bench.sandbox / "curl"
        with source.open("wb") as file:
            for _ in range(self.bench.mebibytes):
                file.write(datasets.LINES[:1 << 20].encode().ljust(1 << 20))
        url = self.bench.server.url("curl", self.network)
        start = time.monotonic()
        machine.run(["curl", "-sf", "-T", source, url])
        figure = self.bench.mebibytes * 1.048576 / (time.monotonic() - start)
        machine.run(["curl", "-sf", "-X", "DELETE", url])
        source.unlink()
        return [None, figure]


class GitClone(Writing):
    name = "git"
    figures = [
        Figure("git-clone", "git clone (2,000 files, 20 commits)", "s", Goal(native=1.6)),
        Figure("git-status-first", "git status right after it", "ms", Goal(native=2)),
        Figure("git-status", "git status in it, warm", "ms", Goal(native=1.3)),
    ]

    def prepare(self):
        self.source = self.datasets.local("repository", lambda folder: datasets.repository(folder, 2000, 20))

    def sample(self, system):
        folder = self.fresh(system)
        git = ["git"]
        start = time.monotonic()
        # Another user's repository is cloned over the protocol as well.
        system.run([*git, "clone", "-q", "--no-local", self.source, folder / "clone"])
        cloned = time.monotonic() - start
        status = [*git, "-C", folder / "clone", "status", "--porcelain"]
        times = []
        for _ in range(6):
            start = time.monotonic()
            system.run(status)
            times.append((time.monotonic() - start) * 1e3)
            # The first run rewrites the index.
            if len(times) == 1:
                system.settle()
        system.settle()
        return [cloned, times[0], sorted(times[1:])[2]]


class Untar(Writing):
    name = "tar"
    figures = [Figure("tar", "tar x, 5,000 files", "s", Goal(native=2.5))]

    def prepare(self):
        folder = self.datasets.local("archive", self.make)
        self.archive = folder / "archive.tar"

    @staticmethod
    def make(folder):
        # (Without source files that would have to be removed.)
        content = datasets.LINES[:4 << 10].encode()
        with tarfile.open(folder / "archive.tar", "w") as archive:
            for number in range(50):
                name = f"files/folder {number:04d}"
                below = tarfile.TarInfo(name)
                below.type, below.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(below)
                for document in range(100):
                    entry = tarfile.TarInfo(f"{name}/document {document:06d}.txt")
                    entry.size, entry.mode, entry.mtime = len(content), 0o644, 1_700_000_000
                    archive.addfile(entry, io.BytesIO(content))

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        system.run(["tar", "-xf", self.archive, "-C", folder])
        figure = time.monotonic() - start
        system.settle()
        return [figure]


class Rsync(Writing):
    """A copy with rsync; then 100 bytes are appended to 200 of the copied files."""

    name = "rsync"
    figures = [
        Figure("rsync", "rsync -a, 2,000 files", "s", Goal(native=3)),
        Figure("append", "append to 200 of them", "ms", Goal(value=40)),
    ]

    def prepare(self):
        self.source = self.datasets.local("copied", lambda folder: datasets.tree(folder, 20, 100, 4 << 10))

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        system.run(["rsync", "-a", f"{self.source}/", folder / "copy"])
        copied = time.monotonic() - start
        system.settle()
        paths = sorted((folder / "copy").rglob("*.txt"))[::10] if not system.user else None
        if paths is None:
            names = sorted(self.source.rglob("*.txt"))[::10]
            paths = [folder / "copy" / name.relative_to(self.source) for name in names]
        appended = system.timed("append", self.bench.write_list("appended", paths))
        system.settle()
        return [copied, appended]


class Save(Writing):
    name = "save"
    figures = [
        Figure("save", "200 saves by temp file + fsync + rename, the middle one", "ms", Goal(native=2)),
        Figure("save-server", "until the last one is on the server", "s"),
    ]

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        figure = system.timed("save", folder / "document.txt", 200, 16 << 10)
        system.settle()
        if system.is_native:
            return [figure, None]
        folder = self.on_server(system, folder)
        machine.wait_until(
            60, "the document is on the server, alone",
            lambda: [path.name for path in folder.iterdir()] == ["document.txt"])
        return [figure, time.monotonic() - start]


class Killed(Writing):
    """Documents that were closed right before their daemon was killed."""

    name = "killed"
    systems = REMOTE
    count = 50
    figures = [Figure("killed", f"{count} small files closed, kill -9, remount: until they are on the server", "s")]

    def sample(self, system):
        folder = self.fresh(system)
        system.timed("create", self.count, 4 << 10, folder=folder)
        system.kill()
        start = time.monotonic()
        system.mount()
        there = self.on_server(system, folder)
        machine.wait_until(
            60, "all files are on the server", lambda: there.exists() and self.count == sum(
                path.stat().st_size == 4 << 10 for path in there.iterdir() if not path.name.startswith(".")), 0.01)
        figure = time.monotonic() - start
        system.settle()
        return [figure]


class SQLite(Writing):
    name = "sqlite"
    figures = [Figure("sqlite", "sqlite3, 1,000 transactions, journal_mode=delete", "tx/s", Goal(native=0.6))]

    def prepare(self):
        folder = self.datasets.local("sql", lambda folder: (folder / "script").write_text(
            "PRAGMA journal_mode=delete; CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT);\n"
            + "INSERT INTO t (text) VALUES ('a line that somebody wrote');\n" * 1000))
        self.script = folder / "script"

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        system.run(["sqlite3", "-batch", folder / "data.db", f".read {self.script}"])
        figure = 1000 / (time.monotonic() - start)
        system.settle()
        return [figure]


def workloads(bench):
    return [
        Create(bench, "lan"), Create(bench, "wan"), WriteBig(bench), GitClone(bench), Untar(bench), Rsync(bench),
        Save(bench), SQLite(bench), Killed(bench), Names(bench),
    ]
