"""Hydrant in Cinnamon's file manager (Nemo). Written by `hydrant desktop install`."""

import sys

sys.path.append("@SHARED@")
_writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
import hydrant_items

sys.dont_write_bytecode = _writes

from gi.repository import GObject, Gtk, Nemo

_shown = hydrant_items.Shown()


class HydrantExtension(
    GObject.GObject, Nemo.InfoProvider, Nemo.ColumnProvider, Nemo.MenuProvider, Nemo.PropertyPageProvider,
    Nemo.NameAndDescProvider,
):
    def get_name_and_desc(self):
        return ["Hydrant:::Shows which documents of remote stores are on this machine"]

    def update_file_info(self, file):
        path = hydrant_items.local_path(file.get_uri())
        item = _shown.look(path, file)
        if item is None:
            return
        for emblem in item.emblems:
            file.add_emblem(emblem)
        file.add_string_attribute("hydrant_state", item.words)

    def get_columns(self):
        return [
            Nemo.Column(
                name="HydrantExtension::state", attribute="hydrant_state", label="State",
                description="Whether the file is on this machine (Hydrant)"),
        ]

    def get_file_items(self, *arguments):
        paths = [hydrant_items.local_path(file.get_uri()) for file in arguments[-1]]
        if not paths or not all(map(_shown.items.knows, paths)):
            return []
        inner = Nemo.Menu()
        for action, label, tip in hydrant_items.menu(paths, [_shown.items.look(path) for path in paths]):
            entry = Nemo.MenuItem(name="HydrantExtension::" + action, label=label, tip=tip)
            entry.connect("activate", lambda _entry, action=action: hydrant_items.act(action, paths))
            inner.append_item(entry)
        top = Nemo.MenuItem(name="HydrantExtension::menu", label="Hydrant", tip="Files on demand")
        top.set_submenu(inner)
        return [top]

    def get_property_pages(self, files):
        path = hydrant_items.local_path(files[0].get_uri()) if len(files) == 1 else None
        if not _shown.items.knows(path):
            return []
        page = hydrant_items.grid(Gtk, path)
        label = Gtk.Label(label="Hydrant", visible=True)
        return [Nemo.PropertyPage(name="HydrantExtension::page", label=label, page=page)]
