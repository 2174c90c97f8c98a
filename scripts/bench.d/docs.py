"""Writes the results of scripts/bench into the docs: the table between the two marks of Speed.md, and the chart.

    python3 docs.py RESULTS.json FOLDER_OF_THE_DOCS"""

import html
import json
import math
import pathlib
import re
import sys

from report import shown

COLUMNS = [
    ("native", "native"), ("bindfs", "bindfs"), ("rclone", "rclone"), ("s3fs", "s3fs"), ("hydrant", "Hydrant"),
    ("hydrant-ring", "over io_uring"), ("hydrant-copying", "without passthrough"),
    ("user", "ordinary user"), ("user-copying", "and without passthrough"),
]


def table(results):
    lines = ["| | " + " | ".join(title for _, title in COLUMNS) + " | goal |", "|---" * (len(COLUMNS) + 2) + "|"]
    for found in results["results"]:
        cells = []
        for name, _ in COLUMNS:
            cell = shown(found["medians"].get(name), found["unit"])
            cells.append(f"**{cell}**" if found["met"].get(name) is False else cell)
        goal = "" if found["goal"] is None else f"{shown(found['goal'], found['unit'])} ({found['goalText']})"
        unit = f", {found['unit']}" if found["unit"] else ""
        once = " ¹" if found["rounds"] == 1 else ""
        lines.append(f"| {found['title']}{unit}{once} | " + " | ".join(cells) + f" | {goal} |")
    system = (
        f"Linux {results['kernel']}, {results['cpus']} CPUs, {results['filesystem']}; {results['server']}; "
        f"{results['rclone'] or 'no rclone'}; SeaweedFS {number(results.get('weed'))}; "
        f"s3fs {number(results.get('s3fs'))}; medians of three, ¹ measured once; {results['date']}. "
        "Bold: the goal is missed.")
    return "\n".join([system, "", *lines])


def number(version):
    """The number in what a program says of its version."""
    found = re.search(r"\b[Vv]?(\d+\.\d+(\.\d+)*)\b", version or "")
    return found[1] if found else "–"


def chart(results):
    """The speed as a multiple of native, a bar for each row that has both; a logarithmic scale."""
    rows = [
        (found["title"], {name: found["toNative"].get(name) for name in ("hydrant", "user")}, native_to_rclone(found))
        for found in results["results"] if found["toNative"].get("hydrant")]
    height, left, width = 26, 330, 420
    low, high = 0.001, 2.0

    def place(value):
        value = min(max(value, low), high)
        return left + width * (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height * len(rows) + 60}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>']
    for mark in (0.001, 0.01, 0.1, 1):
        parts.append(
            f'<line x1="{place(mark):.1f}" y1="24" x2="{place(mark):.1f}" y2="{height * len(rows) + 30}" stroke="#ccc"/>'
            f'<text x="{place(mark):.1f}" y="18" text-anchor="middle" fill="#555">{mark:g} × native</text>')
    for index, (title, ours, rclone) in enumerate(rows):
        top = 30 + index * height
        parts.append(f'<text x="{left - 8}" y="{top + 15}" text-anchor="end">{html.escape(title[:52])}</text>')
        bars = [("#1f77b4", ours["hydrant"], 3, 8), ("#999999", rclone, 12, 8)]
        for colour, value, offset, thick in bars:
            if value:
                parts.append(
                    f'<rect x="{left}" y="{top + offset}" width="{place(value) - left:.1f}" height="{thick}" '
                    f'fill="{colour}"/>')
    bottom = 30 + height * len(rows) + 18
    parts.append(
        f'<rect x="{left}" y="{bottom - 9}" width="10" height="9" fill="#1f77b4"/><text x="{left + 15}" y="{bottom}">'
        f'Hydrant</text><rect x="{left + 90}" y="{bottom - 9}" width="10" height="9" fill="#999999"/>'
        f'<text x="{left + 105}" y="{bottom}">rclone</text></svg>')
    return "\n".join(parts) + "\n"


def native_to_rclone(found):
    ours, theirs = found["toNative"].get("hydrant"), found["toRclone"].get("hydrant")
    return ours / theirs if ours and theirs else None


def main():
    results, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    page = folder / "Speed.md"
    text = page.read_text()
    marks = re.compile(r"(<!-- scripts/bench -->\n).*?(\n<!-- end -->)", re.S)
    if not marks.search(text):
        raise SystemExit(f"docs.py: {page} has no place for the table (<!-- scripts/bench --> … <!-- end -->)")
    page.write_text(marks.sub(lambda found: found[1] + table(results) + found[2], text))
    (folder / "Resources").mkdir(exist_ok=True)
    (folder / "Resources" / "speed.svg").write_text(chart(results))


main()
