"""What the double of Nextcloud has beside documents: favourites, tags, public links, and folders and documents that come
from elsewhere (shared by others, group folders, external storages). Observed on a Nextcloud 17.0.10 and read in the
source of 34: the rights of a shared or mounted root in the listing of the folder above are others than in its own."""
import json, re, secrets, time
from datetime import date as day
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

OC, NC, OCS = "{http://owncloud.org/ns}", "{http://nextcloud.org/ns}", "{http://open-collaboration-services.org/ns}"
READ, UPDATE, CREATE, DELETE, SHARE = 1, 2, 4, 8, 16
SHARES = "/ocs/v2.php/apps/files_sharing/api/v1/shares"
JSON = ("Content-Type", "application/json; charset=utf-8")

def is_below(path, folder): return path == folder or path.startswith(folder + "/")
def parent(path): return path.rpartition("/")[0]

class Cloud:
    """Beside the documents of a Store; all of it is kept in the store's own state."""

    def __init__(self, store, mounts):
        self.store, self.known = store, store.known.setdefault("cloud", {
            "favorites": set(), "tags": {}, "tagged": {}, "shares": {}, "last": 0})
        # By name in the topmost folder: {"type": "shared", "permissions": 1, "quota": 1000}
        self.mounts = {f"files/{name}": about for name, about in json.loads(mounts or "{}").items()}

    def number(self):
        self.known["last"] += 1
        return str(self.known["last"])

    # Rights

    def mount(self, path):
        """The shared or mounted root that the path is in, and what is known of it."""
        return next(((root, about) for root, about in self.mounts.items() if is_below(path, root)), (None, None))

    def permissions(self, path):
        _, about = self.mount(path)
        return about["permissions"] if about else READ | UPDATE | CREATE | DELETE | SHARE

    def letters(self, path, is_folder, is_listed):
        root, about = self.mount(path)
        allowed = real = self.permissions(path)
        is_shared = bool(about) and about["type"] == "shared"
        if path == root:  # a share can be moved and deleted by its receiver, a mount by nobody
            allowed = (allowed | DELETE | (UPDATE if is_listed else 0) if is_shared else
                       allowed & ~(DELETE | (UPDATE if is_listed else 0)))
        return ("S" * is_shared + "R" * bool(real & SHARE) + "M" * (bool(about) and not is_shared) + "G" * bool(real & READ) +
                "D" * bool(allowed & DELETE) + "NV" * bool(allowed & UPDATE) +
                ("CK" * bool(real & CREATE) if is_folder else "W" * bool(real & UPDATE)))

    def check(self, refuse, method, path, target=None):
        """Refuses (403, without a reason) what the rights of a shared or mounted place do not allow."""
        store, (root, about) = self.store, self.mount(path)
        is_there, is_root, is_shared = path in store.nodes, path == root, bool(about) and about["type"] == "shared"
        def require(right, place): refuse(not self.permissions(place) & right, 403)
        if method == "put" or method == "mkcol":
            require(UPDATE, path) if is_there else require(CREATE, parent(path))
        if method == "delete":
            refuse(is_root and not is_shared, 403)
            require(DELETE, path) if not is_root else None
        if method == "move":
            refuse(is_root and not is_shared, 500 if parent(path) == parent(target) else 403)
            require(UPDATE, path)
            require(DELETE, path) if parent(path) != parent(target) and not is_root else None
        if method in ("move", "copy"):
            require(UPDATE, target) if target in store.nodes else require(CREATE, parent(target))

    def unshare(self, path):
        """DELETE of what somebody shares ends the share for this user: nothing goes to the trash."""
        root, about = self.mount(path)
        if path != root or about["type"] != "shared":
            return False
        del self.mounts[root]
        self.store.remove(path)
        return True

    def quota(self, path):
        """Used and free bytes of the storage that the folder is in; None: of the user's."""
        root, about = self.mount(path)
        if not about:
            return None
        used = self.store.size(root)
        return used, max(0, about["quota"] - used) if "quota" in about else -3

    # Favourites and tags

    def properties(self, path, node, is_listed):
        tags = "".join(f'<nc:system-tag oc:id="{tag}" oc:can-assign="true" oc:user-assignable="true" oc:user-visible="true">'
                       f'{escape(self.known["tags"][tag]["name"])}</nc:system-tag>'
                       for tag in sorted(self.known["tagged"].get(node.id, ())))
        root, about = self.mount(path)
        allowed = self.permissions(path) & (~0 if node.is_folder else ~(CREATE | DELETE))
        return {OC + "favorite": int(node.id in self.known["favorites"]), OC + "tags": "", NC + "system-tags": tags,
                OC + "permissions": self.letters(path, node.is_folder, is_listed),
                OCS + "share-permissions": allowed, NC + "mount-type": about["type"] if about else "",
                NC + "is-mount-root": "true" if path == root else "false"}

    def mark(self, node, value):
        (self.known["favorites"].add if value in ("1", "true") else self.known["favorites"].discard)(node.id)
        self.store.touched([""])  # kept, but no folder gets another ETag

    def tag(self, number, tag, is_given):
        self.known["tagged"].setdefault(number, set())
        (self.known["tagged"][number].add if is_given else self.known["tagged"][number].discard)(tag)
        self.known["tags"][tag]["etag"] = secrets.token_hex(8)
        self.store.touched([""])

class Answers:
    """Of the Handler: requests that are not about documents."""

    def beside(self, url, body, refuse):
        """The answer to a request for links or tags; None: it is about something else."""
        cloud = self.store.cloud
        if is_below(url, SHARES):
            refuse(self.headers.get("OCS-APIRequest") != "true", 412, "CSRF check failed")
            with self.store.using():
                return self.shares(cloud, unquote(url[len(SHARES):]).strip("/"), parse_qs(body.decode()))
        if is_below(url, "/remote.php/dav/systemtags"):
            with self.store.using():
                return self.system_tags(cloud, url, body, refuse)
        if is_below(url, "/remote.php/dav/systemtags-relations/files"):
            number, tag = url.strip("/").split("/")[-2:]
            with self.store.using():
                refuse(tag not in cloud.known["tags"], 404)
                cloud.tag(int(number), tag, self.command == "PUT")
            return 201 if self.command == "PUT" else 204, []

    def system_tags(self, cloud, url, body, refuse):
        if self.command == "POST":
            tag = cloud.number()
            cloud.known["tags"][tag] = {"name": json.loads(body)["name"], "etag": secrets.token_hex(8)}
            return 201, [("Content-Location", f"{url.rstrip('/')}/{tag}")]
        refuse(self.command != "PROPFIND", 405)
        responses = [(url.rstrip("/") + "/", ("<d:resourcetype><d:collection/></d:resourcetype>", "200 OK"))]
        responses += [(f"{url.rstrip('/')}/{tag}", (f'<d:getetag>&quot;{about["etag"]}&quot;</d:getetag>'
                                                     "<d:resourcetype/>", "200 OK"))
                      for tag, about in sorted(cloud.known["tags"].items())]
        return self.many(responses)

    def filter_files(self, folder, body, refuse):
        """REPORT oc:filter-files, for favourites."""
        refuse(ElementTree.fromstring(body).find(f"{OC}filter-rules/{OC}favorite") is None, 400,
               "Missing filter-rule block in request")
        found = [(path, node) for path, node in self.store.nodes.items()
                 if is_below(path, folder) and node.id in self.store.cloud.known["favorites"]]
        return self.many([(f"/remote.php/dav/{self.uri(path)}", (f"<oc:fileid>{node.id}</oc:fileid>", "200 OK"))
                          for path, node in sorted(found)])

    # Public links

    def shares(self, cloud, number, fields):
        fields = {name: values[0] for name, values in fields.items()}
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        shares = cloud.known["shares"]
        if number and number not in shares:
            return self.ocs(404, "Wrong share ID, share doesn't exist")
        if self.command == "GET":
            path = "files" + query["path"].rstrip("/")
            if not self.store.exists(path):
                return self.ocs(404, "Wrong path, file/folder doesn't exist")
            of = self.store.node(path).id
            return self.ocs(200, "OK", [self.share(one) for one in shares.values() if one["of"] == of])
        if self.command == "DELETE":
            del shares[number]
            self.store.touched([""])
            return self.ocs(200, "OK", [])
        if self.command == "PUT":
            problem = self.permit(cloud, shares[number], fields)
            return problem or self.ocs(200, "OK", self.share(shares[number]))
        path = "files" + fields["path"].rstrip("/")
        if not self.store.exists(path):
            return self.ocs(404, "Wrong path, file/folder doesn't exist")
        if not cloud.permissions(path) & SHARE:
            return self.ocs(404, "You are not allowed to share " + fields["path"])
        node = self.store.node(path)
        for term in self.told("shares").get("ignores", []):
            fields.pop(term, None)
        share = {"id": cloud.number(), "of": node.id, "is_folder": node.is_folder, "permissions": READ | SHARE,
                 "password": None, "expiration": None, "token": secrets.token_urlsafe(11)}
        # (The asked rights are ignored, except for folders with `publicUpload`: 17.0.10.)
        wanted = dict(fields)
        if fields.get("publicUpload") != "true":
            wanted.pop("permissions", None)
        problem = self.permit(cloud, share, wanted)
        if problem:
            return problem
        shares[share["id"]] = share
        self.store.touched([""])
        return self.ocs(200, "OK", self.share(share))

    def permit(self, cloud, share, fields):
        if "permissions" in fields:
            wanted = int(fields["permissions"])
            share["permissions"] = (wanted if share["is_folder"] else wanted & ~(CREATE | DELETE)) | SHARE
        if fields.get("password"):
            if len(fields["password"]) < 8:
                return self.ocs(403, "Password needs to be at least 8 characters long.")
            share["password"] = "3|$argon2id$v=19$m=65536,t=4,p=1$" + secrets.token_hex(16)
        if fields.get("expireDate"):
            if not re.fullmatch(r"\d{4}-\d\d-\d\d", fields["expireDate"]):
                return self.ocs(404, "Invalid date. Format must be YYYY-MM-DD")
            if day.fromisoformat(fields["expireDate"]) <= day.today():
                return self.ocs(404, "Expiration date is in the past")
            share["expiration"] = fields["expireDate"] + " 00:00:00"

    def share(self, share):
        host = self.headers.get("Host", "localhost")
        return {"id": share["id"], "share_type": 3, "uid_owner": self.server.user, "permissions": share["permissions"],
                "stime": int(time.time()), "expiration": share["expiration"], "token": share["token"],
                "item_type": "folder" if share["is_folder"] else "file", "item_source": share["of"],
                "share_with": share["password"], "password": share["password"],
                "url": f"http://{host}/index.php/s/{share['token']}"}

    def ocs(self, status, message, data=()):
        meta = {"status": "ok" if status == 200 else "failure", "statuscode": status, "message": message}
        if self.told("shares").get("xml") and "format=json" not in urlsplit(self.path).query:
            text = f'<?xml version="1.0"?><ocs><meta><statuscode>{status}</statuscode></meta><data/></ocs>'
            return status, [("Content-Type", "text/xml; charset=UTF-8")], text.encode()
        return status, [JSON], json.dumps({"ocs": {"meta": meta, "data": data}}).encode()
