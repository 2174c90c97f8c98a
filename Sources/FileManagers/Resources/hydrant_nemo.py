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
        _shown.describe(file)

    def get_columns(self):
        return _shown.columns(Nemo)

    def get_file_items(self, *arguments):
        return _shown.menu_items(Nemo, arguments[-1])

    def get_property_pages(self, files):
        path = hydrant_items.local_path(files[0].get_uri()) if len(files) == 1 else None
        if not _shown.items.knows(path):
            return []
        page = hydrant_items.grid(Gtk, path)
        label = Gtk.Label(label="Hydrant", visible=True)
        return [Nemo.PropertyPage(name="HydrantExtension::page", label=label, page=page)]
