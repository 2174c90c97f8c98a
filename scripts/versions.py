"""The tested versions of dependencies: .ci/versions.txt, compared with those of this build.

    python3 scripts/versions.py           prints the differences; ends with 1 when a Swift package differs
    python3 scripts/versions.py --write   after all tests passed: records the versions of this build
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTED = ROOT / ".ci/versions.txt"
LIBRARIES = ["fuse3", "sqlite3", "libzip", "expat", "ncursesw", "libpng", "libturbojpeg", "gio-unix-2.0", "liburing",
             "libcrypto"]


def printed(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
    except OSError:
        return ""


def used():
    resolved = ROOT / "Package.resolved"
    if not resolved.exists():
        sys.exit("versions: there is no Package.resolved; build first")
    found = {}
    for pin in json.loads(resolved.read_text())["pins"]:
        state = pin["state"]
        found[f"package {pin['identity']}"] = state.get("version") or state.get("revision") or "?"
    for library in LIBRARIES:
        found[f"library {library}"] = printed("pkg-config", "--modversion", library) or "none"
    swift = re.search(r"Swift version (\S+)", printed("swift", "--version"))
    found["swift"] = swift[1] if swift else "?"
    return found


def main():
    now = used()
    if sys.argv[1:] == ["--write"]:
        TESTED.write_text("".join(f"{name} {version}\n" for name, version in sorted(now.items())))
        return
    tested = dict(line.rsplit(" ", 1) for line in TESTED.read_text().splitlines())
    wrong = 0
    for name in sorted(set(now) | set(tested)):
        if now.get(name) != tested.get(name):
            isPackage = name.startswith("package ")
            wrong += isPackage
            print(f"versions: {name}: tested {tested.get(name, 'never')}, here {now.get(name, 'none')}", file=sys.stderr)
    if wrong:
        sys.exit("versions: run scripts/test with these versions, then: python3 scripts/versions.py --write")


main()
