"""Rounds: many programs write, the daemon is killed, the store is mounted again, everything is there."""

import hashlib
import json
import os
import random
import shutil
import signal
import time

import manifest
import shared_lines
from domain import Domain
from manifest import Manifest
from model import Link, Model, digest, scan, shape
from processes import Child, Failure, wait_until
from store_watch import TEMPORARY, StoreWatch
from writer import OtherClient, Writer

# The errors of a program whose daemon is dead: the mount is dead, the request was aborted.
# ENOTCONN, ECONNABORTED, EIO, EINTR, ESHUTDOWN, and of a request in a ring ECANCELED
DEAD = {107, 103, 5, 4, 108, 125}
WRITERS = 3


class Rounds:
    def __init__(self, path, hydrant, seed):
        self.path, self.seed = path, seed
        self.random = random.Random(seed)
        self.domain = Domain(path, hydrant)
        self.store, self.mountpoint = self.domain.store, self.domain.mountpoint
        self.folders = [f"w{number}" for number in range(WRITERS)]
        self.models = {name: Model() for name in [*self.folders, "other"]}
        self.lines, self.maybe_lines = set(), set()
        self.round, self.children = 0, []
        self.read_of_watch = 0
        self.figures = {name: 0 for name in (
            "rounds", "kills", "kills of a recovery", "kills that left programs waiting", "operations", "syncs", "doctor", "contents seen in the store",
            "lines", "conflicted copies", "operations under way")}
        for folder in ("manifest", "staging"):
            os.mkdir(f"{path}/{folder}")
        for folder in self.models:
            os.mkdir(f"{self.store}/{folder}")
        for name in shared_lines.names:
            with open(f"{self.store}/{name}", "wb"):
                pass
        self.watch = Child("the watch of the store", lambda _: StoreWatch(self.store, self.seen).run())

    @property
    def seen(self):
        return self.path + "/manifest/seen"

    # One round

    def run_one(self, is_last):
        self.round += 1
        self.start_programs()
        try:
            time.sleep(self.random.choice((0.005, 0.05, 0.15, 0.4)) * (0.5 + self.random.random()))
            self.domain.kill()
            self.figures["kills"] += 1
            self.collect_programs()
            self.kill_recoveries()
            self.mount()
            self.check_here()
        finally:
            other_status = [child.end() for child in self.others]
        if any(other_status):
            raise Failure("the other client failed; see the lines above")
        self.take_in_others()
        looks_at_state = is_last or self.random.random() < 0.1
        if looks_at_state or self.random.random() < 0.6:
            self.check_store()
        self.check_seen()
        if looks_at_state:
            self.check_state()
        self.figures["rounds"] += 1
        if not is_last:
            self.cut_logs()

    def file(self, name):
        return f"{self.path}/manifest/{name}"

    def start_programs(self):
        self.children, self.others = [], []
        for name in [*self.folders, "other", "lines-mount", "lines-store"]:
            if os.path.exists(self.file(name)):
                os.unlink(self.file(name))
        for folder in self.folders:
            self.children.append(Child(f"the writer in {folder}", self.writer(folder)))
        self.children.append(Child("the appender", self.appender))
        self.children.append(Child("the restless user", self.restless_user))
        self.others = [Child("the other client", self.other_client), Child("the other appender", self.other_appender)]

    def key(self, name):
        return f"{self.seed}.{self.round}.{name}"

    def writer(self, folder):
        def body(told):
            writer = Writer(
                f"{self.mountpoint}/{folder}", self.models[folder], Manifest(self.file(folder)), self.key(folder))
            return self.exit_status(writer.run(told))

        return body

    def exit_status(self, error):
        if error is None or error.errno in DEAD:
            return 0
        print(f"round {self.round}: {error}", flush=True)
        return 1

    def appender(self, told):
        return self.exit_status(
            shared_lines.append_through_mount(
                self.mountpoint, self.key("mount"), Manifest(self.file("lines-mount")), told))

    def other_appender(self, told):
        shared_lines.append_in_store(
            self.store, self.path + "/staging", self.key("store"), Manifest(self.file("lines-store")), told,
            time.sleep)

    def other_client(self, told):
        client = OtherClient(
            f"{self.store}/other", self.models["other"], Manifest(self.file("other")), self.key("other"),
            self.path + "/staging", time.sleep)
        return self.exit_status(client.run(told))

    def restless_user(self, told):
        """Reads, lists, evicts, downloads, pins; its errors do not matter."""
        choose = random.Random(self.key("user"))
        folders = [*self.folders, "other"]
        while not told():
            place = f"{self.mountpoint}/{choose.choice(folders)}"
            try:
                action = choose.choice(("read", "read", "read", "evict", "evict", "download", "pin", "unpin"))
                if action != "read":
                    self.domain.attempt(action, place)
                    continue
                for folder, _, names in os.walk(place):
                    for name in names:
                        if choose.random() < 0.3 and not os.path.islink(os.path.join(folder, name)):
                            with open(os.path.join(folder, name), "rb") as file:
                                file.read()
                os.statvfs(self.mountpoint)
            except FileNotFoundError:
                continue
            except (OSError, Failure):
                return 0
        return 0

    def collect_programs(self):
        if not all(child.ends_within(2) for child in self.children):
            # A thread of the daemon and these programs wait for each other in the kernel: the next mount ends that.
            self.figures["kills that left programs waiting"] += 1
            self.mount()
            for child in self.children:
                child.ends_within(20)
            self.domain.kill()
        # SIGBUS: a mapping whose daemon is dead.
        status = {child.name: child.end(told=False) for child in self.children}
        self.children = []
        if set(status.values()) - {0, -signal.SIGBUS}:
            raise Failure(f"a program got an error that a dead mount does not give: {status}")

    # Mounting

    def options(self):
        choose = self.random.choice
        options, tuning = [], {
            "HYDRANT_SETTLE": choose(("0", "0.02", "0.2")), "HYDRANT_SETTLE_AFTER_SYNC": choose(("0.02", "0.2", "5")),
            "HYDRANT_STOP_PROVIDING": choose(("0.1", "60")), "HYDRANT_PASSTHROUGH": choose("01")}
        # A slow store makes it likelier that an upload or a download is under way at the kill.
        for direction in ("--limit-upload", "--limit-download"):
            if limit := choose((None, "2M", "8M")):
                options += [direction, limit]
        if limit := choose((None, "200K", "3M")):
            options += ["--cache-limit", limit]
        return options, tuning

    def mount(self):
        self.settings = self.options()
        self.domain.mount(*self.settings)

    def kill_recoveries(self):
        if self.random.random() < 0.6:
            return
        for _ in range(self.random.randint(1, 3)):
            daemon = self.domain.begin_mounting(*self.options())
            time.sleep(self.random.choice((0.02, 0.06, 0.2)) * self.random.random())
            daemon.send_signal(signal.SIGKILL)
            daemon.wait(timeout=20)
            self.figures["kills of a recovery"] += 1

    # Checks

    def check_here(self):
        """Right after the mount: exactly the state of the manifest."""
        for folder in self.folders:
            done, pending, _ = manifest.read(self.file(folder))
            model = self.models[folder]
            for op in done:
                model.apply(op)
            self.figures["operations"] += len(done)
            self.figures["operations under way"] += pending is not None
            self.models[folder] = self.choose(folder, model, pending)
            self.models[folder].abandon()
        done, pending, _ = manifest.read(self.file("lines-mount"))
        self.lines |= {op[1] for op in done}
        if pending:
            self.maybe_lines.add(pending[1])

    def choose(self, folder, model, pending):
        """The possible state that the mount shows: before or after the operation under way. A Failure when it shows
        none."""
        root = f"{self.mountpoint}/{folder}"
        problems = []
        for world in model.possible(pending, root):
            problem = difference(world, root)
            if problem is None:
                return world
            problems.append(problem)
        raise Failure(
            f"after the mount {root} is not as written; {pending} was under way:\n"
            + "\n  or\n".join(problems))

    def take_in_others(self):
        done, pending, failure = manifest.read(self.file("other"))
        for op in done:
            self.models["other"].apply(op)
        if pending:
            raise Failure(f"the other client's {pending} failed in the store: {failure}")
        done, pending, _ = manifest.read(self.file("lines-store"))
        self.lines |= {op[1] for op in done}

    def check_store(self):
        """After `hydrant sync` the store has everything, and the mount has the other client's changes."""
        self.domain.sync()
        self.figures["syncs"] += 1
        for folder in self.folders:
            problem = difference_of_store(self.models[folder], f"{self.store}/{folder}")
            if problem:
                raise Failure(f"after sync, in the store's {folder}:\n{problem}")
        problem = difference_of_store(self.models["other"], f"{self.store}/other")
        if problem:
            raise Failure(f"the other client's changes are not in the store any more:\n{problem}")
        wait_until(
            30, "the mount shows the other client's changes",
            lambda: difference(self.models["other"], f"{self.mountpoint}/other"))
        for folder in self.folders:
            problem = difference(self.models[folder], f"{self.mountpoint}/{folder}")
            if problem:
                raise Failure(f"after sync, in the mount's {folder}:\n{problem}")
        self.check_lines()

    def check_lines(self):
        def missing():
            self.domain.sync()
            found, copies = set(), 0
            for name in os.listdir(self.store):
                path = f"{self.store}/{name}"
                if os.path.isdir(path) or is_draft(name):
                    continue
                names = shared_lines.lines(shared_lines.read(path))
                if names is None:
                    raise Failure(f"{path}: has contents that no program wrote")
                found |= set(names)
                copies += name not in shared_lines.names
            self.figures["conflicted copies"] = max(self.figures["conflicted copies"], copies)
            gone = self.lines - found
            return f"in no document and no copy: {sorted(gone)}" if gone else None

        problem = missing()
        if problem:
            raise Failure(f"lines are lost:\n{problem}")
        self.figures["lines"] = len(self.lines)
        wait_until(20, "mount and store have the same documents", self.difference_of_lines)
        self.tidy_up_lines()

    def difference_of_lines(self):
        """The daemon learns of the other client's last changes a moment later, and `hydrant sync` does not wait for
        that: `hydrant doctor` would report the versions that they replaced."""
        try:
            found, wanted = self.top_level(self.mountpoint), self.top_level(self.store)
        except FileNotFoundError as error:
            return f"{error.filename}: was listed, but is missing"
        return None if found == wanted else f"{self.mountpoint}: has {found}, should have {wanted}"

    def top_level(self, root):
        """The names, with the sizes of the documents that only grow or are emptied."""
        return {
            name: os.path.getsize(f"{root}/{name}") if name in shared_lines.names else None
            for name in os.listdir(root) if not TEMPORARY.fullmatch(name)}

    def tidy_up_lines(self):
        """The other client has looked at the copies, and at long files; no other program is running."""
        copies = [
            name for name in os.listdir(self.store)
            if name not in (*self.models, *shared_lines.names) and not TEMPORARY.fullmatch(name)]
        long = [name for name in shared_lines.names if os.path.getsize(f"{self.store}/{name}") > 30_000]
        if len(copies) < 10 and not long:
            return
        for name in copies:
            os.unlink(f"{self.store}/{name}")
        for name in long:
            with open(f"{self.path}/staging/empty", "wb"):
                pass
            os.replace(f"{self.path}/staging/empty", f"{self.store}/{name}")
        self.lines = {
            line for name in shared_lines.names for line in shared_lines.lines(shared_lines.read(f"{self.store}/{name}"))}
        self.domain.sync()
        wait_until(20, "the mount shows what the other client has removed and emptied", self.difference_of_lines)

    def check_seen(self):
        """No half-written content was ever in the store."""
        finished = {name: model.finished for name, model in self.models.items()}
        with open(self.seen, "rb") as file:
            file.seek(self.read_of_watch)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.read_of_watch += len(whole)
        for line in whole.splitlines():
            path, size, content, is_lines = json.loads(line)
            self.figures["contents seen in the store"] += 1
            folder = path.split("/")[0]
            if content in finished.get(folder, ()) or (folder not in finished and is_lines):
                continue
            raise Failure(f"the store had {path} of {size} bytes ({content}), which no program had finished writing")

    def check_state(self):
        """Doctor finds no fault, and the provider leaves nothing in the store."""
        self.domain.sync()
        self.domain.unmount()
        status, output = self.domain.attempt("doctor", "--store", self.domain.state)
        if status != 0:
            raise Failure(f"hydrant doctor found faults:\n{output}")
        self.figures["doctor"] += 1
        self.mount()
        # A killed daemon's drafts are removed when the store's folder is listed again.
        wait_until(20, "no draft is left in the store", self.poke_drafts)

    def poke_drafts(self):
        drafts = [
            os.path.join(folder, name) for folder, _, names in os.walk(self.store) for name in names
            if is_draft(name)]
        for path in drafts:
            poke = os.path.join(os.path.dirname(path), "poke")
            with open(poke, "wb"):
                pass
            os.unlink(poke)
            time.sleep(0.1)
        return None if not drafts else "\n".join(drafts)

    def cut_logs(self):
        if self.round % 20 == 0:
            for log in (self.domain.log, self.path + "/log/foreground.log"):
                if os.path.exists(log):
                    os.truncate(log, 0)

    # The end

    def take_down(self):
        self.domain.abort()
        for child in [*self.children, *getattr(self, "others", []), self.watch]:
            child.kill()
        self.domain.take_down()

    def remove(self):
        shutil.rmtree(self.path)


def is_draft(name):
    """A draft of an upload that a killed daemon did not finish. (A file set aside may be the only copy of a
    document.)"""
    return TEMPORARY.fullmatch(name) is not None and name.startswith(".hydrant-n")


def difference(model, root):
    """None when `root` has exactly the model's state."""
    try:
        return compare(model, root)
    except FileNotFoundError as error:
        return f"{error.filename}: was listed, but is missing"


def compare(model, root):
    found, wanted = scan(root), model.listing()
    if found != wanted:
        return named(found, wanted, root)
    for path in model.files():
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        if data != model.tree[path].data:
            return f"{root}/{path}: wrong bytes ({about(data, model.tree[path].data)})"
    return None


def difference_of_store(model, root):
    """As difference(), for a store: of a file with several names it has one, and drafts do not count."""
    found = {path: what for path, what in scan(root).items() if not TEMPORARY.fullmatch(os.path.basename(path))}
    wanted = model.listing()
    for file in {id(node): node for node in model.tree.values() if hasattr(node, "data")}.values():
        names = model.names_of(file)
        there = [name for name in names if name in found]
        for name in names:
            if len(there) == 1 and name != there[0]:
                del wanted[name]
    if found != wanted:
        return named(found, wanted, root)
    for path in wanted:
        node = model.tree[path]
        if hasattr(node, "data"):
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
            if data != node.data:
                return f"{root}/{path}: wrong bytes ({about(data, node.data)})"
    return None


def named(found, wanted, root):
    lines = []
    for path in sorted({*found, *wanted}):
        if found.get(path) != wanted.get(path):
            lines.append(f"{root}/{path}: is {found.get(path, 'missing')}, should be {wanted.get(path, 'absent')}")
    return "\n".join(lines[:20])


def about(found, wanted):
    first = next((place for place, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
    return f"{len(found)} bytes, {digest(found)[:12]}; should be {digest(wanted)[:12]}; the first other at {first}"
