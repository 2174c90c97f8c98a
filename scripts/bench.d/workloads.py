"""The workloads: each measures one thing on one system, under the name for `--only`."""

import dataclasses


@dataclasses.dataclass
class Goal:
    """Hydrant's goal. Of several, the easier one counts."""

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


# The systems for a workload.
ALL = ("native", "hydrant", "hydrant-ring", "hydrant-copying", "user", "user-copying", "rclone")
# Workloads without effect of passthrough.
SYNC = ("native", "hydrant", "hydrant-ring", "user", "rclone")
# Workloads for which the cost of the kernel's requests alone is a yardstick.
WRITING = ("native", "bindfs", "hydrant", "hydrant-ring", "user", "rclone")
REMOTE = ("hydrant", "hydrant-ring", "user", "rclone")
OURS = ("hydrant", "user")


class Workload:
    """`begin` and `end` run once for each system, `sample` once per round, with the systems in turn."""

    name = ""
    figures = []
    systems = ALL
    network = "lan"
    needs_root = False
    # The most rounds, for slow workloads.
    rounds = 99

    def __init__(self, bench):
        self.bench = bench
        self.datasets = bench.datasets

    def candidates(self):
        """The systems of which `systems` names some."""
        return self.bench.systems

    def prepare(self):
        """Prepares the server, before any system."""

    def begin(self, system):
        pass

    def sample(self, system):
        """A figure for each of `figures`."""
        raise NotImplementedError

    def end(self, system):
        system.close()

    def reference(self):
        """The server's own figures, where they are a yardstick: one for each of `figures`, or none."""

    def finish(self):
        pass
