"""The datasets on the server, made by name when a workload needs them; and those for local programs."""

import os
import random
import subprocess

import machine

LINES = "".join(f"line {number} of a document that somebody wrote\n" for number in range(400))


def give(path):
    """Gives the files to the server, which runs as www-data."""
    if os.geteuid() == 0:
        machine.run(["chown", "-R", "www-data:www-data", path])


def big(folder, mebibytes):
    source = random.Random(1)
    with (folder / "file").open("wb") as file:
        for _ in range(mebibytes):
            file.write(source.randbytes(1 << 20))


def flat(folder, count, size=100):
    content = (LINES * (size // len(LINES) + 1))[:size]
    for number in range(count):
        with open(folder / f"document {number:06d}.txt", "w", encoding="utf-8") as file:
            file.write(content)


def tree(folder, folders, each, size=100):
    for number in range(folders):
        below = folder / f"folder {number:04d}"
        below.mkdir()
        flat(below, each, size)


def repository(folder, files, commits):
    """A Git repository with a history."""
    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0", *words],
            cwd=folder, check=True, stdout=subprocess.DEVNULL, env=machine.environment_of())
    git("init", "-q", "-b", "main")
    chance = random.Random(2)
    paths = [folder / f"part{number % 40:02d}" / f"file{number:04d}.txt" for number in range(files)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path.name}\n" + LINES[:chance.randrange(500, 12_000)])
    for number in range(commits):
        for path in chance.sample(paths, files // 20):
            with path.open("a") as file:
                file.write(f"changed in {number}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"change {number}")


class Datasets:
    def __init__(self, bench):
        self.bench = bench

    def on_server(self, name, make):
        """The folder of that name below the server's root."""
        folder = self.bench.server.root / name
        if not folder.exists():
            self.bench.say(f"making {name}")
            folder.mkdir()
            make(folder)
            give(folder)
        return name

    def local(self, name, make):
        """A local folder that programs read from."""
        folder = self.bench.sandbox / "source" / name
        if not folder.exists():
            self.bench.say(f"making {name}")
            folder.mkdir(parents=True)
            make(folder)
            machine.run(["chmod", "-R", "a+rX", folder])
        return folder
