"""Records the demo of the README: runs its commands at a real mount and draws their output as an SVG.

    python3 demo.py HYDRANT"""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

COMMANDS = [
    "hydrant mount dir:/srv/documents Documents",
    "ls -lh Documents",
    "du -sh Documents",
    "head -n 1 Documents/report.txt",
    "hydrant status Documents/*",
    "echo 'a line more' >> Documents/report.txt",
    "hydrant sync && tail -n 1 /srv/documents/report.txt",
]
# The documents of the store, with their sizes in bytes.
DOCUMENTS = {"holiday.mp4": 2_400_000_000, "manual.pdf": 31_000_000, "report.txt": 0}
CELL, LINE, MARGIN = 8.4, 20, 16


def make_store(store):
    for name, size in DOCUMENTS.items():
        with open(store / name, "wb") as file:
            file.truncate(size)
    (store / "report.txt").write_text("Files on demand\n" + "A paragraph of the report.\n" * 500)
    for name in DOCUMENTS:
        os.utime(store / name, (1_790_000_000, 1_790_000_000))


def record(hydrant, folder):
    """The commands as a person would type them, and their output; with the paths for the reader."""
    store = folder / "store"
    store.mkdir()
    make_store(store)
    (folder / "Documents").mkdir()
    environment = {
        **os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8", "PATH": f"{hydrant.parent}:{os.environ['PATH']}",
        **{f"XDG_{name}": str(folder / name.lower()) for name in ("DATA_HOME", "STATE_HOME", "CONFIG_HOME", "RUNTIME_DIR")}}
    lines = []
    try:
        for command in COMMANDS:
            done = subprocess.run(
                ["sh", "-c", command.replace("/srv/documents", str(store))], cwd=folder, env=environment, timeout=60,
                capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"demo: {command}: {done.stderr}")
            lines.append(("command", command))
            for line in (done.stdout + done.stderr).splitlines():
                line = line.replace(str(store), "/srv/documents").replace(str(folder), "~")
                lines.append(("output", re.sub(r"root( +)root", "ada ada", line)))
    finally:
        subprocess.run([hydrant, "unmount", folder / "Documents"], env=environment, capture_output=True, timeout=60)
    return lines


def draw(lines):
    width = max(len(text) + 2 for _, text in lines) * CELL + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-size="14" '
        'font-family="ui-monospace, DejaVu Sans Mono, monospace">',
        '<rect width="100%" height="100%" rx="8" fill="#1d1f21"/>']
    for number, (kind, text) in enumerate(lines):
        shown = f'<tspan fill="#8abeb7">$ </tspan>{html.escape(text)}' if kind == "command" else html.escape(text)
        colour = "#ffffff" if kind == "command" else "#c5c8c6"
        parts.append(
            f'<text x="{MARGIN}" y="{MARGIN + number * LINE + 14}" fill="{colour}" xml:space="preserve">{shown}</text>')
    return "\n".join(parts + ["</svg>", ""])


def main():
    hydrant = pathlib.Path(sys.argv[1]).resolve()
    picture = pathlib.Path(__file__).resolve().parents[2] / "Sources/hydrant/Documentation.docc/Resources/demo.svg"
    with tempfile.TemporaryDirectory(prefix="hydrant-demo-") as folder:
        lines = record(hydrant, pathlib.Path(folder))
        # The daemon ends a moment after the unmount.
        time.sleep(1)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(draw(lines))
    print(f"demo: {picture}: {len(lines)} lines")


main()
