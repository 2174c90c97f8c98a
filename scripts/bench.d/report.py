"""Shows the results as lines on the terminal, as JSON, and as a table and a chart in the docs."""

import json
import pathlib
import sys


# Systems without goals.
OTHERS = ("native", "bindfs", "rclone", "s3fs")


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


class Earlier:
    """The results of another run, of the same machine. A row is compared by its ratio to the native file system of the same
    run where it has one, because machines are not equally fast every day."""

    SLOWER = 1.1

    def __init__(self, path):
        try:
            self.results = {found["name"]: found for found in json.loads(path.read_text())["results"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"bench: {path}: not the results of a run (--json): {error}") from None
        self.path = path

    def compare(self, objects):
        """Prints a line for each row and system that got more than a tenth slower."""
        slower, compared = [], 0
        for found in objects:
            before = self.results.get(found["name"])
            for name, value in found["medians"].items() if before else ():
                if name in OTHERS or not value or not before["medians"].get(name):
                    continue
                compared += 1
                now, then = self.speed(found, name), self.speed(before, name)
                if now * self.SLOWER < then:
                    unit = found["unit"]
                    slower.append(
                        f"{found['title']}, {name}: {shown(value, unit)} {unit}, {shown(before['medians'][name], unit)} before; "
                        f"{(then / now - 1) * 100:.0f} % slower"
                        + (" (beside native)" if self.native(found) and self.native(before) else ""))
        print(f"\n{compared} figures compared with {self.path}: {len(slower)} got more than 10 % slower", flush=True)
        for line in slower:
            print(f"  {line}", flush=True)

    @staticmethod
    def native(found):
        return found["medians"].get("native")

    def speed(self, found, name):
        """More is faster. Relative to native if both runs have that."""
        other = self.results[found["name"]]
        value = found["medians"][name]
        if self.native(found) and self.native(other):
            value /= self.native(found)
        return value if "/s" in found["unit"] else 1 / value


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
