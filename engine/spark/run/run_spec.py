"""Specification of a run: the program, its location and its settings. Does not import Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.udf.declared import UdfFile
from engine.values.cluster import ClusterSettings, has_other_disks, is_one_jvm
from engine.values.start_positions import Backfill, StartPosition


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


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Specification of a run. `max_epoch_rows` limits the rows of an epoch per source table. `epoch_interval` is the
    shortest time from the start of one epoch to the start of the next; without it, `linger` is the time from end to
    start."""

    name: str
    sql: str
    state_dir: Path
    parallelism: int = 1
    generation: int | None = None
    force: bool = False
    upgrade: StateUpgrade | None = None
    """How to take over the state of another query; without it, such a state is refused."""
    max_epoch_rows: int | None = None
    epoch_interval: timedelta = timedelta(0)
    linger: timedelta = timedelta(0)
    master: str | None = None
    shared_disk: bool = False
    """Whether the user has declared that all executors see `state_dir`."""
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    """What it asks of a cluster, if `master` is one."""
    quick: bool = False
    fuse: bool = False
    """Whether source tasks execute as much of the plan as they can. The state is the same either way."""
    count_state: bool = False
    """Whether rows in window state are counted exactly, at the cost of a look-up before each write."""
    by_pane: bool | None = False
    """Whether new windows store their state by pane if possible; None leaves it to `pane_choice`. Existing windows keep
    their form."""
    memory: str = "2g"
    default_sink: str = "stdout"
    conf: Mapping[str, str] = field(default_factory=dict)
    udfs: tuple[UdfFile, ...] = ()
    connections: str = field(default="", repr=False)
    owner: str | None = None
    """Name of the pipeline as the owner of targets; without one, its state directory gets a name."""
    predecessors: tuple[str, ...] = ()
    """Owners that have handed over their targets to it."""
    start_from: Mapping[str, StartPosition] = field(default_factory=dict)
    """Start positions of tables that the state has not read yet. They override the tables' options."""
    backfill: Backfill | None = None
    """Range of history to read."""
    is_rehearsal: bool = False
    """Whether sinks only store their rows for a comparison, and no read positions are committed to sources."""
    stand_ins: Path | None = None
    """Folder with files of rows that replace the tables, in a test."""
    keeps_state: bool = True
    """Whether the state directory outlives the run."""

    @property
    def is_on_cluster(self) -> bool:
        """Whether executors are processes of their own."""
        return self.master is not None and not is_one_jvm(self.master)

    @property
    def has_other_disks(self) -> bool:
        """Whether executors see another disk than the driver."""
        return has_other_disks(self.master, shared_disk=self.shared_disk)
