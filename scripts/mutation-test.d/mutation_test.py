"""Breaks the code in named places, one at a time, and reports which tests fail.

A mutation is a table in one of the *.toml files beside this one:

    [[mutation]]
    name = "extent-forgotten"
    harm = "The effect on the user, in one sentence."
    file = "Sources/ContentStore/ContentFile.swift"
    old = 'state.add(whole)'                      # occurs exactly once in the file
    new = 'if !@MUTANT { state.add(whole) }'      # @MUTANT: whether this is the mutation of the run
    unit = "PresenceTests"                        # the tests that must fail: tried first (optional)
    mount = "CrashTests"                          # the same, at a real mount; only if no other test fails
    [[mutation.also]]                             # further places of the same mutation: file, old, new

All of them are built into one copy of the tree, each behind a switch that is read from the environment: a separate
build for each would take hours. The sources themselves stay unchanged.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import runs

try:
    import tomllib
except ModuleNotFoundError:
    raise SystemExit("mutation-test: needs Python 3.11 or newer as /usr/bin/python3 (tomllib)") from None

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = pathlib.Path(__file__).resolve().parent
SCRATCH = ROOT / ".build-mutants"
COPY = SCRATCH / "tree"

# Not HYDRANT_…: the tests hide those variables from the daemons that they start.
VARIABLE = "MUTANT_OF_HYDRANT"

SWITCH = f"""import Glibc

/// Written by scripts/mutation-test: the mutation of this process.
private let mutation: String? = getenv("{VARIABLE}").map {{ String(cString: $0) }}

func mutant(_ name: String) -> Bool {{ mutation == name }}
"""

# The tests for a mutation that names none, cheapest first.
UNIT_TESTS = {
    "ItemCatalog": "ItemCatalogTests|SyncEngineTests|VolumeTests",
    "ContentStore": "ContentStoreTests|SyncEngineTests|VolumeTests",
    "SyncEngine": "SyncEngineTests|VolumeTests",
    "Volume": "VolumeTests|SyncEngineTests",
    "DirectoryProvider": "DirectoryProviderTests",
    "FUSE": "FUSETests",
    "MountFrontend": "DomainTests",
    "Daemon": "DaemonTests|DomainTests",
}
MOUNT_TESTS = "MountTests"
DETECTORS = ["unit", "model", "mount"]


class Mutation:
    def __init__(self, table, source):
        known = {"name", "harm", "file", "old", "new", "also", "unit", "mount"}
        if wrong := set(table) - known:
            raise SystemExit(f"{source}: {table.get('name')}: unknown keys {', '.join(sorted(wrong))}")
        try:
            self.name, self.harm = table["name"], table["harm"]
            places = [table, *table.get("also", [])]
            self.edits = [(place["file"], place["old"].lstrip("\n"), place["new"].lstrip("\n")) for place in places]
        except KeyError as missing:
            raise SystemExit(f"{source}: {table.get('name', 'a mutation')}: {missing} is missing") from None
        self.unit = table.get("unit")
        self.mount = table.get("mount")

    @property
    def target(self):
        return self.edits[0][0].split("/")[1]

    def code(self, text):
        return text.replace("@MUTANT", f'mutant("{self.name}")')


def load():
    mutations = []
    for file in sorted(TABLES.glob("*.toml")):
        for table in tomllib.loads(file.read_text()).get("mutation", []):
            mutations.append(Mutation(table, file.name))
    return mutations


def problems(mutations, root):
    """The faults of the tables, above all missing places."""
    found = []
    seen = set()
    taken = {}
    for mutation in mutations:
        if mutation.name in seen:
            found.append(f"{mutation.name}: the name is used twice")
        seen.add(mutation.name)
        if not any("@MUTANT" in new for _, _, new in mutation.edits):
            found.append(f"{mutation.name}: no @MUTANT in `new`")
        for file, old, _ in mutation.edits:
            path = root / file
            if not path.is_file():
                found.append(f"{mutation.name}: {file} does not exist")
                continue
            text = path.read_text()
            if (count := text.count(old)) != 1:
                found.append(
                    f"{mutation.name}: its place occurs {count} times in {file}, but must occur once:\n    "
                    + old.strip().replace("\n", "\n    ")
                )
                continue
            start = text.index(old)
            for other, begin, end in taken.get(file, []):
                if start < end and begin < start + len(old):
                    found.append(f"{mutation.name}: its place in {file} overlaps that of {other}")
            taken.setdefault(file, []).append((mutation.name, start, start + len(old)))
    return found


def write_if_changed(path, data):
    """Keeps the date of unchanged files, so that only changed ones are built again."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def mutated(mutations):
    """The contents of the files that differ in the copy."""
    edits = {}
    for mutation in mutations:
        for file, old, new in mutation.edits:
            edits.setdefault(file, []).append((old, mutation.code(new)))
    files = {}
    for file, places in edits.items():
        original = (ROOT / file).read_text()
        # From the end, so that earlier offsets stay valid.
        text = original
        for old, new in sorted(places, key=lambda place: -original.index(place[0])):
            start = original.index(old)
            text = text[:start] + new + text[start + len(old) :]
        files[file] = text.encode()
        files["/".join(file.split("/")[:2]) + "/Mutant.swift"] = SWITCH.encode()
    return files


def copy_tree(mutations):
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True,
    ).stdout
    names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    files = mutated(mutations)
    for name in names - files.keys():
        source, target = ROOT / name, COPY / name
        write_if_changed(target, source.read_bytes())
        target.chmod(source.stat().st_mode & 0o777)
    for name, data in files.items():
        write_if_changed(COPY / name, data)
    for folder in ("Sources", "Tests", "scripts"):
        for path in (COPY / folder).rglob("*"):
            name = path.relative_to(COPY).as_posix()
            if path.is_file() and name not in names and name not in files:
                path.unlink()


def build():
    log = SCRATCH / "build.log"
    started = time.monotonic()
    with log.open("w") as output:
        command = ["swift", "build", "--build-tests", "--package-path", COPY]
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if status != 0:
        errors = re.findall(r"^\S+: error: .*$", log.read_text(), re.MULTILINE)
        for line in dict.fromkeys(errors):
            print(line.removeprefix(f"{COPY}/"), file=sys.stderr)
        raise SystemExit(f"the build with the mutations failed: {log}")
    say(f"built in {time.monotonic() - started:.0f} s")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Detectors:
    def __init__(self, options):
        self.options = options
        self.names = [options.detector] if options.detector else DETECTORS
        self.model = COPY / ".build/debug/hydrant-model-test"

    def tests(self, expression, mutation, limit):
        name = mutation.name if mutation else None
        return runs.tests(
            COPY, expression, {VARIABLE: name} if name else {}, limit=limit, linger=self.options.linger,
            stops=mutation is not None)

    def run_model(self, mutation, seeds):
        if not self.model.exists():
            return runs.Result("model", note="no model test")
        name = mutation.name if mutation else None
        return runs.model(
            self.model, {VARIABLE: name} if name else {}, sequences=seeds, seed=self.options.seed,
            limit=self.options.limit)

    def attempts(self, mutation):
        """The tests to run, in turn, until one fails."""
        limit = self.options.limit
        if "unit" in self.names:
            wide = UNIT_TESTS.get(mutation.target)
            # Mutations that only a mount shows are not tried elsewhere.
            if mutation.unit:
                yield lambda: self.tests(mutation.unit, mutation, limit)
            if wide and not self.options.quick and not (mutation.mount and self.options.detector is None):
                yield lambda: self.tests(wide, mutation, limit)
        if "model" in self.names and not (mutation.mount and self.options.detector is None):
            yield lambda: self.run_model(mutation, self.options.seeds)
        if "mount" in self.names:
            if mutation.mount:
                yield lambda: self.tests(mutation.mount, mutation, limit)
            if not self.options.quick:
                yield lambda: self.tests(MOUNT_TESTS, mutation, max(limit, 1_200))

    def find(self, mutation):
        results = []
        for attempt in self.attempts(mutation):
            results.append(attempt())
            if results[-1].red:
                break
        return results

    def check_green(self, mutations):
        """Without a mutation all tests must pass; otherwise a failure would mean nothing."""
        say("without a mutation:")
        wide = {UNIT_TESTS.get(m.target, "") for m in mutations} if "unit" in self.names else set()
        expressions = ["|".join(sorted({part for one in wide for part in one.split("|") if part}))] if wide else []
        if "mount" in self.names:
            named = sorted({m.mount for m in mutations if m.mount})
            if named:
                expressions.append("|".join(named))
        results = [self.tests(expression, None, 3_600) for expression in expressions if expression]
        if "model" in self.names:
            results.append(self.run_model(None, self.options.seeds))
        for result in results:
            say(f"  {result}")
        if any(result.red for result in results):
            raise SystemExit("a test fails without a mutation")


def report(rows):
    survivors = []
    print("| mutation | what turned red | after | seconds |")
    print("|---|---|---|---|")
    for mutation, results in rows:
        last = results[-1] if results else runs.Result("nothing was run")
        if last.red:
            red = ", ".join(f"`{name}`" for name in last.red[:3])
            more = f" and {len(last.red) - 3} more" if len(last.red) > 3 else ""
            print(f"| `{mutation.name}` | {red}{more} | {last.after} | {last.seconds:.0f} |")
        else:
            survivors.append(mutation)
            tried = "; ".join(str(result) for result in results).replace("|", " or ")
            print(f"| `{mutation.name}` | **nothing** ({tried}) | | {sum(r.seconds for r in results):.0f} |")
    print(f"\n{len(rows) - len(survivors)} of {len(rows)} mutations turned something red.")
    for mutation in survivors:
        print(f"SURVIVED: {mutation.name}: {mutation.harm} ({mutation.edits[0][0]})")
    return not survivors


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/mutation-test",
        description="Breaks the code in named places, one at a time, and reports which tests fail. Ends with 1 when "
        "a mutation survives.",
    )
    parser.add_argument("-l", "--list", action="store_true", help="print every mutation and its harm, run nothing")
    parser.add_argument("-c", "--check", action="store_true", help="check that every place exists, run nothing")
    parser.add_argument("-o", "--only", action="append", default=[], metavar="NAME", help="only this mutation (or PATTERN*); may be repeated")
    parser.add_argument("-d", "--detector", choices=DETECTORS, help="only these tests (default: each in turn, until one fails)")
    parser.add_argument("-s", "--seed", type=int, default=random.randrange(1 << 32), help="the model test's first seed (default: a new one, which is printed)")
    parser.add_argument("-n", "--seeds", type=int, default=400, help="sequences of the model test (default: 400)")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="simultaneous mutations (default: 1)")
    parser.add_argument("-t", "--limit", type=float, default=300, metavar="SECONDS", help="for one run of tests; a run that does not end counts as failed (default: 300)")
    parser.add_argument("--linger", type=float, default=2, metavar="SECONDS", help="how long to go on after the first failure (default: 2)")
    parser.add_argument("-q", "--quick", action="store_true", help="only the tests that a mutation names")
    parser.add_argument("--skip-build", action="store_true", help="use the last build")
    parser.add_argument("--skip-green", action="store_true", help="do not check first that all tests pass without a mutation")
    return parser.parse_args()


def main():
    options = arguments()
    mutations = load()
    if found := problems(mutations, ROOT):
        for problem in found:
            print(problem, file=sys.stderr)
        raise SystemExit(f"{len(found)} problems in {TABLES.relative_to(ROOT)}")
    if options.only:
        for pattern in options.only:
            if not any(fnmatch.fnmatch(m.name, pattern) for m in mutations):
                raise SystemExit(f"no mutation {pattern}; scripts/mutation-test --list shows all")
        chosen = [m for m in mutations if any(fnmatch.fnmatch(m.name, pattern) for pattern in options.only)]
    else:
        chosen = mutations
    if options.check:
        print(f"{len(mutations)} mutations, and every place exists.")
        return
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name}\n    {mutation.harm}\n    {', '.join(dict.fromkeys(f for f, _, _ in mutation.edits))}")
        return

    say(f"{len(chosen)} mutations, seed {options.seed}")
    SCRATCH.mkdir(exist_ok=True)
    if not options.skip_build:
        copy_tree(mutations)
        build()
    detectors = Detectors(options)
    with runs.cleaning():
        if not options.skip_green:
            detectors.check_green(chosen)
        rows = []
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
            for mutation, results in zip(chosen, pool.map(detectors.find, chosen), strict=True):
                say(f"{mutation.name}: {results[-1] if results else 'nothing to run'}")
                rows.append((mutation, results))
    if not report(rows):
        raise SystemExit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
