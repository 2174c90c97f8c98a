"""Hydrant in GNOME's Files (Nautilus). Written by `hydrant desktop install`."""

import sys

sys.path.append("@SHARED@")
_writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
import hydrant_items

sys.dont_write_bytecode = _writes

from gi.repository import Gio, GObject, Nautilus

_shown = hydrant_items.Shown()
# (Nautilus 43 has models of properties where earlier ones have pages.)
_bases = [Nautilus.InfoProvider, Nautilus.ColumnProvider, Nautilus.MenuProvider]
if hasattr(Nautilus, "PropertiesModelProvider"):
    _bases.append(Nautilus.PropertiesModelProvider)


class HydrantExtension(GObject.GObject, *_bases):
    def update_file_info(self, file):
        _shown.describe(file)

    def get_columns(self):
        return _shown.columns(Nautilus)

    # (Before Nautilus 43 the window comes first.)
    def get_file_items(self, *arguments):
        return _shown.menu_items(Nautilus, arguments[-1])

    def get_models(self, files):
        path = hydrant_items.local_path(files[0].get_uri()) if len(files) == 1 else None
        item = _shown.items.look(path)
        if item is None:
            return []
        model = Gio.ListStore.new(Nautilus.PropertiesItem)
        for name, value in item.rows():
            model.append(Nautilus.PropertiesItem(name=name, value=value))

        def answered(status):
            if status.get("version"):
                model.append(Nautilus.PropertiesItem(name="Version", value=status["version"]))

        hydrant_items.ask_status(path, answered)
        return [Nautilus.PropertiesModel(title="Hydrant", model=model)]
