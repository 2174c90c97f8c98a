"""Shows the results as lines on the terminal, as JSON, and as a table and a chart in the docs."""

import json
import pathlib
import sys


# Systems without goals.
OTHERS = ("native", "bindfs", "rclone")


def shown(value, unit):
    if value is None:
        return "–"
    if unit in ("MB/s", "tx/s") or value >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


class Lines:
    """Prints one line per result, at once."""

    def __init__(self, described):
        self.names = list(described["systems"])
        print(
            f"Linux {described['kernel']}, {described['cpus']} CPUs, {described['filesystem']}; "
            f"medians of {described['rounds']}; * missed\n\n"
            + f"{'':58}" + "".join(f"{name:>16}" for name in self.names) + f"{'server':>10}  goal", flush=True)

    def add(self, result):
        figure = result.figure
        title = f"{figure.title}{', ' + figure.unit if figure.unit else ''}"
        cells = ""
        for name in self.names:
            cell = shown(result.medians.get(name), figure.unit)
            cells += f"{cell + ('*' if result.is_met(name) is False and name not in OTHERS else ''):>16}"
        goal = "" if not figure.goal else f"{shown(result.limit, figure.unit)} ({figure.goal.words()})"
        print(f"{title:58.58}{cells}{shown(result.reference, figure.unit):>10}  {goal}", flush=True)
        for name, traffic in result.traffic.items():
            if name in self.names and traffic["requests"]:
                methods = ", ".join(f"{count} {method}" for method, count in sorted(traffic["methods"].items()))
                print(
                    f"    {name}: {methods}; {traffic['received']:,} bytes in, {traffic['sent']:,} out", flush=True)


def merge(path, described, objects, order):
    """Merges results into those of an earlier run: the newest of each workload.

    `order`: the names of all figures, in the table's order."""
    earlier = json.loads(path.read_text()) if path.exists() else {"results": []}
    new = {found["name"] for found in objects}
    for found in objects:
        found["date"], found["revision"] = described["date"], described["revision"]
    kept = [found for found in earlier["results"] if found["name"] not in new]
    place = {name: number for number, name in enumerate(order)}
    results = sorted(kept + objects, key=lambda found: place.get(found["name"], len(place)))
    draft = pathlib.Path(f"{path}.new")
    draft.write_text(json.dumps({**described, "results": results}, indent=1, ensure_ascii=False) + "\n")
    draft.rename(path)
