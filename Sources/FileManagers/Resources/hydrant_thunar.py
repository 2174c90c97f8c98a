"""Hydrant in Xfce's file manager (Thunar): a menu and properties. Written by `hydrant desktop install`."""

import sys

sys.path.append("@SHARED@")
_writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
import hydrant_items

sys.dont_write_bytecode = _writes

from gi.repository import GObject, Gtk

try:
    from gi.repository import Thunarx
except ImportError:
    # (An error here ends Thunar.)
    Thunarx = None

# (Thunar shows no emblems of extensions.)
_items = hydrant_items.Items(lambda changed: None)
_bases = (Thunarx.MenuProvider, Thunarx.PropertyPageProvider) if Thunarx else ()


class HydrantExtension(GObject.GObject, *_bases):
    def get_file_menu_items(self, _window, files):
        paths = [hydrant_items.local_path(file.get_uri()) for file in files]
        if not paths or not all(map(_items.knows, paths)):
            return []
        inner = Thunarx.Menu()
        for action, label, tip in hydrant_items.menu(paths, [_items.look(path) for path in paths]):
            entry = Thunarx.MenuItem(name="HydrantExtension::" + action, label=label, tooltip=tip, icon="")
            entry.connect("activate", lambda _entry, action=action: hydrant_items.act(action, paths))
            inner.append_item(entry)
        top = Thunarx.MenuItem(name="HydrantExtension::menu", label="Hydrant", tooltip="Files on demand", icon="")
        top.set_menu(inner)
        return [top]

    def get_property_pages(self, files):
        path = hydrant_items.local_path(files[0].get_uri()) if len(files) == 1 else None
        if not _items.knows(path):
            return []
        page = Thunarx.PropertyPage.new("Hydrant")
        page.add(hydrant_items.grid(Gtk, path))
        page.show_all()
        return [page]
