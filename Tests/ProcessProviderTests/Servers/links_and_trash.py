"""A provider of one document that gives out links, keeps favourites, and has a trash that can be looked into."""
from hydrant_provider import ROOT, Item, Link, NoSuchItem, Provider, Trashed, Unsupported, main


class Cloud(Provider):
    identifier = "org.example.cloud"

    def __init__(self, store):
        super().__init__(store)
        self.links, self.favorite, self.place, self.deleted = {}, False, "a.txt", False

    def provide_placeholder(self, identifier):
        if identifier == ROOT:
            return Item(ROOT, ROOT, "cloud", "folder", content_version="1", metadata_version="1")
        if identifier != "a" or self.deleted:
            raise NoSuchItem(f"{identifier}: there is no such item")
        return Item("a", ROOT, self.place, size=3, content_version="1", metadata_version=f"{self.place} {self.favorite}",
                    is_favorite=self.favorite, tags=["red", "grün"])

    def enumerate_items(self, folder, page):
        return [] if self.deleted else [self.provide_placeholder("a")]

    def start_providing_item(self, identifier, version, offset, length, sink):
        sink.write(b"abc"[offset:offset + length])

    def set_favorite(self, is_favorite, identifier):
        self.favorite = is_favorite
        return self.provide_placeholder(identifier)

    def share_link(self, identifier, password, until, allows_editing):
        if password == "weak":
            raise Unsupported("the password is weak; no link was made")
        link = Link(str(len(self.links) + 1), f"https://example.org/{len(self.links)}", bool(password), until, allows_editing)
        self.links[link.identifier] = link
        return link

    def shared_links(self, identifier):
        return list(self.links.values())

    def end_shared_link(self, link, identifier):
        if self.links.pop(link, None) is None:
            raise NoSuchItem(f"{link}: there is no such link")

    def trash_item(self, identifier, base):
        self.deleted = True

    def trashed_items(self):
        return [Trashed("a.d1", ["b", "a.txt"], size=3, deleted=1_700_000_000_000_000_500)] if self.deleted else []

    def restore_trashed_item(self, trashed):
        if trashed != "a.d1" or not self.deleted:
            raise NoSuchItem(f"{trashed}: is not in the trash")
        self.deleted, self.place = False, "a (restored).txt"
        return [self.place]


main(Cloud)
