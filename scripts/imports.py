"""Checks which target imports which against the design's table, and says each import that breaks it."""

import pathlib
import re
import sys

# Of our own targets, and of packages, what each target may import. What is not listed may not be.
OURS = {
    "CFUSE": [],
    "CLinux": [],
    "FUSE": ["CFUSE"],
    "FileProvider": [],
    "FileProviderTesting": ["FileProvider"],
    "ItemCatalog": ["FileProvider"],
    "ContentStore": ["CLinux"],
    "SyncEngine": ["FileProvider", "ItemCatalog", "ContentStore"],
    "Volume": ["FileProvider", "ItemCatalog", "ContentStore", "SyncEngine"],
    "MountFrontend": ["FUSE", "FileProvider", "ItemCatalog", "SyncEngine", "Volume"],
    "DirectoryProvider": ["CLinux", "FileProvider"],
    "ControlAPI": [],
    "Daemon": [
        "FUSE", "FileProvider", "ItemCatalog", "ContentStore", "SyncEngine", "Volume", "MountFrontend",
        "DirectoryProvider", "ControlAPI",
    ],
    "hydrant": ["Daemon", "ControlAPI"],
}
# Packages that one or few targets keep to themselves.
RESERVED = {
    "GRDB": ["ItemCatalog"],
    "ArgumentParser": ["hydrant"],
    "Crypto": ["SyncEngine"],
    "NIOCore": ["ControlAPI"],
    "NIOPosix": ["ControlAPI", "DirectoryProvider", "SyncEngine"],
}
# What comes with Swift, and is for everyone. FileProvider, the SDK, does without even these.
COMMON = ["Foundation", "Glibc", "Synchronization", "Dispatch", "Logging"]
SDK_COMMON = []

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)"
)


def imports(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := IMPORT.match(line):
            yield number, match[1]


def allowed(target, module):
    if module in OURS:
        return module in OURS[target]
    if module in RESERVED:
        return target in RESERVED[module]
    return module in (SDK_COMMON if target == "FileProvider" else COMMON)


def main():
    problems = []
    for folder in sorted(p for p in pathlib.Path("Sources").iterdir() if p.is_dir()):
        if folder.name not in OURS:
            problems.append(f"{folder}: is not in the table of scripts/imports.py; put it there")
            continue
        for file in sorted(folder.rglob("*.swift")):
            for number, module in imports(file):
                if not allowed(folder.name, module):
                    problems.append(f"{file}:{number}: {folder.name} may not import {module}")
    # A test may look into its target, but what is reserved stays so: no test drives SQLite or libfuse.
    for file in sorted(pathlib.Path("Tests").rglob("*.swift")):
        for number, module in imports(file):
            if module in ("CFUSE", "GRDB"):
                problems.append(f"{file}:{number}: a test may not import {module}")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
