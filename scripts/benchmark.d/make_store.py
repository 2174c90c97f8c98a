"""Makes the documents that the benchmark reads: make_store.py FOLDER FILES MEBIBYTES

large            one document of so many MiB
small/NN/NNNN    so many documents of 1 to 8 KiB, a hundred to a folder
repository       a git work tree with as many

Always the same bytes, which do not compress."""

import pathlib
import random
import subprocess
import sys


def fill(folder, count, source):
    for number in range(count):
        path = folder / f"{number // 100:02}" / f"{number:05}.txt"
        if number % 100 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(source.randbytes(source.randrange(1 << 10, 8 << 10)))


def make_repository(folder, count, source):
    fill(folder, count, source)

    def git(*words):
        subprocess.run(
            ["git", "-C", folder, "-c", "user.name=Benchmark", "-c", "user.email=benchmark@localhost", *words],
            check=True, stdout=subprocess.DEVNULL)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "Documents", "--no-gpg-sign")
    # One pack instead of as many loose objects, which `git status` never looks at.
    git("repack", "-adq")
    git("prune-packed", "-q")


def main():
    root, count, size = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    source = random.Random(1)
    root.mkdir(parents=True)
    with open(root / "large", "wb") as large:
        for _ in range(size):
            large.write(source.randbytes(1 << 20))
    fill(root / "small", count, source)
    make_repository(root / "repository", count, source)


if __name__ == "__main__":
    main()
