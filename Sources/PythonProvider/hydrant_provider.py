"""A provider for Hydrant in Python: a program that Hydrant runs, and asks for the documents of a store.

Write a subclass of Provider with the hooks of your store, and end your program with ``main(YourProvider)``:

    #!/usr/bin/env python3
    from hydrant_provider import Provider, Item, main

    class Notes(Provider):
        identifier = "org.example.notes"
        ...

    if __name__ == "__main__":
        main(Notes)

Put it into a folder of PATH under the name ``hydrant-provider-SCHEME`` and run ``hydrant mount SCHEME:LOCATION DIR``.
``hydrant provider test -- ./hydrant-provider-notes`` checks it against the rules of the conformance suite.

Hooks run in threads, several at a time (Provider.requests_at_once). Each returns its answer, or raises one of the errors
below. After it has returned, the store must keep the change even if this process is killed; after an error the store must
be as it was, or as the change would have made it. An exception of another class is ``cannotSynchronize`` for Hydrant, which
then tries again later, and is printed to standard error, which is in Hydrant's log. What a program prints goes there too.

Byte strings of the store (names, versions, pages, anchors, targets of links) are ``str``; bytes that are not UTF-8 are
surrogates in it, as in os.fsdecode. Moments are nanoseconds since 1970-01-01 00:00 UTC.

The protocol itself is described in Hydrant's documentation, "The provider protocol". Python 3.9 or later; no dependencies.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

__all__ = [
    "ROOT", "Item", "ItemPage", "Template", "Metadata", "Version", "ChangePage", "Quota", "Finding", "Search", "Store",
    "DocumentVersion", "Domain", "KnownItem", "Sink", "Contents", "Link", "Trashed", "Provider",
    "main", "check_name", "is_cancelled", "working",
    "ProviderError", "NoSuchItem", "FilenameCollision", "VersionMismatch", "ServerUnreachable", "NotAuthenticated",
    "PermissionDenied", "InsufficientQuota", "CannotSynchronize", "DirectoryNotEmpty", "Busy", "Cancelled", "InvalidName",
    "Unsupported", "ReadOnly", "SyncAnchorExpired",
]

#: The identifier of the topmost folder, which is its own parent.
ROOT = "NSFileProviderRootContainerItemIdentifier"
VERSION = 1
ARGUMENT = "--hydrant-protocol"
MOST_JSON, MOST_BYTES = 1 << 20, 256 << 10
#: Of one part of an answer with a list.
_PART = 256 << 10
_CREDIT = 1 << 20
_ALL = ("reading", "writing", "renaming", "deleting", "addingSubItems")


# ---------------------------------------------------------------------------------------------------------------- Errors


class ProviderError(Exception):
    """A failure, in words on which a user can act: what happened, to which item, and what to do."""

    code = "cannotSynchronize"

    def __init__(self, message: str = "", item: Optional["Item"] = None, transient: bool = False) -> None:
        super().__init__(message or self.code)
        self.message = message or self.code
        #: The item in the store now, for FilenameCollision and VersionMismatch.
        self.item = item
        #: For ServerUnreachable: the store is only being restarted.
        self.transient = transient


class NoSuchItem(ProviderError):
    """The store answered, and has no such item. Never raise it when the store did not answer."""
    code = "noSuchItem"


class FilenameCollision(ProviderError):
    """Another item has this name in this folder; give it as `item`."""
    code = "filenameCollision"


class VersionMismatch(ProviderError):
    """The item is not at the version that was given; give the current one as `item`."""
    code = "versionMismatch"


class ServerUnreachable(ProviderError):
    """The store did not answer. Tried again for ever."""
    code = "serverUnreachable"


class NotAuthenticated(ProviderError):
    """The user must sign in again."""
    code = "notAuthenticated"


class PermissionDenied(ProviderError):
    """The store answered, and does not allow this user to do it."""
    code = "permissionDenied"


class InsufficientQuota(ProviderError):
    """The store has no room."""
    code = "insufficientQuota"


class CannotSynchronize(ProviderError):
    """A failure in the store or on the way that may pass."""
    code = "cannotSynchronize"


class DirectoryNotEmpty(ProviderError):
    """A folder to be deleted still has items in it."""
    code = "directoryNotEmpty"


class Busy(ProviderError):
    """Another program or user has the item locked."""
    code = "busy"


class Cancelled(ProviderError):
    """Nobody waits for the answer any more. The sink and the contents raise it; let it pass."""
    code = "cancelled"


class InvalidName(ProviderError):
    """The store refuses this name."""
    code = "invalidName"


class Unsupported(ProviderError):
    """The store cannot do this at all. Not tried again."""
    code = "unsupported"


class ReadOnly(ProviderError):
    """The store takes no changes."""
    code = "readOnly"


class SyncAnchorExpired(ProviderError):
    """The store does not remember changes that far back."""
    code = "syncAnchorExpired"


_ERRORS: Dict[str, type] = {kind.code: kind for kind in ProviderError.__subclasses__()}


# ---------------------------------------------------------------------------------------------------------------- Values


@dataclass
class Version:
    """The version of an item's contents, and of its name, place, dates, mode and attributes. Compared for equality only."""

    content: str
    metadata: str = ""


@dataclass
class Item:
    """One item as the store has it."""

    identifier: str
    parent: str
    filename: str
    #: document, folder or symbolicLink
    kind: str = "document"
    #: In bytes; 0 for folders and links.
    size: int = 0
    #: The last change of the contents.
    modified: int = 0
    content_version: str = ""
    metadata_version: str = ""
    created: Optional[int] = None
    #: 0o1777 of them, where the store keeps them.
    permissions: Optional[int] = None
    #: Of a symbolic link.
    target: Optional[str] = None
    #: By name with the namespace ("user.…"); None: the store keeps none.
    attributes: Optional[Dict[str, bytes]] = None
    #: Of reading, writing, renaming, deleting, addingSubItems.
    capabilities: Iterable[str] = _ALL
    is_volume: bool = False
    #: The user has marked it as a favourite in the store; and the store's own tags of it.
    is_favorite: bool = False
    tags: Iterable[str] = ()

    @property
    def version(self) -> Version:
        return Version(self.content_version, self.metadata_version)


@dataclass
class ItemPage:
    """One page of a folder's items; without a next one, the last."""

    items: List[Item]
    next_page: Optional[str] = None
    #: Entries that cannot be shown: name and reason.
    left_out: List[Tuple[str, str]] = field(default_factory=list)


@dataclass
class Template:
    """An item to create."""

    parent: str
    filename: str
    kind: str
    modified: int
    target: Optional[str] = None
    permissions: Optional[int] = None
    attributes: Optional[Dict[str, bytes]] = None
    #: bits (0o6000), owner and group on this machine
    set_id: Optional[Tuple[int, int, int]] = None


@dataclass
class Metadata:
    """The metadata to write, with changed contents or by itself."""

    modified: int
    permissions: Optional[int] = None
    #: None leaves the store's attributes as they are.
    attributes: Optional[Dict[str, bytes]] = None
    set_id: Optional[Tuple[int, int, int]] = None


@dataclass
class ChangePage:
    """What changed since an anchor, or the first part of it."""

    updated: List[Item]
    deleted: List[str]
    anchor: str
    has_more: bool = False


@dataclass
class Quota:
    """In bytes; no total: no limit, or none known."""

    used: int
    total: Optional[int] = None


@dataclass
class Search:
    """A search in the store: every condition that is given must be met. Sizes and moments (seconds) are inclusive."""

    name_parts: List[str]
    filename_extensions: List[str]
    size: Optional[Tuple[int, int]]
    modified: Optional[Tuple[int, int]]
    limit: int


@dataclass
class Finding:
    """An item that the store's search has found; `path` has the names from the topmost folder on."""

    path: List[str]
    kind: str
    size: int
    modified: int
    identifier: Optional[str] = None


@dataclass
class Link:
    """A link to an item, for everybody who has it. `until`: nanoseconds since 1970, when it ends; None: never."""

    identifier: str
    url: str
    has_password: bool = False
    until: Optional[int] = None
    allows_editing: bool = False


@dataclass
class Trashed:
    """An item in the store's trash; `path` has the names from the topmost folder on, `deleted` nanoseconds since 1970."""

    identifier: str
    path: List[str]
    kind: str = "document"
    size: int = 0
    deleted: Optional[int] = None


@dataclass
class DocumentVersion:
    """A version of a document that the store still has; `identifier` is the store's name for it."""

    identifier: str
    size: int
    modified: int
    author: Optional[str] = None
    label: Optional[str] = None


@dataclass
class KnownItem:
    """An item of the store, as Hydrant's catalog knows it."""

    identifier: str
    parent: str
    filename: str
    is_folder: bool
    size: int
    version: Version


@dataclass
class Store:
    """What the user wrote in `hydrant mount SCHEME:REST DIR`."""

    text: str
    scheme: str
    rest: str
    #: The rest as an absolute path.
    path: str
    working_directory: str


def check_name(name: str, utf8: bool = False) -> None:
    """Raises InvalidName for a name that no file can have, or with `utf8` for one that is not UTF-8."""
    raw = _bytes(name)
    if not 1 <= len(raw) <= 255 or b"/" in raw or b"\0" in raw or raw in (b".", b".."):
        raise InvalidName(f"{name!r}: no file can have this name")
    if utf8 and not isinstance(_wire(raw), str):
        raise InvalidName(f"{name!r}: the store takes names in UTF-8 only")


# ------------------------------------------------------------------------------------------------------ Values as JSON


def _bytes(value: Union[str, bytes]) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _wire(value: Union[str, bytes]) -> Any:
    raw = _bytes(value)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def _raw(value: Any) -> bytes:
    return value.encode("utf-8") if isinstance(value, str) else base64.b64decode(value["base64"], validate=True)


def _text(value: Any) -> str:
    return _raw(value).decode("utf-8", "surrogateescape")


def _moment(nanoseconds: int) -> Dict[str, int]:
    seconds, rest = divmod(int(nanoseconds), 1_000_000_000)
    return {"seconds": seconds, "nanoseconds": rest} if rest else {"seconds": seconds}


def _nanoseconds(value: Dict[str, int]) -> int:
    return int(value["seconds"]) * 1_000_000_000 + int(value.get("nanoseconds", 0))


def _wire_version(version: Version) -> Dict[str, Any]:
    return {"content": _wire(version.content), "metadata": _wire(version.metadata)}


def _version(value: Dict[str, Any]) -> Version:
    return Version(_text(value["content"]), _text(value["metadata"]))


def _wire_item(item: Item) -> Dict[str, Any]:
    value: Dict[str, Any] = {
        "identifier": item.identifier, "parent": item.parent, "filename": _wire(item.filename), "kind": item.kind,
        "size": int(item.size), "contentModificationDate": _moment(item.modified), "version": _wire_version(item.version),
    }
    if item.target is not None:
        value["target"] = _wire(item.target)
    if item.created is not None:
        value["creationDate"] = _moment(item.created)
    if item.permissions is not None:
        value["posixPermissions"] = item.permissions
    if item.attributes is not None:
        value["extendedAttributes"] = {name: _wire(content) for name, content in item.attributes.items()}
    if set(item.capabilities) != set(_ALL):
        value["capabilities"] = list(item.capabilities)
    if item.is_volume:
        value["isVolume"] = True
    if item.is_favorite:
        value["isFavorite"] = True
    if tags := list(item.tags):
        value["tags"] = tags
    return value


def _wire_link(link: Link) -> Dict[str, Any]:
    value: Dict[str, Any] = {
        "identifier": link.identifier, "url": link.url, "hasPassword": link.has_password,
        "allowsEditing": link.allows_editing}
    if link.until is not None:
        value["until"] = _moment(link.until)
    return value


def _attributes(value: Dict[str, Any]) -> Optional[Dict[str, bytes]]:
    found = value.get("extendedAttributes")
    return None if found is None else {name: _raw(content) for name, content in found.items()}


def _set_id(value: Dict[str, Any]) -> Optional[Tuple[int, int, int]]:
    found = value.get("setID")
    return None if found is None else (found["bits"], found["owner"], found["group"])


def _template(value: Dict[str, Any]) -> Template:
    target = value.get("target")
    return Template(
        value["parent"], _text(value["filename"]), value["kind"], _nanoseconds(value["contentModificationDate"]),
        None if target is None else _text(target), value.get("posixPermissions"), _attributes(value), _set_id(value))


def _metadata(value: Dict[str, Any]) -> Metadata:
    return Metadata(
        _nanoseconds(value["contentModificationDate"]), value.get("posixPermissions"), _attributes(value), _set_id(value))


def _known(value: Dict[str, Any]) -> KnownItem:
    return KnownItem(
        value["identifier"], value["parent"], _text(value["filename"]), value["isFolder"], value["size"],
        _version(value["version"]))


# -------------------------------------------------------------------------------------------------- Bytes of documents


_current = threading.local()


def is_cancelled() -> bool:
    """Whether nobody waits any more for the answer of the hook that this thread runs."""
    request = getattr(_current, "request", None)
    return request is not None and request.cancelled


def working() -> None:
    """Tells Hydrant that the hook of this thread is at work, when it takes minutes without reading or sending bytes."""
    request = getattr(_current, "request", None)
    if request is not None:
        request.connection.notify("working", {"request": request.number})


class Sink:
    """Takes the bytes of a download."""

    def __init__(self, request: "_Request", offset: int, length: int) -> None:
        self._request, self._next, self._end = request, offset, offset + length

    def write(self, data: bytes, offset: Optional[int] = None) -> None:
        """Sends bytes from `offset` on, or behind the bytes before; waits until Hydrant takes more. Raises Cancelled."""
        place = self._next if offset is None else offset
        view = memoryview(data)
        while len(view):
            count = self._request.take(min(MOST_BYTES, len(view)))
            self._request.connection.send_bytes(self._request.number, place, view[:count])
            place, view = place + count, view[count:]
        self._next = place

    @property
    def missing(self) -> int:
        """How many bytes of the range have not been written, if all came in order."""
        return self._end - self._next


class Contents:
    """The contents to upload: a snapshot that does not change."""

    def __init__(self, request: "_Request", size: int) -> None:
        self._request = request
        #: In bytes.
        self.size: int = size

    def read(self, offset: int, count: int, local: bool = False) -> bytes:
        """Up to `count` bytes; fewer only at the end. `local`: they do not leave this machine (for a checksum, say)."""
        if self._request.cancelled:
            raise Cancelled("the upload was cancelled")
        params = {"request": self._request.number, "offset": offset, "length": count, "credit": _CREDIT}
        if local:
            params["isLocal"] = True
        return self._request.connection.ask("readContents", params, self._request)[1]

    def chunks(self, size: int = 1 << 20) -> Iterator[bytes]:
        """All bytes, in pieces. Raises CannotSynchronize when there are fewer than `size` says: then commit nothing."""
        offset = 0
        while offset < self.size:
            piece = self.read(offset, min(size, self.size - offset))
            if not piece:
                raise CannotSynchronize(f"the contents end after {offset} of {self.size} bytes")
            yield piece
            offset += len(piece)

    def read_all(self) -> bytes:
        """All bytes, for small documents."""
        return b"".join(self.chunks())


class Domain:
    """The mounted domain: where programs find the documents, and what Hydrant's catalog knows. See FileProviderDomain."""

    def __init__(self, connection: "_Connection", storage: str, group: Optional[str], request: Optional[int] = None) -> None:
        self._connection, self._request = connection, request
        #: The file URL of the mount point.
        self.document_storage_url: str = storage
        #: The file URL of the folder that is shared with other programs of Provider.document_group.
        self.document_group_url: Optional[str] = group

    def _ask(self, method: str, **params: Any) -> Dict[str, Any]:
        if self._request is not None:
            params["request"] = self._request
        return self._connection.ask(method, params, getattr(_current, "request", None))[0]

    def changed(self, folder: Optional[str] = None, item: Optional[str] = None) -> None:
        """Signals that a folder's items, or an item, have changed in the store; without both: everything may have."""
        params: Dict[str, Any] = {"folder": folder} if folder else {"item": item} if item else {"everything": True}
        self._connection.notify("changed", params)

    def catalog_identifier(self, url: str) -> str:
        return self._ask("catalogIdentifierForItem", url=url)["identifier"]

    def url_with_catalog_identifier(self, identifier: str) -> str:
        return self._ask("urlForItemWithCatalogIdentifier", identifier=identifier)["url"]

    def item_identifier(self, url: str) -> str:
        return self._ask("itemIdentifier", url=url)["identifier"]

    def url(self, identifier: str) -> str:
        return self._ask("url", identifier=identifier)["url"]

    def known_item(self, identifier: str) -> Optional[KnownItem]:
        found = self._ask("knownItem", identifier=identifier).get("item")
        return None if found is None else _known(found)

    def known_item_named(self, filename: str, folder: str) -> Optional[KnownItem]:
        found = self._ask("knownItemNamed", filename=_wire(filename), folder=folder).get("item")
        return None if found is None else _known(found)

    def known_items(self, identifiers: Iterable[str]) -> List[KnownItem]:
        return [_known(item) for item in self._ask("knownItems", identifiers=list(identifiers))["items"]]

    def known_items_in(self, folder: str) -> List[KnownItem]:
        return [_known(item) for item in self._ask("knownItemsInFolder", folder=folder)["items"]]

    def known_documents(self, versions: Iterable[str]) -> List[KnownItem]:
        found = self._ask("knownDocuments", versions=[_wire(version) for version in versions])
        return [_known(item) for item in found["items"]]

    def write_placeholder(self, url: str, item: Item, thumbnail: Optional[bytes] = None) -> None:
        params: Dict[str, Any] = {"url": url, "item": _wire_item(item)}
        if thumbnail is not None:
            params["thumbnail"] = _wire(thumbnail)
        self._ask("writePlaceholder", **params)


# -------------------------------------------------------------------------------------------------------- The provider


class Provider:
    """A store. Override the hooks; an optional hook that you override is an ability of your store."""

    #: Names the provider, not the store: org.example.notes
    identifier: str = ""
    #: What stands behind the colon of SCHEME:…: path, url or name. None: a URL if it begins with //, a path if it begins
    #: with / or a dot, else a name.
    locations: Optional[str] = None
    #: Whether the store takes no changes at all.
    read_only: bool = False
    #: Whether an item keeps its identifier when it is renamed or moved: bookmarks are made of identifiers then.
    identifiers_persist: bool = False
    #: Whether you call domain.changed(…) when something changes in the store.
    signals_changes: bool = False
    #: See FileProviderExtension.documentGroup.
    document_group: Optional[str] = None
    #: The most hooks that run at the same time.
    requests_at_once: int = 8
    #: The most uploads at the same time; None: as Hydrant likes.
    uploads_at_once: Optional[int] = None

    def __init__(self, store: Store) -> None:
        """Raise a ProviderError when the store cannot be served: it is not mounted then, and the user reads the message."""

    def begin_serving(self, domain: Domain) -> None:
        """The domain is being mounted."""

    def invalidate(self) -> None:
        """The domain is being unmounted."""

    # Every store has these.

    def provide_placeholder(self, identifier: str) -> Item:
        """The store's current state of one item. Raises NoSuchItem only when the store said so."""
        raise Unsupported("providePlaceholder")

    def enumerate_items(self, folder: str, page: Optional[str]) -> Union[ItemPage, Iterable[Item]]:
        """The items directly in a folder, all of them or a page."""
        raise Unsupported("enumerateItems")

    def start_providing_item(self, identifier: str, version: str, offset: int, length: int, sink: Sink) -> None:
        """Sends a range of a document's bytes. Raises VersionMismatch when the contents have another version."""
        raise Unsupported("startProvidingItem")

    def check_place(self, folder: str, filename: str, identifier: Optional[str] = None, utf8: bool = False) -> None:
        """Raises what create_item and move_item must raise where an item cannot be, for stores that do not check it by
        themselves; call it under the lock under which you make the change. It lists the folder.

        `identifier`: of the item that moves. `utf8`: the store takes only such names."""
        check_name(filename, utf8)
        page: Optional[str] = None
        while True:
            found = self.enumerate_items(folder, page)
            page = found.next_page if isinstance(found, ItemPage) else None
            for item in found.items if isinstance(found, ItemPage) else found:
                if item.filename == filename and item.identifier != identifier:
                    raise FilenameCollision(f"{filename!r}: the name is taken", item)
            if page is None:
                break
        while folder not in (ROOT, identifier):
            folder = self.provide_placeholder(folder).parent
        if folder == identifier:
            raise InvalidName(f"{filename!r}: a folder cannot be in itself")

    # Stores that take changes.

    def item_changed(self, identifier: str, contents: Contents, metadata: Metadata, base: Version) -> Item:
        """Replaces a document's contents, all or nothing. Raises VersionMismatch with the current item when the contents
        do not have the version base.content."""
        raise ReadOnly("the store takes no changes")

    def create_item(self, template: Template, contents: Optional[Contents]) -> Item:
        """Makes a new item. Raises FilenameCollision with the item that has the name; NoSuchItem: the folder is gone."""
        raise ReadOnly("the store takes no changes")

    def move_item(self, identifier: str, folder: str, filename: str, base: Version) -> Item:
        """Gives an item another name, another folder, or both. Never replaces another one: FilenameCollision."""
        raise ReadOnly("the store takes no changes")

    def delete_item(self, identifier: str, base: Version) -> None:
        """Deletes a document with the version base.content, a link, or an empty folder."""
        raise ReadOnly("the store takes no changes")

    def stop_providing_item(self, identifier: str) -> bool:
        """The last program closed the document a while ago. Whether its bytes stay on this machine."""
        return True

    # Optional abilities.

    def update_metadata(self, identifier: str, metadata: Metadata, base: Version) -> Item:
        """Sets an item's metadata; its contents stay."""
        raise Unsupported("updateMetadata")

    def copy_item(self, identifier: str, version: str, template: Template) -> Item:
        """Makes a new document with the contents of another."""
        raise Unsupported("copyItem")

    def trash_item(self, identifier: str, base: Version) -> None:
        """Moves an item into the store's trash."""
        raise Unsupported("trashItem")

    def trashed_items(self) -> Iterable[Trashed]:
        """What is in the store's trash. With restore_trashed_item, and trash_item."""
        raise Unsupported("trashedItems")

    def restore_trashed_item(self, trashed: str) -> Optional[List[str]]:
        """Takes an item out of the trash; replaces nothing. Its path now, if it is known. Raises NoSuchItem."""
        raise Unsupported("restoreTrashedItem")

    def share_link(
        self, identifier: str, password: Optional[str], until: Optional[int], allows_editing: bool
    ) -> Link:
        """Makes a link that ends no later than `until` (nanoseconds since 1970), asks for the password and allows what is
        wanted; raises, and leaves no link, if the store makes another one."""
        raise Unsupported("shareLink")

    def shared_links(self, identifier: str) -> Iterable[Link]:
        """The links to an item. With share_link."""
        raise Unsupported("sharedLinks")

    def end_shared_link(self, link: str, identifier: str) -> None:
        """Ends one of an item's links. With share_link. Raises NoSuchItem."""
        raise Unsupported("endSharedLink")

    def set_favorite(self, is_favorite: bool, identifier: str) -> Item:
        """Marks an item as a favourite, or takes the mark away."""
        raise Unsupported("setFavorite")

    def current_sync_anchor(self) -> str:
        """The store's present moment. With enumerate_changes."""
        raise Unsupported("currentSyncAnchor")

    def enumerate_changes(self, anchor: str) -> ChangePage:
        """The changes after an anchor, whoever made them. Raises SyncAnchorExpired."""
        raise Unsupported("enumerateChanges")

    def folder_version(self, folder: str) -> Optional[str]:
        """A text that changes with any change below the folder."""
        raise Unsupported("folderVersion")

    def quota(self) -> Quota:
        """How full the store is."""
        raise Unsupported("quota")

    def search(self, search: Search) -> Tuple[List[Finding], bool]:
        """What the store's own search finds, and whether these are all."""
        raise Unsupported("search")

    def thumbnail(self, identifier: str, version: str, size: int) -> Optional[bytes]:
        """A PNG or JPEG that fits into a square of so many pixels, if the store has one."""
        raise Unsupported("thumbnail")

    def keep_thumbnail(self, thumbnail: bytes, identifier: str, version: str) -> None:
        """Keeps a picture of a document."""
        raise Unsupported("keepThumbnail")

    def versions(self, identifier: str, limit: int) -> List[DocumentVersion]:
        """The versions that the store keeps of a document, the newest first, without the present contents."""
        raise Unsupported("versions")

    def start_providing_version(self, identifier: str, version: DocumentVersion, sink: Sink) -> None:
        """Writes all bytes of a version to the sink."""
        raise Unsupported("startProvidingVersion")

    def credential_may_have_changed(self) -> None:
        """The user may have signed in again."""

    def sign_out(self) -> None:
        """The user signs out: delete the credentials that you keep."""
        raise Unsupported("signOut")

    def persistent_identifier(self, url: str, domain: Domain) -> str:
        """Names an item for ever. Override it with url_for_item, or better set identifiers_persist."""
        raise Unsupported("persistentIdentifierForItem")

    def url_for_item(self, identifier: str, domain: Domain) -> str:
        """The inverse of persistent_identifier."""
        raise Unsupported("urlForItem")


_ABILITIES = {
    "MetadataUpdating": "update_metadata", "ServerSideCopying": "copy_item", "Trashing": "trash_item",
    "ChangeEnumerating": "enumerate_changes", "FolderVersioning": "folder_version", "QuotaReporting": "quota",
    "SearchingProvider": "search", "ThumbnailProviding": "thumbnail", "ThumbnailKeeping": "keep_thumbnail",
    "VersionKeeping": "versions",
    "SigningIn": "sign_out", "TrashRestoring": "restore_trashed_item", "LinkSharing": "share_link",
    "FavoriteKeeping": "set_favorite",
}


def _overrides(provider: Provider, hook: str) -> bool:
    return getattr(type(provider), hook, None) is not getattr(Provider, hook)


# ------------------------------------------------------------------------------------------------------ The connection


class _Request:
    """A request of Hydrant's, until it is answered."""

    def __init__(self, connection: "_Connection", number: int, credit: int) -> None:
        self.connection, self.number = connection, number
        self._credit, self._condition = credit, threading.Condition()
        self.cancelled = False

    def take(self, wanted: int) -> int:
        with self._condition:
            while not self._credit and not self.cancelled:
                self._condition.wait()
            if self.cancelled:
                raise Cancelled("the request was cancelled")
            taken = min(wanted, self._credit)
            self._credit -= taken
            return taken

    def give(self, count: int) -> None:
        with self._condition:
            self._credit += count
            self._condition.notify_all()

    def cancel(self) -> None:
        with self._condition:
            self.cancelled = True
            self._condition.notify_all()


class _Question:
    """A request of ours, until Hydrant has answered it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.data = bytearray()
        self.parts: List[Dict[str, Any]] = []
        self.result: Optional[Dict[str, Any]] = None
        self.error: Optional[ProviderError] = None


class _Connection:
    def __init__(self, make: Callable[[Store], Provider], source: int, target: int) -> None:
        self._make, self._source, self._target = make, source, target
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._requests: Dict[int, _Request] = {}
        self._questions: Dict[int, _Question] = {}
        self._last = 0
        self._provider: Optional[Provider] = None
        self._domain: Optional[Domain] = None
        self._pool = ThreadPoolExecutor(max_workers=1)

    # Frames

    def _send(self, kind: int, payload: List[Any]) -> None:
        length = 1 + sum(len(part) for part in payload)
        data = b"".join([struct.pack(">IB", length, kind), *payload])
        with self._sending:
            view = memoryview(data)
            while len(view):
                view = view[os.write(self._target, view):]

    def send(self, message: Dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        if len(text) > MOST_JSON:
            raise CannotSynchronize(f"a message has {len(text)} bytes, more than {MOST_JSON}")
        self._send(1, [text])

    def send_bytes(self, number: int, offset: int, data: Any) -> None:
        self._send(2, [struct.pack(">QQ", number, offset), data])

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        self.send({"method": method, "params": params})

    def _read(self, count: int) -> Optional[bytes]:
        data = bytearray()
        while len(data) < count:
            piece = os.read(self._source, count - len(data))
            if not piece:
                return None
            data += piece
        return bytes(data)

    def run(self) -> None:
        """Serves until Hydrant hangs up."""
        hello: Dict[str, Any] = {"versions": [VERSION]}
        locations = getattr(self._make, "locations", None)
        if locations is not None:
            hello["locations"] = locations
        self.notify("hello", hello)
        while True:
            header = self._read(5)
            if header is None:
                return
            length, kind = struct.unpack(">IB", header)
            most = MOST_JSON if kind == 1 else MOST_BYTES + 16
            if kind not in (1, 2) or not 1 <= length <= most + 1:
                raise RuntimeError(f"a frame of kind {kind} and {length} bytes")
            payload = self._read(length - 1)
            if payload is None:
                return
            if kind == 1:
                self._receive(json.loads(payload))
            else:
                number, _ = struct.unpack(">QQ", payload[:16])
                question = self._questions.get(number)
                if question is not None:
                    question.data += payload[16:]
                    self.notify("credit", {"request": number, "bytes": len(payload) - 16})

    def _receive(self, message: Dict[str, Any]) -> None:
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method is None:
            self._answered(number, message)
        elif number is None:
            self._notice(method, params)
        elif method == "ping":
            self.send({"id": number, "result": {}})
        else:
            request = _Request(self, number, params.get("credit") or 0)
            with self._lock:
                self._requests[number] = request
            self._pool.submit(self._serve, request, method, params)

    def _notice(self, method: str, params: Dict[str, Any]) -> None:
        if method in ("cancel", "credit"):
            with self._lock:
                request = self._requests.get(params["request"])
            if request is not None and method == "cancel":
                request.cancel()
            elif request is not None:
                request.give(params["bytes"])
        elif method == "credentialMayHaveChanged" and self._provider is not None:
            self._pool.submit(self._provider.credential_may_have_changed)

    # Questions of ours

    def ask(self, method: str, params: Dict[str, Any], request: Optional[_Request]) -> Tuple[Dict[str, Any], bytes]:
        question = _Question()
        with self._lock:
            self._last += 1
            number = self._last
            self._questions[number] = question
        self.send({"id": number, "method": method, "params": params})
        # A cancelled request waits for Hydrant's answer all the same: Hydrant cancels what it reads from.
        question.done.wait()
        if question.error is not None:
            raise question.error
        result = question.result or {}
        for part in reversed(question.parts):
            result["items"] = part.get("items", []) + result.get("items", [])
        return result, bytes(question.data)

    def _answered(self, number: Any, message: Dict[str, Any]) -> None:
        if "partial" in message:
            question = self._questions.get(number)
            if question is not None:
                question.parts.append(message["partial"])
            return
        with self._lock:
            question = self._questions.pop(number, None)
        if question is None:
            return
        error = message.get("error")
        if error is not None:
            kind = _ERRORS.get(error["code"], CannotSynchronize)
            question.error = kind(error.get("message", ""))
        question.result = message.get("result")
        question.done.set()

    # Requests of Hydrant's

    def _serve(self, request: _Request, method: str, params: Dict[str, Any]) -> None:
        _current.request = request
        try:
            answer: Dict[str, Any] = {"id": request.number, "result": self._call(request, method, params)}
        except ProviderError as error:
            answer = {"id": request.number, "error": _wire_error(error)}
        except (ConnectionError, TimeoutError) as error:
            answer = {"id": request.number, "error": _wire_error(ServerUnreachable(f"{method}: {error}"))}
        except Exception as error:  # noqa: BLE001: whatever a hook raises, Hydrant must learn of it
            traceback.print_exc()
            message = f"{method}: {type(error).__name__}: {error}"
            answer = {"id": request.number, "error": _wire_error(CannotSynchronize(message))}
        finally:
            _current.request = None
            with self._lock:
                self._requests.pop(request.number, None)
        try:
            try:
                self.send(answer)
            except ProviderError as error:
                self.send({"id": request.number, "error": _wire_error(error)})
            except (TypeError, ValueError) as error:
                # Something in it is of a wrong type, or text that is not UTF-8: Hydrant must get an answer nevertheless.
                traceback.print_exc()
                message = f"{method}: the answer cannot be sent: {type(error).__name__}: {error}"
                self.send({"id": request.number, "error": _wire_error(CannotSynchronize(message))})
        except OSError:
            os._exit(0)  # Hydrant is gone.

    def _send_parts(self, request: _Request, name: str, values: List[Any]) -> List[Any]:
        """Sends all but the last of a long list; returns the rest for the answer."""
        part: List[Any] = []
        size = 0
        for value in values:
            length = len(json.dumps(value, ensure_ascii=False).encode("utf-8"))
            if part and size + length > _PART:
                self.send({"id": request.number, "partial": {name: part}})
                part, size = [], 0
            part.append(value)
            size += length
        return part

    def _call(self, request: _Request, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        if method == "initialize":
            return self._initialize(params)
        provider = self._provider
        if provider is None:
            raise CannotSynchronize("not initialized")
        handler = getattr(self, "_do_" + method, None)
        if handler is None:
            raise Unsupported(f"{method}: there is no such request")
        return handler(provider, request, params)

    def _initialize(self, params: Dict[str, Any]) -> Dict[str, Any]:
        store = Store(params["store"], params["scheme"], params["rest"], params["path"], params["workingDirectory"])
        provider = self._make(store)
        abilities = [name for name, hook in _ABILITIES.items() if _overrides(provider, hook)]
        if provider.signals_changes:
            abilities.append("ChangeSignaling")
        said: Dict[str, Any] = {
            "version": VERSION, "providerIdentifier": provider.identifier, "isReadOnly": provider.read_only,
            "abilities": abilities, "identifiersArePersistent": provider.identifiers_persist,
            "answersPersistentIdentifiers": _overrides(provider, "persistent_identifier"),
            "requestsAtOnce": max(1, provider.requests_at_once),
        }
        if provider.document_group is not None:
            said["documentGroup"] = provider.document_group
        if provider.uploads_at_once is not None:
            said["uploadsAtOnce"] = provider.uploads_at_once
        self._provider = provider
        # (Two more: for the requests that Hydrant does not count.)
        self._pool = ThreadPoolExecutor(max_workers=max(1, provider.requests_at_once) + 2)
        return said

    def _do_beginServing(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        self._domain = Domain(self, params["documentStorageURL"], params.get("documentGroupURL"))
        provider.begin_serving(self._domain)
        return {}

    def _do_invalidate(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        provider.invalidate()
        return {}

    def _do_providePlaceholder(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"item": _wire_item(provider.provide_placeholder(params["identifier"]))}

    def _do_enumerateItems(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        page = params.get("page")
        found = provider.enumerate_items(params["folder"], None if page is None else _text(page))
        if not isinstance(found, ItemPage):
            found = ItemPage(list(found))
        answer: Dict[str, Any] = {"items": self._send_parts(request, "items", [_wire_item(item) for item in found.items])}
        if found.next_page is not None:
            answer["nextPage"] = _wire(found.next_page)
        if found.left_out:
            answer["leftOut"] = [
                {"filename": _wire(name), "reason": _plain(reason)} for name, reason in found.left_out]
        return answer

    def _do_startProvidingItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        offset, length = params["offset"], params["length"]
        sink = Sink(request, offset, length)
        provider.start_providing_item(params["identifier"], _text(params["version"]), offset, length, sink)
        return {}

    def _do_itemChanged(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        contents = Contents(request, params["contents"]["size"])
        return {"item": _wire_item(provider.item_changed(
            params["identifier"], contents, _metadata(params["metadata"]), _version(params["baseVersion"])))}

    def _do_createItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        given = params.get("contents")
        contents = None if given is None else Contents(request, given["size"])
        return {"item": _wire_item(provider.create_item(_template(params["template"]), contents))}

    def _do_moveItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"item": _wire_item(provider.move_item(
            params["identifier"], params["folder"], _text(params["filename"]), _version(params["baseVersion"])))}

    def _do_deleteItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        provider.delete_item(params["identifier"], _version(params["baseVersion"]))
        return {}

    def _do_stopProvidingItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"disposition": "keep" if provider.stop_providing_item(params["identifier"]) else "evict"}

    def _do_updateMetadata(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"item": _wire_item(provider.update_metadata(
            params["identifier"], _metadata(params["metadata"]), _version(params["baseVersion"])))}

    def _do_copyItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"item": _wire_item(provider.copy_item(
            params["identifier"], _text(params["version"]), _template(params["template"])))}

    def _do_trashItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        provider.trash_item(params["identifier"], _version(params["baseVersion"]))
        return {}

    def _do_trashedItems(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        values = []
        for item in provider.trashed_items():
            value = {"identifier": item.identifier, "path": [_wire(name) for name in item.path], "kind": item.kind,
                     "size": item.size}
            if item.deleted is not None:
                value["deleted"] = _moment(item.deleted)
            values.append(value)
        return {"items": self._send_parts(request, "items", values)}

    def _do_restoreTrashedItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        path = provider.restore_trashed_item(params["trashed"])
        return {} if path is None else {"path": [_wire(name) for name in path]}

    def _do_shareLink(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        until = params.get("until")
        return {"link": _wire_link(provider.share_link(
            params["identifier"], params.get("password"), None if until is None else _nanoseconds(until),
            params["allowsEditing"]))}

    def _do_sharedLinks(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        links = [_wire_link(link) for link in provider.shared_links(params["identifier"])]
        return {"links": self._send_parts(request, "links", links)}

    def _do_endSharedLink(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        provider.end_shared_link(params["link"], params["identifier"])
        return {}

    def _do_setFavorite(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"item": _wire_item(provider.set_favorite(params["isFavorite"], params["identifier"]))}

    def _do_currentSyncAnchor(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"anchor": _wire(provider.current_sync_anchor())}

    def _do_enumerateChanges(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        page = provider.enumerate_changes(_text(params["anchor"]))
        return {
            "updated": self._send_parts(request, "updated", [_wire_item(item) for item in page.updated]),
            "deleted": self._send_parts(request, "deleted", page.deleted),
            "anchor": _wire(page.anchor), "hasMore": page.has_more,
        }

    def _do_folderVersion(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        version = provider.folder_version(params["folder"])
        return {} if version is None else {"version": version}

    def _do_quota(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        quota = provider.quota()
        return {"used": quota.used} if quota.total is None else {"used": quota.used, "total": quota.total}

    def _do_search(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        def bounds(name: str) -> Optional[Tuple[int, int]]:
            found = params.get(name)
            return None if found is None else (found["from"], found["to"])
        findings, is_complete = provider.search(Search(
            params["nameParts"], params["filenameExtensions"], bounds("size"), bounds("modified"), params["limit"]))
        values = []
        for found in findings:
            value: Dict[str, Any] = {
                "path": [_wire(name) for name in found.path], "kind": found.kind, "size": found.size,
                "contentModificationDate": _moment(found.modified)}
            if found.identifier is not None:
                value["identifier"] = found.identifier
            values.append(value)
        return {"findings": self._send_parts(request, "findings", values), "isComplete": is_complete}

    def _do_thumbnail(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        picture = provider.thumbnail(params["identifier"], _text(params["version"]), params["size"])
        if picture is not None:
            Sink(request, 0, len(picture)).write(picture)
        return {"hasThumbnail": picture is not None}

    def _do_keepThumbnail(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        picture = Contents(request, params["contents"]["size"]).read_all()
        provider.keep_thumbnail(picture, params["identifier"], _text(params["version"]))
        return {}

    def _do_versions(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        values = []
        for version in provider.versions(params["identifier"], params["limit"]):
            value: Dict[str, Any] = {
                "identifier": version.identifier, "size": version.size,
                "contentModificationDate": _moment(version.modified)}
            if version.author is not None:
                value["author"] = version.author
            if version.label is not None:
                value["label"] = version.label
            values.append(value)
        return {"versions": self._send_parts(request, "versions", values)}

    def _do_startProvidingVersion(
            self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        given = params["version"]
        version = DocumentVersion(
            given["identifier"], given["size"], _nanoseconds(given["contentModificationDate"]),
            given.get("author"), given.get("label"))
        provider.start_providing_version(params["identifier"], version, Sink(request, 0, version.size))
        return {}

    def _do_signOut(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        provider.sign_out()
        return {}

    def _domain_of(self, request: _Request) -> Domain:
        domain = self._domain
        if domain is None:
            raise CannotSynchronize("no domain is served yet")
        return Domain(self, domain.document_storage_url, domain.document_group_url, request.number)

    def _do_persistentIdentifierForItem(
        self, provider: Provider, request: _Request, params: Dict[str, Any]
    ) -> Dict[str, Any]:
        return {"identifier": provider.persistent_identifier(params["url"], self._domain_of(request))}

    def _do_urlForItem(self, provider: Provider, request: _Request, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"url": provider.url_for_item(params["identifier"], self._domain_of(request))}


def _plain(text: Any) -> str:
    """Text for people, which is UTF-8 and of a bounded length, whatever it was."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")[:4_000]


def _wire_error(error: ProviderError) -> Dict[str, Any]:
    """Never raises, whatever a hook has put into its error."""
    value: Dict[str, Any] = {"code": error.code, "message": _plain(error.message)}
    if error.item is not None:
        try:
            item = _wire_item(error.item)
            json.dumps(item, ensure_ascii=False, allow_nan=False).encode("utf-8")
            value["item"] = item
        except Exception:  # noqa: BLE001: the error itself must reach Hydrant
            traceback.print_exc()
    if error.transient:
        value["isTransient"] = True
    return value


def main(make: Callable[[Store], Provider]) -> None:
    """Serves a store until Hydrant hangs up; does not return. `make` is your subclass, or a function that makes one."""
    if sys.argv[1:] and sys.argv[-1] == ARGUMENT:
        # What hooks print must not get between the frames, and programs that they run must not read any.
        source, target = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        try:
            _Connection(make, source, target).run()
        except (BrokenPipeError, ConnectionResetError):
            pass
        sys.stderr.flush()
        os._exit(0)  # Hooks that still run are of no use to anybody.
    name = os.path.basename(sys.argv[0])
    print(
        f"{name}: a provider of Hydrant; put it into a folder of PATH as hydrant-provider-SCHEME and run "
        "hydrant mount SCHEME:LOCATION DIR", file=sys.stderr)
    sys.exit(64)
