"""What the imitation of Nextcloud has beside documents: its capabilities, the sign-in with a browser (Login Flow v2), app
passwords, previews, the locks of the app files_lock, and the WebSocket of the app notify_push.

A test changes these by files in ROOT.state, which are read anew for each request:
  capabilities.json  {"files": {…}, …}, added to the capabilities; "notify_push": true stands for that app
  locks.json         {"folder/document": {"owner": "bob", "name": "Bob", "type": 0}}
  flow.json          changes of the answer that begins the sign-in, and of the one that ends it; "alias": another login
                     name of the user, good with app passwords
  user.json          {"status": 403}, of the question who has signed in; {"held": true}: its answer waits until this goes,
                     and asked.json is a list with an element for each that waits
  shares.json        {"xml": true}: as ownCloud 10, JSON only for format=json; {"ignores": ["password"]}: terms of new links
  versions.json      {"1700000000": {"version-label": "…", "version-author": "…"}}, by the second of the version's date
  push.json          {"answer": "err: …"}: what the WebSocket says to a right password; answered.json has an element for each"""
import base64, contextlib, hashlib, html, json, os, secrets, select, struct, time, zlib
from urllib.parse import parse_qs, urlsplit

JSON, PAGE = ("Content-Type", "application/json; charset=utf-8"), ("Content-Type", "text/html; charset=UTF-8")
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
PATIENCE = 15  # seconds, for the name and the password on a WebSocket

def ocs(data, status=200):
    return status, [JSON], json.dumps({"ocs": {"meta": {"status": "ok" if status == 200 else "failure",
                                                        "statuscode": status}, "data": data}}).encode()

class Live:
    """For the handler of requests."""

    # What tests write

    def told(self, name):
        with contextlib.suppress(OSError, ValueError), open(f"{self.store.state}/{name}.json") as file:
            return json.load(file)
        return {}

    def noted(self, name, change=None):
        """A JSON list that survives a restart."""
        with self.store.lock:
            path, items = f"{self.store.state}/{name}.json", self.told(name) or []
            if change:
                change(items)
                with open(path + ".new", "w") as file:
                    json.dump(items, file)
                os.replace(path + ".new", path)
            return items

    # Requests

    def origin(self, scheme="http"):
        return f"{scheme}{'s' if self.server.is_secure else ''}://{self.headers.get('Host')}"

    def is_signed_in(self):
        kind, _, login = self.headers.get("Authorization", "").partition(" ")
        user, _, password = base64.b64decode(login + "==").decode().partition(":")
        return self.headers.get("Authorization") == self.server.login or (
            kind == "Basic" and user in (self.server.user, self.told("flow").get("alias"))
            and password in self.noted("app-passwords"))

    def open_page(self, url, method):
        """Pages that need no password; nil: none of them."""
        if url.endswith("/cloud/capabilities") and method == "get":
            status = self.told("capabilities").get("status", 200)
            return self.capabilities(url) if status == 200 else (status, [PAGE], b"<h1>This did not go well</h1>")
        if url in ("/index.php/login/v2", "/login/v2") and method == "post":
            return self.begin_flow()
        if url in ("/index.php/login/v2/poll", "/login/v2/poll") and method == "post":
            return self.poll()
        if url.startswith("/index.php/login/v2/flow/"):
            return self.grant(url.rpartition("/")[2], method)
        if url == "/push/ws" and self.headers.get("Upgrade", "").lower() == "websocket":
            return self.push()

    def own_page(self, url, method):
        """Pages of the user."""
        if url == "/ocs/v2.php/cloud/user" and method == "get":
            if self.told("user").get("held"):
                self.noted("asked", lambda known: known.append(1))
            while self.told("user").get("held"):
                time.sleep(0.02)
            if (status := self.told("user").get("status", 200)) != 200:
                return ocs([], status)
            return ocs({"id": self.server.user, "display-name": self.server.user.title()})
        if url == "/ocs/v2.php/core/apppassword" and method == "delete":
            if self.headers.get("OCS-APIRequest") != "true":
                return ocs([], 412)
            password = base64.b64decode(self.headers["Authorization"].split(" ")[1]).decode().partition(":")[2]
            if password not in self.noted("app-passwords"):
                return ocs([], 403)  # the user's own password
            self.noted("app-passwords", lambda known: known.remove(password))
            return ocs([])

    def capabilities(self, url):
        code, more = (200, self.told("capabilities")) if "v2.php" in url else (100, self.told("capabilities"))
        about = {"files": {"bigfilechunking": True} | more.pop("files", {})}
        if more.pop("notify_push", False):
            about["notify_push"] = {"type": ["files", "activities", "notifications"], "endpoints": {
                "websocket": self.origin("ws") + "/push/ws",
                "pre_auth": self.origin() + "/index.php/apps/notify_push/pre_auth"}}
        data = {"version": {"major": 34, "string": "34.0.1"}, "capabilities": about | more}
        return 200, [JSON], json.dumps({"ocs": {"meta": {"status": "ok", "statuscode": code}, "data": data}}).encode()

    def rule(self, name):
        """Why the rules of the capabilities refuse a new name (Nextcloud 30, FilenameValidator)."""
        files, plain = self.told("capabilities").get("files", {}), name.lower()
        stem = plain[:1] + plain[1:].partition(".")[0]
        ending = next((one for one in files.get("forbidden_filename_extensions", []) if plain.endswith(one)), None)
        return ("Filename is a reserved word" if plain in files.get("forbidden_filenames", files.get("blacklisted_files", []))
                or stem in files.get("forbidden_filename_basenames", []) else
                "Filename contains at least one invalid character"
                if set(name) & set(files.get("forbidden_filename_characters", [])) else
                f'Filenames must not end with "{ending}".' if ending else "")

    # The sign-in

    def begin_flow(self):
        list(self.blocks())
        token, page = secrets.token_urlsafe(96), secrets.token_urlsafe(96)
        self.server.flows[token] = {"page": page, "agent": self.headers.get("User-Agent", ""), "granted": None}
        answer = {"poll": {"token": token, "endpoint": self.origin() + "/login/v2/poll"},
                  "login": f"{self.origin()}/index.php/login/v2/flow/{page}"}
        return 200, [JSON], json.dumps(answer | self.told("flow").get("begin", {})).encode()

    def poll(self):
        token = parse_qs(b"".join(self.blocks()).decode()).get("token", [""])[0]
        flow = self.server.flows.get(token)
        if not flow or not flow["granted"]:
            return 404, [JSON], b"[]"
        del self.server.flows[token]  # an answer comes once
        return 200, [JSON], json.dumps(flow["granted"]).encode()

    def grant(self, page, method):
        """What a user does in the browser: signs in (by the test: always), and presses a button."""
        list(self.blocks())
        flow = next((flow for flow in self.server.flows.values() if flow["page"] == page), None)
        if not flow:
            return 403, [PAGE], b"<h1>Your login token is invalid or has expired</h1>"
        if method == "get":
            text = f"<h1>Connect to your account</h1><p>{html.escape(flow['agent'])}</p><form method=post><button>Grant access"
            return 200, [PAGE], text.encode()
        password = secrets.token_urlsafe(54)
        self.noted("app-passwords", lambda known: known.append(password))
        flow["granted"] = {"server": self.origin(), "loginName": self.server.user,
                           "appPassword": password} | self.told("flow").get("end", {})
        return 200, [PAGE], b"<h1>Account connected</h1>"

    # Locks

    def lock_of(self, path):
        return self.told("locks").get(path.partition("/")[2])

    def lock_properties(self, path):
        if not self.told("capabilities").get("files", {}).get("locking"):
            return {}
        lock, space = self.lock_of(path), "{http://nextcloud.org/ns}"
        if not lock:
            return {space + "lock": ""}
        owner = {space + "lock-owner": html.escape(lock["owner"])} if lock.get("type", 0) != 1 else {}  # (no app's)
        return owner | {
            space + "lock": 1, space + "lock-owner-type": lock.get("type", 0), space + "lock-time": int(time.time()),
            space + "lock-owner-displayname": html.escape(lock.get("name", lock["owner"]))}

    def take_locks(self):
        """A lock, and its end, give the document and the folders above it another ETag."""
        locks, store = self.told("locks"), self.store
        with store.using():
            old, self.server.locks = self.server.locks, locks
            changed = [f"files/{path}" for path in old.keys() | locks.keys() if old.get(path) != locks.get(path)]
            changed = [path for path in changed if path in store.nodes]
            for path in changed:
                store.nodes[path].etag = secrets.token_hex(16)
            store.touched(changed)

    def is_locked(self, path):
        lock = self.lock_of(path)
        return lock is not None and (lock.get("type", 0) != 0 or lock["owner"] != self.server.user)

    # Previews

    def preview(self, wanted):
        """Of PNG pictures, and without a picture library: all of one colour."""
        with self.store.using():
            found = [path for path, node in self.store.nodes.items()
                     if str(node.id) == wanted.get("fileId") and path.startswith("files/") and path.endswith(".png")]
            head = b""
            if found:
                with open(self.store.disk(found[0]), "rb") as file:
                    head = file.read(24)
        if head[:8] != b"\x89PNG\r\n\x1a\n":
            return 404, [JSON], b"[]"
        sides = [max(1, min(int(wanted[name]), int.from_bytes(head[at:at + 4], "big"))) for name, at in (("x", 16), ("y", 20))]
        rows = (b"\0" + b"\x40\x80\xc0" * sides[0]) * sides[1]
        chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        picture = chunk(b"IHDR", struct.pack(">2I5B", *sides, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
        return 200, [("Content-Type", "image/png")], head[:8] + picture

    # The WebSocket

    def push(self):
        key = hashlib.sha1((self.headers.get("Sec-WebSocket-Key", "") + MAGIC).encode()).digest()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", base64.b64encode(key).decode())):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        socket = Socket(self.connection)
        with contextlib.suppress(OSError, ValueError):
            self.converse(socket)
        return ()

    def converse(self, socket):
        user, password = socket.read(PATIENCE), socket.read(PATIENCE)
        if user is None or password is None:
            return socket.send("Authentication timeout")
        if user != self.server.user or password not in [self.server.password, *self.noted("app-passwords")]:
            return socket.send("err: Invalid credentials")
        if (answer := self.told("push").get("answer")):
            self.noted("answered", lambda known: known.append(1))
            return socket.send(answer)
        seen, names = self.news(), False
        socket.send("authenticated")
        while not socket.is_closed:
            names |= socket.read(0.05) == "listen notify_file_id"
            now = self.news()
            changed = sorted({number for number, _ in seen.items() ^ now.items()})
            seen = now
            if changed:
                socket.send(f"notify_file_id {json.dumps(changed)}" if names else "notify_file")

    def news(self):
        """The number of each item, with what changes with it. (Folders are named when they are moved only.)"""
        self.take_locks()
        with self.store.using():
            return {node.id: (path, "" if node.is_folder else f"{node.etag} {node.size}")
                    for path, node in self.store.nodes.items() if path.startswith("files/")}

class Socket:
    """Frames of a WebSocket, from the server's side."""

    def __init__(self, connection):
        self.connection, self.arrived, self.is_closed = connection, b"", False

    def read(self, seconds):
        """A text; None: none came in time, or the client has gone."""
        deadline = time.monotonic() + seconds
        while not self.is_closed:
            is_there = self.arrived or hasattr(self.connection, "pending") and self.connection.pending()
            if not is_there and not select.select([self.connection], [], [], max(0, deadline - time.monotonic()))[0]:
                return None
            kind, text = self.frame()
            if kind == TEXT:
                return text.decode()
            if kind == PING:
                self.write(PONG, text)
            elif kind == CLOSE:
                self.is_closed = True
                self.write(CLOSE, text)

    def frame(self):
        first, second = self.exactly(2)
        length = second & 127
        length = struct.unpack(">H", self.exactly(2))[0] if length == 126 else length
        length = struct.unpack(">Q", self.exactly(8))[0] if length == 127 else length
        if not second & 128 or length > 1 << 16:
            raise ValueError("a client masks its frames")
        mask, text = self.exactly(4), self.exactly(length)
        return first & 15, bytes(byte ^ mask[index % 4] for index, byte in enumerate(text))

    def exactly(self, count):
        while len(self.arrived) < count:
            if not (more := self.connection.recv(1 << 16)):
                raise OSError("the client has gone")
            self.arrived += more
        found, self.arrived = self.arrived[:count], self.arrived[count:]
        return found

    def send(self, text): self.write(TEXT, text.encode())

    def write(self, kind, text):
        size = len(text)
        head = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 1 << 16 else (
            b"\x7f" + struct.pack(">Q", size))
        self.connection.sendall(bytes([128 | kind]) + head + text)
