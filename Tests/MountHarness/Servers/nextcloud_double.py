#!/usr/bin/env python3
"""A small WebDAV server that imitates Nextcloud 34 for tests of a WebDAV client.

Documents are real files below --root, which a test may read and change like another client. Uploads, the trash and the
metadata of documents are beside it, in ROOT.state, and survive a restart of the server. Odd behaviour was observed on
Nextcloud 34.0.1: clients must cope with it."""
import argparse, base64, contextlib, dataclasses, email.utils, functools, hashlib, http, http.server, io, json, mimetypes
import operator, os, pickle, posixpath, re, secrets, shutil, ssl, stat, sys, threading, time, unicodedata
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape
from nextcloud_cloud import Answers, Cloud
from nextcloud_live import Live

BLOCK = 8192  # PHP's unit of reading: of a body that breaks off, whole blocks arrive
SPACES = {"DAV:": "d", "http://owncloud.org/ns": "oc", "http://nextcloud.org/ns": "nc"}
D, OC, NC = (f"{{{space}}}" for space in SPACES)
SABRE, OURS = "Sabre\\DAV\\Exception\\", "OCA\\DAV\\Connector\\Sabre\\Exception\\"
CLOSING = {400, 413, 500, 501, 503}  # Apache ends the connection after these
METHODS = "OPTIONS, GET, HEAD, DELETE, PROPFIND, PUT, PROPPATCH, COPY, MOVE, REPORT"
CLASSES = ("1, 3, extended-mkcol, access-control, calendarserver-principal-property-search, nc-paginate, "
           "nextcloud-checksum-update, nc-calendar-search, nc-enable-birthday-calendar")
XML, HTML = ("Content-Type", "application/xml; charset=utf-8"), ("Content-Type", "text/html; charset=UTF-8")
CONDITION = re.compile(r"(?:<(.*?)>\s)?\((Not\s)?(?:<([^>]*)>)?\s?(?:\[([^\]]*)\])?\)", re.I)  # of the header If
PAGES = {"/status.php": {"installed": True, "maintenance": False, "needsDbUpgrade": False, "version": "34.0.1.2",
                         "versionstring": "34.0.1", "edition": "", "productname": "Nextcloud", "extendedSupport": False}}

class DavError(Exception):
    def __init__(self, status, message="", kind=None, extra="", headers=()):
        headers = [XML, *headers] + ([("Allow", METHODS)] if status == 405 else [])
        kind = kind or SABRE + http.HTTPStatus(status).phrase.title().replace(" ", "")
        text = f"<s:message>{escape(message)}</s:message>" if message else "<s:message/>"
        text = ('<?xml version="1.0" encoding="utf-8"?>\n<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">\n'
                f"  <s:exception>{kind}</s:exception>\n  {text}\n{extra}</d:error>\n")
        self.reply = status, headers, text.encode()

def refuse(condition, *arguments, **more):
    if condition:
        raise DavError(*arguments, **more)

def refuse_condition(condition, header, message, tag=None):
    refuse(condition, 412, message, extra=f"  <s:header>{header}</s:header>\n", headers=[("ETag", tag)] if tag else [])

def refuse_path(message):
    about = f'  <o:retry xmlns:o="o:">false</o:retry>\n  <o:reason xmlns:o="o:">{escape(message)}</o:reason>\n'
    refuse(message, 400, message, OURS + "InvalidPath", about)

@functools.cache
def fault(name):
    """Why a name is refused. (Files that others put on the disk under such a name are hidden.)"""
    ending = name.lower().rpartition(".")[2]
    is_odd = re.search("[\0-\x1f\ud800-\udfff]", name) or not unicodedata.is_normalized("NFC", name)
    return ("Empty filename is not allowed" if not name.strip() else
            "Filename is too long" if len(os.fsencode(name)) > 250 else
            "Filename is a reserved word" if name.lower() == ".htaccess" else
            '".%s" is a forbidden file type.' % ending if ending in ("part", "filepart") and "." in name else
            "Filename contains at least one invalid character" if is_odd else
            '"\\" is not allowed inside a file or folder name.' if "\\" in name else "")

def parent(path): return path.rpartition("/")[0]
def last(path): return path.rpartition("/")[2]
def shown(path): return path.partition("/")[2]
def is_below(path, folder): return path == folder or path.startswith(folder + "/")
def unique(): return secrets.token_hex(7)[1:]
def date(seconds): return email.utils.formatdate(seconds, usegmt=True)
def kind(name): return mimetypes.guess_type(name)[0] or "application/octet-stream"
def stamp(status): return stat.S_ISDIR(status.st_mode), status.st_ino, status.st_mtime_ns, status.st_size

def element(tag, content=""):
    space, _, name = tag[1:].rpartition("}")
    name, where = (f"{SPACES[space]}:{name}", "") if space in SPACES else (f"x1:{name}", f' xmlns:x1="{escape(space)}"')
    return f"<{name}{where}>{content}</{name}>" if content != "" else f"<{name}{where}/>"

def multistatus(responses):
    """For each resource: its URL, and pairs of properties and their status."""
    text = ""
    for url, *parts in responses:
        states = (f"<d:propstat><d:prop>{content}</d:prop><d:status>HTTP/1.1 {status}</d:status></d:propstat>"
                  for content, status in parts if content)
        text += f"<d:response><d:href>{escape(url)}</d:href>{''.join(states)}</d:response>"
    spaces = "".join(f' xmlns:{prefix}="{space}"' for space, prefix in SPACES.items())
    return 207, [XML], f'<?xml version="1.0"?>\n<d:multistatus{spaces}>{text}</d:multistatus>'.encode()

@dataclasses.dataclass
class Node:
    id: int
    is_folder: bool
    mtime: int = 0
    size: int = 0
    stamp: tuple = ()  # changes with a change or rename on the disk
    etag: str = ""
    checksum: str = ""
    tag = property(lambda self: None if self.is_folder else f'"{self.etag}"')  # as If-Match sees it
PHANTOM = Node(-1, False)  # every name that ends in ".part" exists, but cannot be read or written

class Store:
    """The one user's files/…, uploads/… and trashbin/trash/…: paths here begin so."""

    def __init__(self, root, quota, chunk_minimum):
        self.root, self.quota, self.chunk_minimum = os.path.abspath(root), quota, chunk_minimum
        self.state, self.lock = self.root + ".state", threading.RLock()
        self.written = set()  # paths being written
        areas = ["files", "uploads", "trashbin", "trashbin/trash", "trashbin/restore"]
        for folder in [*areas, "bodies"]:
            os.makedirs(self.disk(folder), exist_ok=True)
        self.known = {"instance": "oc" + secrets.token_hex(5), "id": 99, "trash": {},  # its place, and the time of deletion
                      "nodes": {area: Node(99, True, int(time.time()), etag=unique()) for area in areas}}
        with contextlib.suppress(FileNotFoundError), open(self.state + "/known", "rb") as file:
            self.known = pickle.load(file)
        self.nodes, self.trash = self.known["nodes"], self.known["trash"]

    @contextlib.contextmanager
    def using(self):
        """All work except the transfer of bodies happens inside this: one request after another."""
        with self.lock:
            self.scan()
            yield

    def disk(self, path): return self.root + path[5:] if is_below(path, "files") else f"{self.state}/{path}"
    def new_file(self): return self.disk("bodies/" + secrets.token_hex(8))
    def exists(self, path): return path in self.nodes or is_below(path, "files") and path.endswith(".part")
    def is_folder(self, path): return path in self.nodes and self.nodes[path].is_folder
    def below(self, path): return sorted(other for other in self.nodes if is_below(other, path))
    def size(self, path): return sum(node.size for other, node in self.nodes.items() if is_below(other, path))
    def free(self): return float("inf") if self.quota is None else self.quota - self.size("files")

    def node(self, path):
        refuse(not self.exists(path), 404, f"File with name /{shown(path)} could not be located")
        return self.nodes.get(path, PHANTOM)

    def check_room(self, path, size, more=""):
        room = (self.cloud.quota(path) or (0, -3))[1]  # of another storage, if it is on one
        refuse(size > max(0, self.free() if room == -3 else room), 507, f"Insufficient space in /{shown(path)}{more}")

    def check_unlocked(self, path, status=423):
        refuse(any(is_below(written, path) for written in list(self.written)), status, f'"/{shown(path)}" is locked',
               OURS + "FileLocked" if status == 423 else "OCP\\Lock\\LockedException")  # (which not all methods expect)

    def scan(self):
        """Takes in the changes of the files since the last scan, by requests and by others."""
        found, folders, lost = {}, ["files", "uploads", "trashbin/trash"], {}
        while folders:
            folder = folders.pop()
            with contextlib.suppress(OSError):  # it may be changing: the next scan sees the result
                for entry in os.scandir(self.disk(folder)):
                    path, new = f"{folder}/{entry.name}", stamp(entry.stat(follow_symlinks=False))
                    if (new[0] or entry.is_file(follow_symlinks=False)) and not fault(entry.name):
                        found[path] = new
                        folders += [path] if new[0] else []
        for path, node in list(self.nodes.items()):
            new = found.get(path, ())
            if new == node.stamp or node.is_folder and (new[:2] == node.stamp[:2] or node.id == 99):
                node.stamp = new  # (the date of a folder changes with its entries)
            else:
                lost[path] = self.nodes.pop(path)
        fresh = sorted(found.keys() - self.nodes.keys())
        changed = {path for path in lost.keys() | fresh if parent(path) not in lost and parent(path) not in fresh}
        # A file that is the same in another place was renamed; another file in the same place was written to.
        origins = {node.stamp: path for path, node in lost.items()}
        for path in fresh:
            if found[path] in origins:
                self.nodes[path] = lost.pop(origins.pop(found[path]))
        for path in (path for path in fresh if path not in self.nodes):
            new, node = found[path], lost.get(path)
            if not node or node.is_folder or new[0]:
                self.known["id"] += 1
                node = Node(self.known["id"], new[0])
            node.mtime, node.size, node.stamp, node.checksum = new[2] // 10**9, 0 if new[0] else new[3], new, ""
            node.etag = unique() if new[0] else secrets.token_hex(16)  # (of date and size, it could be the old one)
            self.nodes[path] = node
            changed.add(path)
        self.touched(changed)

    def touched(self, paths):
        """Gives all folders above these paths a new ETag, the same for all."""
        etag, now = unique(), int(time.time())
        for path in paths:
            while path := parent(path):
                if path in self.nodes and self.nodes[path].etag != etag:
                    self.nodes[path].etag, self.nodes[path].mtime = etag, now
        if paths:
            with open(self.state + "/known.new", "wb") as file:
                pickle.dump(self.known, file)
            os.replace(self.state + "/known.new", self.state + "/known")

    def refresh(self, path):
        """Takes in a request's change of a file. Its ETag stays the same while its date in seconds does, whatever its
        size."""
        node, status = self.nodes[path], os.stat(self.disk(path))
        node.size, node.stamp = 0 if node.is_folder else status.st_size, stamp(status)
        if node.mtime != int(status.st_mtime):
            node.mtime = int(status.st_mtime)
            node.etag = hashlib.md5(f"{node.mtime} {node.id} {node.size}".encode()).hexdigest()
        self.touched([path])

    def put(self, path, file, headers):
        """Puts an uploaded file in its place. Returns whether it is new there."""
        is_new, mtime = path not in self.nodes, headers.get("X-OC-MTime")
        if not is_new and is_below(path, "files"):
            self.keep_version(path)
        os.replace(file, self.disk(path))
        if is_new:
            self.scan()
            self.nodes[path].mtime = 0
        self.refresh(path)
        if mtime is not None:  # checked only after the contents are in place
            is_date = re.fullmatch(r"\d+(\.\d*)?(e\d+)?", mtime, re.I) and float(mtime) > 86400
            refuse(not is_date, 500, "X-OC-MTime header must be a valid positive unix timestamp greater than one day, "
                   f'got "{mtime}".', "InvalidArgumentException")
            os.utime(self.disk(path), (time.time(), int(float(mtime))))
        self.nodes[path].checksum = headers.get("OC-Checksum", "").strip()
        self.refresh(path)
        return is_new

    def versions_of(self, node): return self.disk(f"versions/{node.id}")

    def keep_version(self, path):
        """By the second of the date: the first of that second stays."""
        folder, node = self.versions_of(self.nodes[path]), self.nodes[path]
        os.makedirs(folder, exist_ok=True)
        mtime = os.stat(self.disk(path)).st_mtime
        if not os.path.exists(place := f"{folder}/{int(mtime)}") and node.size:  # (no version of an empty document)
            shutil.copy2(self.disk(path), place)

    def move(self, source, target):
        os.rename(self.disk(source), self.disk(target))
        self.scan()

    def copy(self, source, target):
        (shutil.copytree if self.is_folder(source) else shutil.copy2)(self.disk(source), self.disk(target))
        self.scan()
        for path in self.below(source):
            self.nodes[target + path[len(source):]].etag = self.nodes[path].etag

    def remove(self, path):
        (shutil.rmtree if self.is_folder(path) else os.unlink)(self.disk(path))
        self.trash.pop(path, None)
        self.scan()

    def put_into_trash(self, path):
        now, name = int(time.time()), last(path).encode()[:230].decode(errors="ignore")
        key = f"trashbin/trash/{name}.d{now}"
        if key in self.nodes:
            self.remove(key)  # of the same name, in the same second
        self.trash[key] = path, now
        self.move(path, key)

    def restore(self, key, path):
        """Moves it to the requested or the old place; to the top if that folder is gone; under another name if the name
        is taken."""
        location, _ = self.trash.pop(key)
        path = path or f"{parent(location) if self.is_folder(parent(location)) else 'files'}/{last(location)}"
        (stem, ending), others = os.path.splitext(path), (f" (restored {number})" for number in range(2, 100))
        paths = (f"{stem}{more}{ending}" for more in ("", " (restored)", *others))
        self.move(key, next(path for path in paths if path not in self.nodes))

class Handler(Answers, Live, http.server.BaseHTTPRequestHandler):
    many = staticmethod(multistatus)
    protocol_version, server_version, sys_version = "HTTP/1.1", "Apache/2.4.71 (Debian)", ""
    disable_nagle_algorithm, log_message = True, lambda *arguments: None

    def handle(self):
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # the client has gone
            super().handle()

    def serve(self):
        self.store, self.is_read, self.is_cut = self.server.store, False, False
        try:
            reply = self.answer()
        except (DavError, ElementTree.ParseError) as error:
            reply = (error if isinstance(error, DavError) else DavError(400, str(error))).reply
        if reply:
            self.send(*reply)
        for _ in self.blocks() if not self.is_read else ():
            pass  # the refused body is on its way all the same
    do_GET = do_HEAD = do_PUT = do_DELETE = do_MKCOL = do_MOVE = do_COPY = do_OPTIONS = do_PROPFIND = do_PROPPATCH = serve
    do_REPORT = do_LOCK = do_UNLOCK = do_POST = do_PATCH = do_SEARCH = serve

    def send(self, status, headers, body=b""):
        file, length = body if isinstance(body, tuple) else (io.BytesIO(body), len(body))
        headers = headers + ([("Vary", "Brief,Prefer"), ("DAV", CLASSES)] if self.command == "PROPFIND" else [])
        headers += [("Content-Length", str(length))] if status not in (204, 304) else []
        headers += [("Connection", "close")] if status in CLOSING or self.is_cut or self.close_connection else []
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        with file:
            while length and self.command != "HEAD" and status != 304:
                block = file.read(min(length, 1 << 16))
                length -= len(block) or length
                self.close_connection |= not block  # another program has cut the file
                self.wfile.write(block)

    def blocks(self):
        """The body, as it arrives. Afterwards `is_cut` tells whether it broke off."""
        self.is_read, self.is_cut, left, is_chunked = True, True, self.expected(0), "Transfer-Encoding" in self.headers
        with contextlib.suppress(OSError, ValueError):
            while is_chunked and (size := int(self.rfile.readline(99).split(b";")[0], 16)):
                yield self.rfile.read(size + 2)[:-2]
            while left and (block := self.rfile.read(min(left, 1 << 16))):
                left -= len(block)
                yield block
            self.is_cut = left > 0 or is_chunked and not self.rfile.readline(99)

    def expected(self, default, name="Content-Length"): return int(self.headers.get(name, default))
    def number(self, node): return f"{node.id:08d}{self.store.known['instance']}"
    def uri(self, path): return "/".join([path.split("/")[0], self.server.user, *path.split("/")[1:]])

    def path_of(self, url):
        url = urlsplit(url).path
        refuse(re.search("%2f|%00", url, re.I), 404)  # (by Apache)
        names = [unicodedata.normalize("NFC", unquote(name)) for name in posixpath.normpath(url).split("/")]
        is_known = names[:3] == ["", "remote.php", "dav"] and names[3:4] in (["files"], ["uploads"], ["trashbin"], ["versions"])
        refuse(not is_known or names[4:5] != [self.server.user], 404, f"File with name {url} could not be located")
        path = "/".join(names[3:4] + names[5:])
        refuse_path(f'Invalid path "/{shown(path)}"' if ".." in names else "")
        refuse(is_below(path, "files") and last(path).lower() == ".htaccess" and self.command != "MKCOL", 500,
               f"Invalid path: {path}", "OCP\\Files\\ForbiddenException")
        return path

    def answer(self):
        url, method = urlsplit(self.path).path, self.command.lower().replace("head", "get")
        if (reply := self.open_page(url, method)) is not None:
            return reply
        if url in PAGES:
            return 200, [("Content-Type", "application/json; charset=utf-8")], json.dumps(PAGES[url]).encode()
        refuse(not self.is_signed_in(), 401, "Username or password was incorrect",
               SABRE + "NotAuthenticated", headers=[("WWW-Authenticate", 'Basic realm="Nextcloud", charset="UTF-8"')])
        if (reply := self.own_page(url, method)) is not None:
            return reply
        self.take_locks()
        if url.startswith(("/ocs/", "/remote.php/dav/systemtags")) and (beside := self.beside(url, b"".join(self.blocks()), refuse)):
            return beside
        if url == "/index.php/core/preview":
            return self.preview(dict(parse_qsl(urlsplit(self.path).query)))
        if method == "search":
            return self.search(b"".join(self.blocks()))
        path = self.path_of(url)
        if is_below(path, "versions"):
            return self.versions(path.split("/")[1:], method)
        if method == "put":
            return self.put(path)
        if method == "options":
            return 200, [("Allow", METHODS), ("DAV", CLASSES), ("MS-Author-Via", "DAV"), ("Accept-Ranges", "bytes"), HTML]
        body = b"".join(self.blocks())
        if method == "report" and b"filter-files" in body:
            with self.store.using():
                return self.filter_files(path, body, refuse)
        refuse(method == "report", 415, "The {DAV:}sync-collection REPORT is not supported on this url.",
               SABRE + "ReportNotSupported", "  <d:supported-report/>\n")
        refuse(not hasattr(self, method), 501,
               f"There was no plugin in the system that was willing to handle this {self.command} method.")
        with self.store.using():
            self.check_conditions(path)
            if method in ("mkcol", "delete") and is_below(path, "files"):
                self.store.cloud.check(refuse, method, path)
            return getattr(self, method)(path, body)

    def check_conditions(self, path):
        wanted, unwanted = self.headers.get("If-Match"), self.headers.get("If-None-Match")
        is_there, match = self.store.exists(path), "An If-Match header was specified"
        tag = self.store.node(path).tag if is_there else None
        refuse_condition(wanted and not is_there, "If-Match", match + " and the resource did not exist")
        refuse_condition(wanted and wanted != "*" and tag not in wanted.split(", "), "If-Match",
                         match + ", but none of the specified ETags matched.", tag)
        is_met = unwanted and is_there and (unwanted == "*" or tag in unwanted.split(", "))
        refuse(is_met and self.command == "GET", 304, headers=[("ETag", str(tag))])
        refuse_condition(is_met, "If-None-Match",
                         "An If-None-Match header was specified, but the ETag matched (or * was specified).")
        resources = []  # of the header If: each has to meet one of its conditions
        for url, negation, token, expected in CONDITION.findall(self.headers.get("If", "")):
            if url or not resources:
                resources.append((self.path_of(url) if url else path, []))
            holds = not token and (not expected or self.store.node(resources[-1][0]).tag == expected)
            resources[-1][1].append(holds != bool(negation))
        for resource, conditions in resources:
            failed = f"Failed to find a valid token/etag combination for {self.uri(resource)}"
            refuse_condition(not any(conditions), "If", failed)

    def target(self, source):
        """The target of COPY and MOVE."""
        target = self.path_of(self.headers.get("Destination", ""))
        folder = parent(target) or target
        refuse(not self.store.exists(folder), 409, "The destination node is not found")
        refuse(not self.store.is_folder(folder), 415, "The destination node is not a collection")
        is_there = self.store.exists(target) or folder == "trashbin/restore"  # (where everything is there)
        refuse_condition(is_there and self.headers.get("Overwrite") == "F", "Overwrite",
                         "The destination node already exists, and the overwrite header is set to false")
        refuse(target == source, 403, "Source and destination uri are identical.")
        refuse(is_below(target, source), 409, "The destination may not be part of the same subtree as the source path.")
        return target

    def stored(self, path, is_new, *more, has_tag=True):
        node = self.store.nodes[path]
        headers = [("OC-FileId", self.number(node)), *more] if is_below(path, "files") else []
        headers += [("X-OC-MTime", "accepted")] if "X-OC-MTime" in self.headers else []
        if has_tag and not node.is_folder and (headers or not is_new):
            headers += [("ETag", node.tag), ("OC-ETag", node.tag)]
        return 201 if is_new else 204, [HTML, *headers]

    def versions(self, names, method):
        """versions/USER/versions/NUMBER: what the document was, by the second of its date; also what it is now."""
        refuse(names[:1] != ["versions"] or len(names) not in (2, 3), 404)
        refuse(method not in ("propfind", "get"), 403, "Permission denied")
        with self.store.using():
            found = [(path, node) for path, node in self.store.nodes.items()
                     if str(node.id) == names[1] and is_below(path, "files") and not node.is_folder]
            refuse(not found, 404)
            (path, node), folder = found[0], self.store.versions_of(found[0][1])
            kept = {name: f"{folder}/{name}" for name in os.listdir(folder)} if os.path.isdir(folder) else {}
            kept |= {str(node.mtime): self.store.disk(path)}
            refuse(len(names) == 3 and names[2] not in kept, 404)
            if method == "get":
                file = open(kept[names[2]], "rb")
                return 200, [("Content-Type", kind(path))], (file, os.fstat(file.fileno()).st_size)
            where = f"/remote.php/dav/versions/{quote(self.server.user)}/versions/{node.id}/"
            responses = [(where, (element(D + "resourcetype", "<d:collection/>"), "200 OK"))]
            for name, place in sorted(kept.items(), reverse=True):
                about = {D + "getcontentlength": os.path.getsize(place), D + "getlastmodified": date(int(name)),
                         D + "getetag": name, D + "resourcetype": ""}
                about |= {NC + key: escape(text) for key, text in self.told("versions").get(name, {}).items()}
                responses.append((where + name, ("".join(element(*one) for one in about.items()), "200 OK")))
            return multistatus(responses)

    def check_lock(self, path):
        refuse(is_below(path, "files") and self.is_locked(path), 423, f'"/{shown(path)}" is locked', OURS + "FileLocked")

    def search(self, body):
        """Conditions on properties, joined by and, or, not; a scope; a limit."""
        question = ElementTree.fromstring(body).find(D + "basicsearch")
        scope = unquote(question.findtext(f"{D}from/{D}scope/{D}href")).strip("/").split("/")
        refuse(scope[:2] != ["files", self.server.user], 400, "Search not supported in this scope")
        folder, wanted = "/".join(["files", *scope[2:]]), [one.tag for one in question.iterfind(f"{D}select/{D}prop/*")]
        limit = int(question.findtext(f"{D}limit/{D}nresults") or sys.maxsize)
        with self.store.using():
            found = [(path, self.properties(path, node)) for path, node in sorted(self.store.nodes.items())
                     if is_below(path, folder) and path != folder and self.meets(path, node, question.find(D + "where")[0])]
        return multistatus([("/remote.php/dav/" + quote(self.uri(path)), ("".join(
            element(name, about[name]) for name in wanted if name in about), "200 OK")) for path, about in found[:limit]])

    def meets(self, path, node, condition):
        if condition.tag in (D + "and", D + "or"):
            return (all if condition.tag == D + "and" else any)([self.meets(path, node, one) for one in condition])
        name, literal = condition.find(D + "prop")[0].tag, condition.findtext(D + "literal")
        value = {D + "displayname": last(path), OC + "size": self.store.size(path) if node.is_folder else node.size,
                 D + "getlastmodified": int(node.mtime), OC + "fileid": node.id}[name]
        if condition.tag == D + "like":
            pattern = "".join({"%": ".*", "_": "."}.get(one, re.escape(one)) for one in literal)
            return re.fullmatch(pattern, value, re.IGNORECASE | re.DOTALL) is not None
        compare = {"eq": operator.eq, "gte": operator.ge, "lte": operator.le}[condition.tag.removeprefix(D)]
        return compare(value, type(value)(literal))

    def propfind(self, path, body):
        store, depth, responses = self.store, self.headers.get("Depth", "1"), []
        refuse(path == "uploads" and depth != "0", 405, "Listing members of this collection is disabled")
        wanted = [one.tag for one in ElementTree.fromstring(body).iterfind(D + "prop/*")] if body.strip() else []
        nodes = {path: store.node(path)} | {other: store.nodes[other] for other in store.below(path) if depth != "0" and (
            depth != "1" or parent(other) == path)}
        if parent(path) == "uploads" and depth == "1":  # the document that its parts would make
            nodes[path + "/.file"] = Node(0, False, int(time.time()), store.size(path))
        for one, node in sorted(nodes.items(), key=lambda item: (item[0] != path, item[1].id)):
            about = self.properties(one, node, is_listed=one != path)
            names = wanted or [name for name in about if name.startswith(D)]
            found = "".join(element(name, about[name]) for name in names if name in about)
            missing = "".join(element(name) for name in names if name not in about)
            url = re.sub("%..", lambda match: match[0].lower(), quote(self.uri(one), safe="~()/:@")) + "/" * node.is_folder
            responses.append(("/remote.php/dav/" + url, (found, "200 OK"), (missing, "404 Not Found")))
        return multistatus(responses)

    def properties(self, path, node, is_listed=False):
        is_document, (location, deleted) = is_below(path, "files"), self.store.trash.get(path, ("", ""))
        size = self.store.size(path) if node.is_folder else node.size
        about = {D + "resourcetype": "<d:collection/>" if node.is_folder else ""}
        about |= {D + "getlastmodified": date(node.mtime)} if node.mtime and path != "trashbin/trash" else {}
        about |= {} if node.is_folder else {D + "getcontentlength": size, D + "getcontenttype": kind(path)}
        if is_document and node.is_folder:
            room = -3 if self.store.quota is None else max(0, self.store.free())
            size, room = self.store.cloud.quota(path) or (size, room)
            about |= {D + "quota-used-bytes": size, D + "quota-available-bytes": room}
        if is_document or location or not node.is_folder:
            about[D + "getetag"] = deleted or f"&quot;{node.etag}&quot;"
        if is_document or location:
            about |= {OC + "fileid": node.id, OC + "id": self.number(node), OC + "size": size,
                      OC + "permissions": "GD" if location else "RGDNVCK" if node.is_folder else "RGDNVW"}
        about |= self.store.cloud.properties(path, node, is_listed) if is_document else {}
        about |= self.lock_properties(path) if is_document and not node.is_folder else {}
        about |= {OC + "checksums": f"<oc:checksum>{escape(node.checksum)}</oc:checksum>"} if node.checksum else {}
        if location:
            about |= {NC + "trashbin-filename": escape(last(location)), NC + "trashbin-deletion-time": deleted,
                      NC + "trashbin-original-location": escape(shown(location))}
        return about

    def get(self, path, body):
        store, node, is_get = self.store, self.store.node(path), self.command == "GET"
        if node.is_folder:
            return 200, [HTML], b"This is the WebDAV interface. It can only be accessed by WebDAV clients."
        refuse(is_below(path, "uploads"), 405, "Reading intermediate uploads is not allowed")
        refuse(node is PHANTOM, 503, f"Could not open file: {shown(path)} (-1), file doesn't seem to exist")
        size = os.path.getsize(store.disk(path))
        if is_get:
            store.check_unlocked(path)
            if size != node.size:
                store.refresh(path)  # an upload has broken off, which was not reported yet
        start, end, status, head = 0, size - 1, 200, [("Last-Modified", date(node.mtime)), ("ETag", node.tag)]
        ranges = re.fullmatch(r"bytes=(?:(\d+)-(\d*)|-(\d+))", self.headers.get("Range", ""), re.I)
        if ranges and size and is_get and self.headers.get("If-Range", node.tag) == node.tag:
            first, stop, tail = (int(number or 0) for number in ranges.groups())
            start, end = max(0, size - tail) if tail else first, min(stop or end, end)  # (0-0 is everything)
            refuse(start >= size, 416, f"The start offset ({start}) exceeded the size of the entity ({size})", headers=head)
            refuse(end < start, 416, f"The end offset ({end}) is lower than the start offset ({start})", headers=head)
            status, head = 206, [*head, ("Content-Range", f"bytes {start}-{end}/{size}")]
        head += [("OC-ETag", node.tag), ("Content-Type", kind(path)), ("Content-Disposition", "attachment")]
        head += [("OC-Checksum", node.checksum)] if node.checksum else []
        file = open(store.disk(path), "rb")
        file.seek(start)
        return status, head, (file, end - start + 1)

    def mkcol(self, path, body):
        store, is_document = self.store, is_below(path, "files")
        refuse(store.exists(path), 405, "The resource you tried to create already exists")
        refuse(not store.exists(parent(path)), 409, "Parent node does not exist")
        refuse(not store.is_folder(parent(path)), 409, "Parent node is not a collection")
        refuse(not is_document and parent(path) != "uploads", 403)
        store.check_room(parent(path), 4096 * is_document, ". Cannot create directory")
        refuse_path(fault(last(path)) or self.rule(last(path)) * is_document)
        os.mkdir(store.disk(path))
        store.scan()
        return self.stored(path, True)

    def delete(self, path, body):
        to_trash = is_below(path, "files") and self.headers.get("X-NC-Skip-Trashbin") != "true"
        refuse(path in ("files", "uploads", "trashbin"), 403, "Permission denied to delete home folder")
        self.store.check_unlocked(path)
        if self.store.cloud.unshare(path):
            return 204, []
        self.check_lock(path)
        for one in list(self.store.trash) if path == "trashbin/trash" else [path] * (self.store.node(path) is not PHANTOM):
            (self.store.put_into_trash if to_trash else self.store.remove)(one)
        return 204, []

    def proppatch(self, path, body):
        asked = self.store.node(path) and ElementTree.fromstring(body).findall(f"{D}set/{D}prop/*")
        seconds = [one.text for one in asked if one.tag == D + "lastmodified"]
        marks = [one.text for one in asked if one.tag == OC + "favorite"]
        refused = "".join(element(one.tag) for one in asked if one.tag not in (D + "lastmodified", OC + "favorite"))
        for mark in marks if not refused else ():
            self.store.cloud.mark(self.store.node(path), mark)
        if seconds and not refused:
            os.utime(self.store.disk(path), (time.time(), int(seconds[0])))
            self.store.refresh(path)
        done = element(D + "lastmodified") * len(seconds) + element(OC + "favorite") * len(marks), "424 Failed Dependency" if refused else "200 OK"
        return multistatus([(urlsplit(self.path).path, (refused, "403 Forbidden"), done)])

    def move(self, path, body):
        store, target, is_move, is_upload = self.store, self.target(path), self.command == "MOVE", is_below(path, "uploads")
        node, is_new = store.node(parent(path) if is_upload else path), not store.exists(target)
        if path in store.trash and is_move:
            store.restore(path, target if is_below(target, "files") else None)
            return 201, [HTML]
        is_possible = is_below(target, "files") and (last(path) == ".file" if is_upload else is_below(path, "files"))
        refuse(node is PHANTOM or not is_possible, 403, "Copy did not proceed")
        store.cloud.check(refuse, "put" if is_upload else self.command.lower(), target if is_upload else path, target)
        refuse(is_below(path, target), 403, f"{self.uri(path)} cannot be moved to it's parent")
        size = store.size(parent(path) if is_upload else path)
        store.check_room(parent(target) if is_new else target, 0 if is_move and node.is_folder and not is_upload else size)
        refuse_path(fault(last(target)) or self.rule(last(target)))
        self.check_lock(target)
        self.check_lock(path)
        if is_upload:
            return self.assemble(parent(path), target, size)
        store.check_unlocked(target, 500 if is_move and is_new else 423)
        store.check_unlocked(path, 500 if is_move else 423)
        if not is_new:
            store.put_into_trash(target)
        (store.move if is_move else store.copy)(path, target)
        return self.stored(target, is_new, has_tag=is_move)
    copy = move

    def assemble(self, upload, target, size):
        """Joins the parts of an upload to a document."""
        store, total = self.store, self.headers.get("OC-Total-Length", size)
        parts = sorted(store.below(upload)[1:], key=lambda part: last(part).zfill(20))
        refuse(store.is_folder(target), 400, f"The given destination {self.uri(target)} is a directory.")
        refuse(str(total) != str(size), 400, f"Chunks on server do not sum up to {total} but to {size} bytes")
        refuse(any(store.nodes[part].size < store.chunk_minimum for part in parts[:-1]), 400,
               "Your proposed upload is smaller than the minimum allowed size")
        store.check_unlocked(target)
        with open(file := store.new_file(), "wb") as output:
            for part in parts:
                with open(store.disk(part), "rb") as source:
                    shutil.copyfileobj(source, output)
        is_new = store.put(target, file, self.headers)
        store.remove(upload)
        return self.stored(target, is_new)

    def put(self, path):
        store, is_document, size, file = self.store, is_below(path, "files"), 0, self.store.new_file()
        with store.using():
            self.check_conditions(path)
            refuse("Content-Range" in self.headers, 400, "Content-Range on PUT requests are forbidden.")
            refuse(store.is_folder(path), 409, "PUT is not allowed on non-files.")
            refuse(not store.node(parent(path)).is_folder, 404, f"Node with name '{last(parent(path))}' could not be found")
            refuse(not is_document and not re.fullmatch("uploads/[^/]*/(?!.file).*", path), 403)
            store.cloud.check(refuse, "put", path) if is_document else None
            store.check_room(path if is_document else "files/", max(self.expected(0), self.expected(0, "OC-Total-Length")))
            refuse_path(fault(last(path)) or self.rule(last(path)) * (is_document and path not in store.nodes))
            self.check_lock(path)
            refuse(store.free() <= 0 and is_document, 413, "Insufficient space", OURS + "EntityTooLarge")
            store.check_unlocked(path)
            store.written.add(path)
        try:
            with open(file, "wb") as output:
                for block in self.blocks():
                    size += output.write(block)
                size = output.truncate(size // BLOCK * BLOCK if self.is_cut else size)
            with store.using():
                expected = self.expected(size)
                if expected != size and path in store.nodes:
                    os.replace(file, store.disk(path))  # not reported until the next read
                    store.nodes[path].stamp = stamp(os.stat(store.disk(path)))
                refuse(expected != size, 400, f"Expected filesize of {expected} bytes but read (from Nextcloud client) and "
                       f"wrote (to Nextcloud storage) {size} bytes. Could either be a network problem on the sending side or "
                       "a problem writing to the storage on the server side.")
                refuse(not store.is_folder(parent(path)), 404, "Its folder has gone")
                is_new = store.put(path, file, self.headers if is_document else {})
                return self.stored(path, is_new, ("X-NC-OwnerId", self.server.user), ("X-NC-Permissions", "RGDNVW"))
        finally:
            store.written.discard(path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("port", "user", "password-file", "root", "quota", "chunk-minimum", "cert", "key", "mounts"):
        parser.add_argument("--" + name, required=name in ("port", "user", "password-file", "root"))
    options = parser.parse_args()
    http.server.ThreadingHTTPServer.request_queue_size = 128
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(options.port)), Handler)
    with open(options.password_file) as file:
        server.password = file.read().strip()
    login = base64.b64encode(f"{options.user}:{server.password}".encode()).decode()
    server.flows, server.locks, server.is_secure = {}, {}, bool(options.cert)
    server.user, server.login = options.user, "Basic " + login
    server.store = Store(options.root, options.quota and int(options.quota), int(options.chunk_minimum or 0))
    server.store.cloud = Cloud(server.store, options.mounts)
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
        # The handshake is done on the thread of the connection.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()  # SIGTERM ends it at once, as nothing catches it
