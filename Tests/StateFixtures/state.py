"""State directories of older versions, as text: catalog, content and store.

Making one (before a new migration is written, with a build that has the schema that is to be kept):

    python3 Tests/StateFixtures/state.py make .build/debug/hydrant Tests/StateFixtures/state-N.json

It mounts a store, leaves changes of every kind pending, kills the daemon, and writes down what lies there. state-1 and
state-2 are state-3 without the columns and tables that those versions did not have (`cut`, by the schemas of
Tests/ItemCatalogTests/Fixtures, which are theirs):

    python3 Tests/StateFixtures/state.py cut state-3.json Tests/ItemCatalogTests/Fixtures/catalog-2.sql state-2.json

Restoring one makes STORE and STATE; inode numbers and birth times, by which the directory provider knows its items, are
those of the new files, and the daemon was killed in this boot of the machine (after another one, what was not safe on the
disk would be kept aside):

    python3 Tests/StateFixtures/state.py restore state-N.json STORE STATE
"""

import base64
import ctypes
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zlib

libc = ctypes.CDLL(None, use_errno=True)


def identity(path):
    """`INODE:BIRTH`, as the directory provider has it (statx(2))."""
    buffer = ctypes.create_string_buffer(256)
    at_cwd, no_follow, basic_and_birth = -100, 0x100, 0xFFF
    if libc.statx(at_cwd, os.fsencode(path), no_follow, basic_and_birth, buffer) != 0:
        raise OSError(ctypes.get_errno(), path)
    inode = struct.unpack_from("=Q", buffer, 32)[0]
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, 80)
    # As the provider writes it: without zeros before the nanoseconds.
    return f"{inode}:{seconds}.{nanoseconds}"


def boot():
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def everything(root):
    for folder, folders, names in os.walk(root):
        for name in sorted(folders + names):
            yield os.path.relpath(os.path.join(folder, name), root)


# Making


def make(hydrant, target):
    with tempfile.TemporaryDirectory(prefix="hydrant-state-", dir="/tmp") as path:
        store, state, mount = path + "/store", path + "/state", path + "/mnt"
        for folder in (store, mount, path + "/run", path + "/log", store + "/folder"):
            os.mkdir(folder, 0o755)
        for name in ("kept", "edited", "renamed", "deleted", "pinned", "both", "folder/inner"):
            with open(f"{store}/{name}.txt", "w") as file:
                file.write(f"{name} as it was\n")
        with open(f"{store}/partial.bin", "wb") as file:
            file.write(bytes(range(256)) * 1200)
        environment = dict(os.environ) | {
            "XDG_RUNTIME_DIR": path + "/run", "XDG_STATE_HOME": path + "/log", "HYDRANT_SETTLE": "3600",
            "HYDRANT_SETTLE_AFTER_SYNC": "3600"}

        def run(*command):
            return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

        pid = json.loads(run(hydrant, "mount", "dir:" + store, mount, "--state-dir", state, "--json"))["pid"]
        try:
            run("bash", "-c", f"cd {mount}; ls -lR; cat edited.txt both.txt; head -c 10 partial.bin")
            run(hydrant, "pin", "--wait", mount + "/pinned.txt")
            # A conflict that nobody has resolved.
            run("bash", "-c", f"echo mine >> {mount}/both.txt; echo theirs >> {store}/both.txt")
            run(hydrant, "sync", mount)
            run("bash", "-c", f"""cd {mount}
                echo changed >> edited.txt; echo new > new.txt; mv renamed.txt folder/moved.txt; rm deleted.txt
                mkdir made; echo inner > made/inner.txt; mv folder folder2; echo 0 > cut.txt; truncate -s 0 cut.txt""")
            writer = os.open(mount + "/kept.txt", os.O_WRONLY | os.O_APPEND)
            os.write(writer, b"never closed\n")
            os.kill(pid, signal.SIGKILL)
        finally:
            time.sleep(0.5)
            subprocess.run(["umount", "-l", mount], check=False)
        write(target, look(store, state))


def look(store, state):
    places = {identity(os.path.join(store, path)): path for path in everything(store)}
    places[identity(store)] = ""

    def general(value):
        """Texts with the identities of the store's items as {{path}}."""
        if isinstance(value, bytes):
            try:
                text = value.decode()
            except UnicodeDecodeError:
                return {"hex": value.hex()}
            other = named(text)
            return {"bytes": other} if text.isprintable() else {"hex": value.hex()}
        return named(value) if isinstance(value, str) else value

    def named(text):
        for number, path in places.items():
            text = text.replace(number, "{{" + path + "}}")
        # When a file of the store's last changed nobody can set: as one of which that is not known.
        text = re.sub(r"^c\d+\.\d+(:[0-9a-f]{32})? ", " ", text)
        return text.replace(store, "{{STORE}}").replace(boot(), "{{BOOT}}")

    database = sqlite3.connect(state + "/catalog.sqlite")
    schema = [sql for (sql,) in database.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'index', rowid")]
    tables = {}
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
        rows = database.execute(f"SELECT {', '.join(columns)} FROM {name}").fetchall()
        tables[name] = {"columns": columns, "rows": [[general(value) for value in row] for row in rows]}
    database.close()
    return {"schema": schema, "tables": tables, "store": files(store), "content": files(state + "/content")}


def files(root):
    found = []
    for path in everything(root):
        full = os.path.join(root, path)
        status = os.lstat(full)
        entry = {"path": path, "mode": status.st_mode & 0o7777, "modified": status.st_mtime_ns}
        if not os.path.isdir(full):
            with open(full, "rb") as file:
                data = file.read()
            entry["bytes"] = base64.b64encode(zlib.compress(data, 9)).decode()
        found.append(entry)
    return found


# Cutting down


def cut(source, catalog, target):
    with open(source) as file:
        state = json.load(file)
    with open(catalog) as file:
        old = sqlite3.connect(":memory:")
        old.executescript(file.read())
    migrations = [row[0] for row in old.execute("SELECT identifier FROM grdb_migrations ORDER BY rowid")]
    state["schema"] = [sql for (sql,) in old.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'index', rowid")]
    tables = {}
    for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in old.execute(f"PRAGMA table_info({name})")]
        now = state["tables"].get(name, {"columns": [], "rows": []})
        kept = [index for index, column in enumerate(now["columns"]) if column in columns]
        tables[name] = {
            "columns": [now["columns"][index] for index in kept],
            "rows": [[row[index] for index in kept] for row in now["rows"]]}
    tables["grdb_migrations"]["rows"] = [[name] for name in migrations]
    state["tables"] = tables
    write(target, state)


def write(target, state):
    with open(target, "w") as file:
        file.write(compact(state))


def compact(state):
    """JSON with a line for each row and each file."""

    def lines(values):
        return "[\n" + ",\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"

    tables = ",\n".join(
        f'{json.dumps(name)}: {{"columns": {json.dumps(table["columns"])}, "rows": {lines(table["rows"])}}}'
        for name, table in state["tables"].items())
    return (f'{{"schema": {lines(state["schema"])},\n"tables": {{{tables}}},\n"store": {lines(state["store"])},\n'
            f'"content": {lines(state["content"])}}}\n')


# Restoring


def restore(source, store, state):
    with open(source) as file:
        kept = json.load(file)
    os.makedirs(store, exist_ok=True)
    os.makedirs(state, 0o700, exist_ok=True)
    put(kept["store"], store)
    put(kept["content"], state + "/content")
    identities = {path: identity(os.path.join(store, path)) for path in everything(store)} | {"": identity(store)}

    def special(value):
        if isinstance(value, dict) and "hex" in value:
            return bytes.fromhex(value["hex"])
        if isinstance(value, dict):
            return special(value["bytes"]).encode()
        if not isinstance(value, str):
            return value
        for path, number in identities.items():
            value = value.replace("{{" + path + "}}", number)
        return value.replace("{{STORE}}", store).replace("{{BOOT}}", boot())

    database = sqlite3.connect(state + "/catalog.sqlite")
    database.execute("PRAGMA journal_mode = WAL")
    for sql in kept["schema"]:
        database.execute(sql)
    for name, table in kept["tables"].items():
        if name == "sqlite_sequence":
            database.execute("DELETE FROM sqlite_sequence")
        columns, marks = ", ".join(table["columns"]), ", ".join("?" * len(table["columns"]))
        for row in table["rows"]:
            database.execute(f"INSERT INTO {name} ({columns}) VALUES ({marks})", [special(value) for value in row])
    database.commit()
    database.close()


def put(entries, root):
    os.makedirs(root, 0o700, exist_ok=True)
    for entry in entries:
        full = os.path.join(root, entry["path"])
        if "bytes" in entry:
            with open(full, "wb") as file:
                file.write(zlib.decompress(base64.b64decode(entry["bytes"])))
        else:
            os.makedirs(full, exist_ok=True)
        os.chmod(full, entry["mode"])
    for entry in reversed(entries):
        os.utime(os.path.join(root, entry["path"]), ns=(entry["modified"], entry["modified"]))


if __name__ == "__main__":
    {"make": make, "cut": cut, "restore": restore}[sys.argv[1]](*sys.argv[2:])
