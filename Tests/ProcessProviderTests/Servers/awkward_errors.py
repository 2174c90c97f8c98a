"""A provider whose hooks raise errors that cannot be written as JSON, and run a program that reads its standard input."""
import subprocess

from hydrant_provider import ROOT, Item, ItemPage, NoSuchItem, Provider, ServerUnreachable, VersionMismatch, main


class Awkward(Provider):
    identifier = "org.example.awkward"

    def provide_placeholder(self, identifier):
        if identifier == ROOT:
            return Item(ROOT, ROOT, "awkward", "folder", content_version="1", metadata_version="1")
        if identifier == "surrogate":
            raise VersionMismatch("caf\udce9: has changed", Item("x", ROOT, "caf\udce9", content_version="1"))
        if identifier == "exception":
            raise ServerUnreachable(OSError("the line is cut"))
        if identifier == "item":
            raise VersionMismatch("has changed", "no item")
        if identifier == "identifier":
            return Item("caf\udce9", ROOT, "a", content_version="1")
        if identifier == "number":
            return Item("n", ROOT, "a", content_version="1", permissions=object())
        if identifier == "child":
            # It ends when its input does.
            subprocess.run(["cat"], check=True, stdout=subprocess.DEVNULL)
            return Item("child", ROOT, "a", content_version="1")
        raise NoSuchItem(f"{identifier}: there is no such item")

    def enumerate_items(self, folder, page):
        return ItemPage([], left_out=[("a", "caf\udce9")])


main(Awkward)
