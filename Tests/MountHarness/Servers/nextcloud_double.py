#!/usr/bin/env python3
"""A small WebDAV server that answers as Nextcloud 34 (without its app files_lock) does, for tests of a WebDAV client.

Documents are real files below --root, which a test may look at and change as another client would. Uploads, the trash and
what is known of the documents are beside it, in ROOT.state, so that a server that is started again still knows them.
What looks odd here was seen on Nextcloud 34.0.1: its oddities are what a client has to cope with.
"""
import argparse, base64, hashlib, io, json, mimetypes, os, pickle, posixpath, re, secrets, shutil, ssl, stat, sys
import threading, time, traceback, unicodedata
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote_to_bytes, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

BLOCK = 8192  # what PHP reads at once: of a body that breaks off, whole blocks arrive
SPACES = {"DAV:": "d", "http://owncloud.org/ns": "oc", "http://nextcloud.org/ns": "nc"}
D, OC, NC = (f"{{{space}}}" for space in SPACES)
USUAL = [D + name for name in ("getlastmodified", "getcontentlength", "resourcetype", "quota-used-bytes",
                               "quota-available-bytes", "getetag", "getcontenttype")]  # when nothing is named
CLASSES = ("1, 3, extended-mkcol, access-control, calendarserver-principal-property-search, nc-paginate, "
           "nextcloud-checksum-update, nc-calendar-search, nc-enable-birthday-calendar")
METHODS = "OPTIONS, GET, HEAD, DELETE, PROPFIND, PUT, PROPPATCH, COPY, MOVE, REPORT"
SABRE, OURS = "Sabre\\DAV\\Exception\\", "OCA\\DAV\\Connector\\Sabre\\Exception\\"
KINDS = {400: "BadRequest", 401: "NotAuthenticated", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
         409: "Conflict", 412: "PreconditionFailed", 415: "UnsupportedMediaType", 416: "RequestedRangeNotSatisfiable",
         501: "NotImplemented", 503: "ServiceUnavailable", 507: "InsufficientStorage"}
CLOSING = {400, 413, 500, 501, 503}  # Apache ends the connection after these
XML, HTML, JSON = (("Content-Type", kind) for kind in
                   ("application/xml; charset=utf-8", "text/html; charset=UTF-8", "application/json; charset=utf-8"))
PAGE = b"This is the WebDAV interface. It can only be accessed by WebDAV clients such as the Nextcloud desktop sync client."
CONDITION = re.compile(r"(?:<(.*?)>\s)?\((Not\s)?(?:<([^>]*)>)?\s?(?:\[([^\]]*)\])?\)", re.I)  # of the header If
STATUS = {"installed": True, "maintenance": False, "needsDbUpgrade": False, "version": "34.0.1.2", "versionstring": "34.0.1",
          "edition": "", "productname": "Nextcloud", "extendedSupport": False}
ABILITIES = {"core": {"pollinterval": 60, "webdav-root": "remote.php/webdav"}, "dav": {"chunking": "1.0"},
             "files": {"bigfilechunking": True, "chunked_upload": {"max_size": 104857600, "max_parallel_count": 5},
                       "forbidden_filenames": [".htaccess"], "forbidden_filename_characters": ["\\", "/"],
                       "forbidden_filename_extensions": [".filepart", ".part"], "undelete": True}}


class DavError(Exception):
    def __init__(self, status, message="", kind=None, extra="", headers=()):
        self.status, self.headers = status, [XML, *headers] + ([("Allow", METHODS)] if status == 405 else [])
        text = f"<s:message>{escape(message)}</s:message>" if message else "<s:message/>"
        self.body = ('<?xml version="1.0" encoding="utf-8"?>\n<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">\n'
                     f"  <s:exception>{kind or SABRE + KINDS[status]}</s:exception>\n  {text}\n{extra}</d:error>\n").encode()

def refuse(condition, *arguments, **more):
    if condition:
        raise DavError(*arguments, **more)

def refuse_condition(condition, header, message, tag=None):
    refuse(condition, 412, message, extra=f"  <s:header>{header}</s:header>\n", headers=[("ETag", tag)] if tag else [])

def refuse_path(condition, message):
    refuse(condition, 400, message, OURS + "InvalidPath", '  <o:retry xmlns:o="o:">false</o:retry>\n'
           f'  <o:reason xmlns:o="o:">{escape(message)}</o:reason>\n')

def check_name(name):
    lower = name.lower()
    refuse_path(not name.strip(), "Empty filename is not allowed")
    refuse_path(len(os.fsencode(name)) > 250, "Filename is too long")
    refuse_path(lower == ".htaccess", "Filename is a reserved word")
    refuse_path(lower.endswith((".filepart", ".part")), f'".{lower.rpartition(".")[2]}" is a forbidden file type.')
    refuse_path(any(character < " " for character in name), "Filename contains at least one invalid character")
    refuse_path("\\" in name, '"\\" is not allowed inside a file or folder name.')

def is_served(name):
    """Whether what somebody put on the disk is seen at all."""
    try:
        check_name(name)
        return unicodedata.is_normalized("NFC", name) and bool(name.encode())
    except (DavError, UnicodeEncodeError):
        return False

def decoded(name):
    """A part of a path, which is taken for Latin-1 if it is not UTF-8."""
    name = unquote_to_bytes(name)
    try:
        return unicodedata.normalize("NFC", name.decode())
    except UnicodeDecodeError:
        return name.decode("latin-1")

def parent(path): return path.rpartition("/")[0]
def last(path): return path.rpartition("/")[2]
def join(folder, name): return f"{folder}/{name}" if folder and name else folder or name
def is_below(path, folder): return not folder or path == folder or path.startswith(folder + "/")
def href(path): return re.sub("%..", lambda match: match[0].lower(), quote(path, safe="~()/:@"))
def unique(): return secrets.token_hex(7)[1:]
def date(seconds): return formatdate(seconds, usegmt=True)
def kind(name): return mimetypes.guess_type(name)[0] or "application/octet-stream"

def stamp(status):
    """What tells whether a file was changed or renamed behind the server's back."""
    return stat.S_ISDIR(status.st_mode), status.st_ino, status.st_mtime_ns, status.st_size

def parsed(body):
    try:
        return ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise DavError(400, str(error))

def element(tag, content=""):
    space, _, name = tag[1:].rpartition("}")
    name, where = (f"{SPACES[space]}:{name}", "") if space in SPACES else (f"x1:{name}", f' xmlns:x1="{escape(space)}"')
    return f"<{name}{where}>{content}</{name}>" if content != "" else f"<{name}{where}/>"

def response(url, *parts):
    stats = (f"<d:propstat><d:prop>{content}</d:prop><d:status>HTTP/1.1 {status}</d:status></d:propstat>"
             for content, status in parts if content)
    return f"<d:response><d:href>{escape(url)}</d:href>{''.join(stats)}</d:response>"

def multistatus(text):
    spaces = "".join(f' xmlns:{prefix}="{space}"' for space, prefix in SPACES.items())
    return 207, [XML], f'<?xml version="1.0"?>\n<d:multistatus{spaces}>{text}</d:multistatus>'.encode()


# What a URL means: files/alice/PATH, uploads/alice/PATH or trashbin/alice/PATH.
Place = namedtuple("Place", "area path prefix uri")
Chunk = namedtuple("Chunk", "file size etag mtime")
Trashed = namedtuple("Trashed", "location time file nodes")  # nodes: by the path below it, "" for itself

@dataclass
class Node:
    id: int
    is_folder: bool
    etag: str = field(default_factory=unique)
    mtime: int = 0
    size: int = 0
    checksum: str = ""
    stamp: tuple = ()

PHANTOM = Node(-1, False, etag="")  # whatever ends in ".part" exists, though nobody can read or write it


class Store:
    """The documents, uploads and trash of the one user."""

    def __init__(self, root, quota, chunk_minimum):
        self.root, self.quota, self.chunk_minimum = os.path.abspath(root), quota, chunk_minimum
        self.lock, self.is_changed = threading.RLock(), True
        self.written = set()  # the paths that are being written to just now
        self.state = self.root + ".state"
        os.makedirs(self.root, exist_ok=True)
        os.makedirs(self.state, exist_ok=True)
        self.known = {"instance": "oc" + secrets.token_hex(5), "id": 99, "trash": {}, "uploads": {},
                      "nodes": {"": Node(99, True, mtime=int(time.time()))}}
        if os.path.exists(self.state + "/known"):
            with open(self.state + "/known", "rb") as file:
                self.known = pickle.load(file)
        self.nodes, self.trash, self.uploads = (self.known[name] for name in ("nodes", "trash", "uploads"))

    @contextmanager
    def using(self):
        """Everything but the passage of bodies happens within this: one request after the other."""
        with self.lock:
            self.scan()
            try:
                yield
            finally:
                if self.is_changed:
                    with open(self.state + "/known.new", "wb") as file:
                        pickle.dump(self.known, file)
                    os.replace(self.state + "/known.new", self.state + "/known")
                    self.is_changed = False

    @contextmanager
    def writing(self, path):
        with self.lock:
            self.check_unlocked(path)
            self.written.add(path)
        try:
            yield
        finally:
            with self.lock:
                self.written.discard(path)

    def check_unlocked(self, path, status=423):
        """Whoever writes holds a lock; not all methods have been made for that."""
        refuse(any(is_below(written, path) for written in self.written), status, f'"/{path}" is locked',
               OURS + "FileLocked" if status == 423 else "OCP\\Lock\\LockedException")

    def new_id(self):
        self.known["id"] += 1
        return self.known["id"]

    def new_file(self): return f"{self.state}/{secrets.token_hex(8)}"
    def disk(self, path): return join(self.root, path)
    def exists(self, path): return path in self.nodes or path.endswith(".part")
    def below(self, path): return sorted(other for other in self.nodes if is_below(other, path))
    def free(self): return float("inf") if self.quota is None else self.quota - self.sizes()[""]

    def node(self, path):
        refuse(not self.exists(path), 404, f"File with name /{path} could not be located")
        return self.nodes.get(path, PHANTOM)

    def tag(self, path):
        """The ETag as If-Match sees it: folders have none."""
        return None if self.node(path).is_folder else f'"{self.node(path).etag}"'

    def sizes(self):
        total = {path: node.size for path, node in self.nodes.items()}
        for path, node in self.nodes.items():
            while path and not node.is_folder:
                path = parent(path)
                total[path] += node.size
        return total

    def check_room(self, path, size, more=""):
        refuse(size and size > max(0, self.free()), 507, f"Insufficient space in /{path}{more}")

    def touched(self, *paths):
        """Something has changed at these places: the folders above them get a new ETag, the same for all."""
        etag, now, self.is_changed = unique(), int(time.time()), True
        for path in paths:
            while path:
                path = parent(path)
                if (node := self.nodes.get(path)) and node.etag != etag and os.path.isdir(self.disk(path)):
                    node.etag, node.mtime, node.stamp = etag, now, stamp(os.stat(self.disk(path)))

    def refresh(self, path):
        """Takes over what a request has made of a file. Its ETag stays while its date does, in seconds, whatever its size."""
        node, status = self.nodes[path], os.stat(self.disk(path))
        node.size, node.stamp = status.st_size, stamp(status)
        if node.mtime != int(status.st_mtime):
            node.mtime = int(status.st_mtime)
            node.etag = hashlib.md5(f"{node.mtime} {node.id} {node.size}".encode()).hexdigest()
        self.touched(path)

    def scan(self):
        """Takes in what others did to the files since the last request."""
        found, folders = {"": ()}, [""]
        while folders:
            folder = folders.pop()
            try:
                for entry in os.scandir(self.disk(folder)):
                    path, new = join(folder, entry.name), stamp(entry.stat(follow_symlinks=False))
                    if is_served(entry.name) and (new[0] or entry.is_file(follow_symlinks=False)):
                        found[path] = new
                        folders += [path] if new[0] else []
            except OSError:
                continue  # somebody is at it: the next request will see what came of it
        lost = {}
        for path, node in list(self.nodes.items()):
            new = found.get(path)
            if not path or new == node.stamp or new and node.is_folder and new[:2] == node.stamp[:2]:
                node.stamp = new  # (the date of a folder changes with what is in it)
            else:
                lost[path] = self.nodes.pop(path)
        fresh = sorted(found.keys() - self.nodes.keys())
        changed = lost.keys() | fresh
        # What is the same but for its place was renamed; what is something else at the same place was written to.
        origins = {node.stamp: path for path, node in lost.items()}
        for path in fresh:
            if found[path] in origins:
                self.nodes[path] = lost.pop(origins.pop(found[path]))
        for path in (path for path in fresh if path not in self.nodes):
            (is_folder, _, mtime, size), old = found[path], lost.get(path)
            number = old.id if old and not old.is_folder and not is_folder else self.new_id()
            etag = unique() if is_folder else secrets.token_hex(16)  # (made of date and size, it could be the old one)
            self.nodes[path] = Node(number, is_folder, etag, mtime // 10**9, 0 if is_folder else size, "", found[path])
        if changed:
            self.touched(*changed)

    def put(self, path, file, mtime, checksum):
        """Puts a file that has arrived in its place. Returns whether it is a new one there."""
        self.node(parent(path))
        is_new = path not in self.nodes
        if is_new:
            self.nodes[path] = Node(self.new_id(), False)
        os.replace(file, self.disk(path))
        self.refresh(path)
        if mtime is not None:  # which is looked at only when the contents are in their place
            is_number = re.fullmatch(r"\d+(\.\d*)?(e\d+)?|-\d+", mtime, re.I)
            what = "positive unix timestamp greater than one day" if is_number else "integer (unix timestamp)"
            refuse(not is_number or float(mtime) <= 86400, 500,
                   f'X-OC-MTime header must be a valid {what}, got "{mtime}".', "InvalidArgumentException")
            os.utime(self.disk(path), (time.time(), int(float(mtime))))
            self.refresh(path)
        self.nodes[path].checksum = (checksum or "").strip()
        return is_new

    def move(self, source, target):
        os.rename(self.disk(source), self.disk(target))
        for path in self.below(source):
            self.nodes[target + path[len(source):]] = self.nodes.pop(path)
        self.touched(source, target)

    def copy(self, source, target):
        """With ETags and dates, without checksums."""
        (shutil.copytree if self.nodes[source].is_folder else shutil.copy2)(self.disk(source), self.disk(target))
        for path in self.below(source):
            copied = target + path[len(source):]
            new = stamp(os.stat(self.disk(copied)))
            self.nodes[copied] = replace(self.nodes[path], id=self.new_id(), checksum="", stamp=new)
        self.touched(target)

    def delete(self, path, to_trash=True):
        now, file = int(time.time()), self.new_file()
        os.rename(self.disk(path), file)
        nodes = {other[len(path):].lstrip("/"): self.nodes.pop(other) for other in self.below(path)}
        self.touched(path)
        key = f"{last(path)}.d{now}"
        if key in self.trash:
            self.remove(key)
        self.trash[key] = Trashed(path, now, file, nodes)
        if not to_trash:
            self.remove(key)

    def remove(self, key):
        item, self.is_changed = self.trash.pop(key), True
        (shutil.rmtree if item.nodes[""].is_folder else os.unlink)(item.file)

    def restore(self, key, path=None):
        """To where it is wanted, or was; to the top if that folder is gone; under another name if its own is taken."""
        item = self.trash.pop(key)
        path = path or join(parent(item.location) if parent(item.location) in self.nodes else "", last(item.location))
        (stem, ending), number = os.path.splitext(path), 1
        while path in self.nodes:
            path = f"{stem} (restored{f' {number}' if number > 1 else ''}){ending}"
            number += 1
        os.rename(item.file, self.disk(path))
        self.nodes.update({join(path, inner): node for inner, node in item.nodes.items()})
        self.touched(path)
