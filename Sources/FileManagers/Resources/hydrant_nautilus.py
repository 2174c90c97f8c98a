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
        path = hydrant_items.local_path(file.get_uri())
        item = _shown.look(path, file)
        if item is None:
            return
        for emblem in item.emblems:
            file.add_emblem(emblem)
        file.add_string_attribute("hydrant_state", item.words)

    def get_columns(self):
        return [
            Nautilus.Column(
                name="HydrantExtension::state", attribute="hydrant_state", label="State",
                description="Whether the file is on this machine (Hydrant)"),
        ]

    # (Before Nautilus 43 the window comes first.)
    def get_file_items(self, *arguments):
        paths = [hydrant_items.local_path(file.get_uri()) for file in arguments[-1]]
        if not paths or not all(map(_shown.items.knows, paths)):
            return []
        entries = hydrant_items.menu(paths, [_shown.items.look(path) for path in paths])
        inner = Nautilus.Menu()
        for action, label, tip in entries:
            entry = Nautilus.MenuItem(name="HydrantExtension::" + action, label=label, tip=tip)
            entry.connect("activate", lambda _entry, action=action: hydrant_items.act(action, paths))
            inner.append_item(entry)
        top = Nautilus.MenuItem(name="HydrantExtension::menu", label="Hydrant", tip="Files on demand")
        top.set_submenu(inner)
        return [top]

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
