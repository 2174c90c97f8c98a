"""Checks the imports of every target against the design's table, and reports each forbidden one."""

import pathlib
import re
import sys

# The modules, of ours and of packages, that each target may import. All others are forbidden.
OURS = {
    "CFUSE": [],
    "CURing": [],
    "CLinux": [],
    "CSQLite": [],
    "CZip": [],
    "CExpat": [],
    "CSecret": [],
    "CNcurses": [],
    "CGIO": [],
    "Surroundings": [],
    "ChildProcess": ["CLinux"],
    "CPictures": [],
    "Pictures": ["CPictures"],
    "Accounts": ["CSecret", "ChildProcess", "HTTPTransport", "Surroundings"],
    "FUSE": ["CFUSE", "CURing", "CLinux", "Locking", "Surroundings"],
    "PassthroughHelper": [],
    "Locking": [],
    "Waiting": [],
    "COpenSSL": [],
    "Hashing": ["COpenSSL", "FileProvider"],
    "FileProvider": [],
    "FileProviderTesting": ["FileProvider", "Waiting"],
    "Trees": ["FileProvider", "Locking", "Surroundings"],
    "ItemCatalog": ["CLinux", "CSQLite", "FileProvider", "Locking", "Trees"],
    "ContentStore": ["CLinux", "Locking", "Surroundings"],
    "SyncEngine": [
        "CLinux", "FileProvider", "Hashing", "ItemCatalog", "Trees", "ContentStore", "Locking", "Surroundings",
        "Waiting",
    ],
    "Volume": ["FileProvider", "ItemCatalog", "Trees", "ContentStore", "Locking", "SyncEngine"],
    "MountFrontend": ["FUSE", "FileProvider", "ItemCatalog", "Trees", "SyncEngine", "Volume"],
    "DirectoryProvider": ["CLinux", "FileProvider", "Hashing", "Surroundings"],
    "HTTPTransport": ["FileProvider", "Waiting"],
    "XMLStream": ["CExpat"],
    "WebDAVProvider": ["FileProvider", "HTTPTransport", "Hashing", "Surroundings", "Waiting", "XMLStream"],
    "S3Provider": [
        "ChildProcess", "FileProvider", "HTTPTransport", "Hashing", "Surroundings", "UniformTypes", "XMLStream",
    ],
    "RcloneProvider": ["CLinux", "FileProvider", "HTTPTransport", "Hashing", "Surroundings", "Waiting"],
    "ProcessProvider": ["CLinux", "FileProvider", "Surroundings", "Waiting"],
    # (In Python.)
    "PythonProvider": [],
    "ControlAPI": ["CLinux", "QueryLanguage", "Surroundings"],
    "Coordination": [],
    "UniformTypes": ["Surroundings"],
    "QueryLanguage": ["UniformTypes"],
    "ItemSearch": ["FileProvider", "ItemCatalog", "Trees", "QueryLanguage", "Surroundings", "UniformTypes"],
    "FileCoordination": ["ControlAPI", "Coordination", "Surroundings"],
    "DocumentContainers": ["CLinux", "ControlAPI", "Surroundings", "UniformTypes"],
    "MetadataQuery": ["ControlAPI", "DocumentContainers", "FileCoordination", "QueryLanguage", "UniformTypes"],
    "Documents": [
        "CLinux", "ControlAPI", "FileCoordination", "MetadataQuery", "Surroundings", "UniformTypes", "Waiting",
    ],
    "DocumentPicker": [
        "CLinux", "ChildProcess", "ControlAPI", "DocumentContainers", "FileCoordination", "Surroundings", "UniformTypes",
    ],
    "DocumentInteraction": [
        "CGIO", "CLinux", "ChildProcess", "ControlAPI", "FileCoordination", "MetadataQuery", "Surroundings",
        "UniformTypes",
    ],
    "SessionBus": ["CGIO"],
    "Notices": ["ControlAPI", "SessionBus", "Surroundings"],
    "TerminalPicker": ["CNcurses", "DocumentPicker", "Surroundings"],
    "DocumentServices": [
        "FUSE", "FileProvider", "ItemCatalog", "ContentStore", "SyncEngine", "Volume", "MountFrontend",
        "ChildProcess", "CLinux", "ControlAPI", "Coordination", "Hashing", "ItemSearch", "QueryLanguage",
        "Surroundings", "Trees", "UniformTypes", "Waiting",
    ],
    "Daemon": [
        "FUSE", "FileProvider", "ItemCatalog", "ContentStore", "SyncEngine", "Volume", "MountFrontend",
        "ChildProcess", "CLinux", "ControlAPI", "DocumentServices", "Hashing", "Pictures", "Surroundings", "Trees",
        "UniformTypes",
    ],
    "Stores": [
        "Accounts", "CLinux", "Daemon", "DirectoryProvider", "FileProvider", "HTTPTransport", "ProcessProvider",
        "RcloneProvider", "S3Provider", "Surroundings", "WebDAVProvider",
    ],
    "FileManagers": ["Surroundings"],
    "hydrant": [
        "Accounts", "ChildProcess", "CLinux", "Daemon", "ControlAPI", "DocumentContainers", "DocumentInteraction", "DocumentPicker",
        "FileCoordination", "FileManagers", "FileProvider", "FileProviderTesting", "HTTPTransport", "MetadataQuery", "Notices", "Pictures",
        "ProcessProvider", "QueryLanguage", "SessionBus", "Stores", "TerminalPicker", "Surroundings", "UniformTypes",
    ],
    "WebPage": ["CLinux", "ControlAPI", "QueryLanguage", "Surroundings"],
    "hydrant-web": ["WebPage"],
    "ZipProvider": ["CZip", "Daemon", "FileProvider"],
    "Examples": [
        "Daemon", "DocumentContainers", "DocumentInteraction", "DocumentPicker", "Documents", "FileCoordination",
        "FileProvider", "MetadataQuery", "QueryLanguage", "UniformTypes",
    ],
}
# Packages for one or few targets only.
RESERVED = {
    "GRDB": ["ItemCatalog"],
    "GRDBSQLite": ["ItemCatalog"],
    "ArgumentParser": ["hydrant"],
    "TOMLKit": ["Accounts", "DocumentContainers", "DocumentInteraction", "DocumentPicker"],
    "AsyncHTTPClient": ["HTTPTransport"],
    "NIOSSL": ["HTTPTransport"],
    "NIOHTTP1": ["HTTPTransport", "S3Provider", "WebPage"],
    "NIOWebSocket": ["HTTPTransport"],
    "NIOCore": ["ControlAPI", "HTTPTransport", "ProcessProvider", "RcloneProvider", "S3Provider", "WebDAVProvider", "WebPage"],
    "NIOPosix": [
        "ControlAPI", "DirectoryProvider", "DocumentContainers", "DocumentInteraction", "DocumentPicker", "Documents",
        "FileCoordination", "HTTPTransport", "ProcessProvider", "RcloneProvider", "S3Provider", "SyncEngine",
        "WebPage",
    ],
}
# Modules that no test may import, with the target of tests that is exempt: it examines what SQLite writes.
CLOSED_TO_TESTS = {"CFUSE": [], "GRDB": ["ItemCatalogTests"]}
# Modules of Swift, allowed everywhere. FileProvider, the SDK, imports only Foundation's URL of these.
COMMON = ["Foundation", "Glibc", "Synchronization", "Dispatch", "Logging"]
SDK_COMMON = ["Foundation"]

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
            problems.append(f"{folder}: is not in the table of scripts/imports.py; add it there")
            continue
        # The example's manifest is a separate program.
        for file in sorted(f for f in folder.rglob("*.swift") if f.name != "Package.swift"):
            for number, module in imports(file):
                if file.name != "Package.swift" and not allowed(folder.name, module):
                    hint = ""
                    if folder.name == "Examples" and "Test" in module:
                        hint = "; the tests of examples are in Tests/DaemonTests"
                    problems.append(f"{file}:{number}: {folder.name} may not import {module}{hint}")
    # A test may import its target's internals, but reserved modules stay reserved.
    for file in sorted(pathlib.Path("Tests").rglob("*.swift")):
        for number, module in imports(file):
            if module in CLOSED_TO_TESTS and file.parts[1] not in CLOSED_TO_TESTS[module]:
                problems.append(f"{file}:{number}: a test may not import {module}")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
