"""What a run is told: what is to be run, and where. Nothing of Spark is imported to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.udf.declared import UdfFile
from engine.values.backfill import Backfill
from engine.values.cluster import ClusterSettings
from engine.values.start_positions import StartPosition


@dataclass(frozen=True, slots=True)
class StateUpgrade:
    """That the run takes over the state of another query. `keep_state` and `reset` name what is given up of it, and
    `accept_loss` the plan whose losses are accepted; `savepoint_id` is what the old state is saved as before, of which
    `from_version` is the number if its fingerprint is `from_plan`. A fork's state is that of another pipeline, whose
    sinks are none of its own. Of the operators in `hold_back` the windows that are open are not given out. The state
    must have come from `of_history`, where that is said."""

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
    """What is to be run, and where. `max_epoch_rows` limits each source table's rows in an epoch; `epoch_interval` is
    the least time from the start of one epoch to that of the next; without it, `linger` is that from end to start."""

    name: str
    sql: str
    state_dir: Path
    parallelism: int = 1
    generation: int | None = None
    force: bool = False
    upgrade: StateUpgrade | None = None
    """How it takes over the state of another query, which is refused otherwise."""
    max_epoch_rows: int | None = None
    epoch_interval: timedelta = timedelta(0)
    linger: timedelta = timedelta(0)
    master: str | None = None
    shared_disk: bool = False
    """Whether somebody has declared that all executors see `state_dir`."""
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    """What it asks of a cluster, if `master` is one."""
    quick: bool = False
    fuse: bool = False
    """Whether the tasks of the sources do what they can of the plan. It is no part of the state, which is the same."""
    count_state: bool = False
    """Whether the rows that windows keep are counted: exact, and a look-up before each is written."""
    by_pane: bool | None = False
    """Whether windows that begin with nothing are kept by pane, where they can be; None leaves it to `pane_choice`.
    Those that are there stay as they are kept."""
    memory: str = "2g"
    default_sink: str = "stdout"
    conf: Mapping[str, str] = field(default_factory=dict)
    udfs: tuple[UdfFile, ...] = ()
    connections: str = field(default="", repr=False)
    owner: str | None = None
    """What the pipeline is called among the owners of targets; without one, its state directory gets a name."""
    predecessors: tuple[str, ...] = ()
    """Owners that have left its targets to it."""
    start_from: Mapping[str, StartPosition] = field(default_factory=dict)
    """Where tables begin that the state has not read yet, instead of where their options say."""
    backfill: Backfill | None = None
    """The range of history that it reads."""
    is_rehearsal: bool = False
    """Whether its sinks only keep their rows for a comparison, and its sources are not told how far they were read."""
    stand_ins: Path | None = None
    """The folder with the files of rows that take the place of its tables, in a test."""
    keeps_state: bool = True
    """Whether the state directory outlives the run."""
