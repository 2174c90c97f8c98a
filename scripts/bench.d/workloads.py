"""The workloads: each measures one thing on one system, by the name that `--only` takes."""

import dataclasses


@dataclasses.dataclass
class Goal:
    """What Hydrant is to reach. Several: the easier one counts."""

    native: float | None = None
    value: float | None = None
    reference: float | None = None

    def limit(self, more_is_better, native, reference):
        limits = []
        if self.native is not None and native:
            limits.append(native * self.native)
        if self.value is not None:
            limits.append(self.value)
        if self.reference is not None and reference:
            limits.append(reference * self.reference)
        if not limits:
            return None
        return min(limits) if more_is_better else max(limits)

    def words(self):
        parts = []
        if self.native is not None:
            parts.append(f"{self.native:g} × native")
        if self.value is not None:
            parts.append(f"{self.value:g}")
        if self.reference is not None:
            parts.append(f"{self.reference:g} × server")
        return ", or ".join(parts)


@dataclasses.dataclass
class Figure:
    """One row of the table."""

    name: str
    title: str
    unit: str
    goal: Goal | None = None

    @property
    def more_is_better(self):
        return "/s" in self.unit


# Which systems a workload is measured on.
ALL = ("native", "hydrant", "hydrant-copying", "user", "user-copying", "rclone")
# Where passthrough plays no part.
SYNC = ("native", "hydrant", "user", "rclone")
# And where what the kernel's requests alone cost is a measure.
WRITING = ("native", "bindfs", "hydrant", "user", "rclone")
REMOTE = ("hydrant", "user", "rclone")
OURS = ("hydrant", "user")


class Workload:
    """`begin` and `end` once for each system, `sample` as often as there are rounds, the systems in turn."""

    name = ""
    figures = []
    systems = ALL
    network = "lan"
    needs_root = False
    # Rounds at most, where one takes long.
    rounds = 99

    def __init__(self, bench):
        self.bench = bench
        self.datasets = bench.datasets

    def prepare(self):
        """Before any system: what lies on the server."""

    def begin(self, system):
        pass

    def sample(self, system):
        """A figure for each of `figures`."""
        raise NotImplementedError

    def end(self, system):
        system.close()

    def reference(self):
        """What the server alone takes, where that is a measure: a figure for each of `figures`, or none."""

    def finish(self):
        pass
