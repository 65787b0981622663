"""Specification of a run: the program, its location and its settings. Does not import Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.udf.declared import UdfFile
from engine.values.cluster import ClusterSettings, has_other_disks, is_one_jvm
from engine.values.run_settings import RunSettings


@dataclass(frozen=True, slots=True)
class StateUpgrade:
    """Settings for taking over the state of another query. `keep_state` and `reset` name state to discard, and
    `accept_loss` the plan whose losses are accepted. The old state is first saved as `savepoint_id`, with the number
    `from_version` if its fingerprint is `from_plan`. The state of a fork is a copy of another pipeline's, and its sinks
    are new. Open windows of the operators in `hold_back` are not emitted. If `of_history` is set, the state must have
    that lineage."""

    keep_state: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    accept_loss: str | None = None
    savepoint_id: str | None = None
    from_version: int | None = None
    from_plan: str | None = None
    is_fork: bool = False
    hold_back: tuple[str, ...] = ()
    of_history: str | None = None


PLAIN_SETTINGS = RunSettings(linger=timedelta(0), fuse=False, by_pane=False)
"""Settings of a run without pauses and optimizations, for warm-ups, rehearsals and tests."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Specification of a run. `epoch_interval` is the shortest time from the start of one epoch to the start of the
    next; without it, the setting `linger` is the time from end to start."""

    name: str
    sql: str
    state_dir: Path
    parallelism: int = 1
    generation: int | None = None
    force: bool = False
    upgrade: StateUpgrade | None = None
    """How to take over the state of another query; without it, such a state is refused."""
    epoch_interval: timedelta = timedelta(0)
    settings: RunSettings = PLAIN_SETTINGS
    default_sink: str = "stdout"
    conf: Mapping[str, str] = field(default_factory=dict)
    udfs: tuple[UdfFile, ...] = ()
    connections: str = field(default="", repr=False)
    owner: str | None = None
    """Name of the pipeline as the owner of targets; without one, its state directory gets a name."""
    predecessors: tuple[str, ...] = ()
    """Owners that have handed over their targets to it."""
    is_rehearsal: bool = False
    """Whether sinks only store their rows for a comparison, and no read positions are committed to sources."""
    stand_ins: Path | None = None
    """Folder with files of rows that replace the tables, in a test."""
    keeps_state: bool = True
    """Whether the state directory outlives the run."""

    @property
    def master(self) -> str | None:
        """Return the Spark master, if it is not in this process."""
        return self.settings.master

    @property
    def shared_disk(self) -> bool:
        """Whether the user has declared that all executors see `state_dir`."""
        return self.settings.shared_disk

    @property
    def cluster(self) -> ClusterSettings:
        """Return the settings of the cluster and of the state's location."""
        return self.settings.cluster

    @property
    def is_on_cluster(self) -> bool:
        """Whether executors are separate processes."""
        return self.master is not None and not is_one_jvm(self.master)

    @property
    def has_other_disks(self) -> bool:
        """Whether executors see another disk than the driver."""
        return has_other_disks(self.master, shared_disk=self.shared_disk)
