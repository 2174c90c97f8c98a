"""Watches the store from outside: records which versions of which document were ever in it, in which order."""

import json
import os
import re

from documents import version
from store_watch import TEMPORARY, StoreWatch

# Only whole versions may appear under these names, but for made-N before its fsync. (Other new files that were not
# fsynced may be as the disk left them; copies and drafts as well.)
NAMES = re.compile(r"(saved|edited|read|other|made)-[0-9]+")


class VersionWatch(StoreWatch):
    """Writes a line for each content: [name, version or null, size]."""

    def look(self, path):
        if TEMPORARY.fullmatch(path) or not NAMES.fullmatch(path):
            return
        try:
            with open(os.path.join(self.store, path), "rb") as file:
                data = file.read()
        except OSError:
            return
        seen = [path, version(data, path), len(data)]
        os.write(self.record, (json.dumps(seen) + "\n").encode())
