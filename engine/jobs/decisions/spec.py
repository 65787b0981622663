"""Desired state of a user: text and settings of a pipeline, and the state of its job."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from engine.errors import DurationError, SettingError
from engine.jobs.decisions.states import StopMode
from engine.values.cluster import complaint_about
from engine.values.durations import DEFAULT_LINGER, LONGEST_LINGER, read_duration
from engine.values.start_positions import Backfill, StartPosition, read_backfill, read_starts

RUN_SETTINGS: Mapping[str, str] = {
    "memory": "Heap of the driver's JVM, for example 4g.",
    "master": "Where Spark runs; by default as many local threads as the parallelism.",
    "shared_disk": "`on` declares that all executors of a `spark://` master see the directory of the state. That is "
    "probed at each start; `off` by default.",
    "quick": "`true` starts a driver sooner, at the price of speed later.",
    "linger": "How long a pipeline rests after an epoch before it looks for more input; 250 ms by default.",
    "max_epoch_rows": "How many rows of a table an epoch reads at most.",
    "fuse": "`on` has the tasks of the sources leave out what no query wants, and merge rows; `on` by default.",
    "count_state": "`on` counts the rows that windows keep, at the price of a look-up for each; `off` by default.",
    "isolation": "`shared` has the pipeline share a JVM with others on the machine that set it too; `own` by default.",
    "by_pane": "`on` keeps windows by pane, where they can be and begin with nothing, `off` does not; by default those "
    "over files that are all there.",
    "start_from": "Where tables begin that were not read yet: `clicks=earliest; orders=latest`.",
    "history_from": "The instant from which on history is read, by event time; then the job ends.",
    "history_to": "The instant before which history is read.",
    "history_stop_at": 'The offsets before which the history of tables ends: `clicks=offsets:{"0": 12}`.',
    "then_continue": "`on` goes on behind the history with what comes; `off` by default.",
    "partial_windows": "`on` accepts windows that history covers only in part; `off` by default.",
}
"""Settings of a pipeline's runs."""
_MEMORY = "2g"
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMOUNT = re.compile(r"([0-9]{1,15})([kmgt]?)")
_LEAST_MEGABYTES = 480
"""Spark does not start with less than 450 MB of usable memory, and reserves a part of the heap."""
_ON_OR_OFF = frozenset({"shared_disk", "fuse", "count_state", "by_pane", "then_continue", "partial_windows"})
_OTHER_PROCESSES = re.compile(r"local-cluster|spark:|k8s:|yarn")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a pipeline's runs. Users write them as texts, which `read_run_settings` parses."""

    memory: str = _MEMORY
    master: str | None = None
    shared_disk: bool = False
    quick: bool = False
    linger: timedelta = DEFAULT_LINGER
    max_epoch_rows: int | None = None
    fuse: bool = True
    count_state: bool = False
    is_shared: bool = False
    by_pane: bool | None = None
    start_from: Mapping[str, StartPosition] = field(default_factory=dict)
    backfill: Backfill | None = None


def read_run_settings(texts: Mapping[str, str]) -> RunSettings:
    """The settings that the texts name; refuses those that no run would heed, or that are not what they have to be, all
    of them at once."""
    complaints = [complaint for name, text in texts.items() if (complaint := _complaint(name, text))]
    if complaints:
        raise SettingError("; ".join(complaints), hint=f"the settings are {', '.join(RUN_SETTINGS)}")
    _refuse_shared_cluster(texts)
    max_epoch_rows = texts.get("max_epoch_rows")
    starts, backfill = _starts(texts.get("start_from", "")), _backfill(texts)
    return RunSettings(
        memory=texts.get("memory", _MEMORY),
        master=texts.get("master"),
        shared_disk=texts.get("shared_disk", "off").lower() == "on",
        quick=texts.get("quick", "false").lower() == "true",
        linger=read_duration(texts["linger"]) if "linger" in texts else DEFAULT_LINGER,
        max_epoch_rows=None if max_epoch_rows is None else int(max_epoch_rows),
        fuse=texts.get("fuse", "on").lower() == "on",
        count_state=texts.get("count_state", "off").lower() == "on",
        is_shared=texts.get("isolation", "own").lower() == "shared",
        by_pane=texts["by_pane"].lower() == "on" if "by_pane" in texts else None,
        start_from=starts,
        backfill=backfill,
    )


def _refuse_shared_cluster(texts: Mapping[str, str]) -> None:
    master = texts.get("master", "local")
    if texts.get("isolation", "own").lower() == "shared" and _OTHER_PROCESSES.match(master):
        raise SettingError(
            f"isolation = 'shared' is for pipelines that run on this machine, and master is {master!r}",
            hint="leave out master, or isolation",
        )


def _starts(text: str) -> Mapping[str, StartPosition]:
    return read_starts(_parts(text), "start_from")


def _backfill(texts: Mapping[str, str]) -> Backfill | None:
    return read_backfill(
        texts.get("history_from"),
        texts.get("history_to"),
        _parts(texts.get("history_stop_at", "")),
        goes_on=texts.get("then_continue", "off").lower() == "on",
        partial_windows=texts.get("partial_windows", "off").lower() == "on",
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


def _complaint(name: str, text: str) -> str | None:
    """Return what is wrong with a setting; None if nothing is."""
    match name:
        case "memory" if (wrong := _memory_complaint(text)) is not None:
            return f"memory {wrong}, and is {text!r}"
        case "master":
            return complaint_about(text)
        case "quick" if text.lower() not in ("true", "false"):
            return f"quick must be true or false, and is {text!r}"
        case "linger" if not _is_linger(text):
            return f"linger must be a length of time of at most 10 seconds, such as '250 ms', and is {text!r}"
        case "isolation" if text.lower() not in ("own", "shared"):
            return f"isolation must be own or shared, and is {text!r}"
        case "max_epoch_rows" if not (text.isascii() and text.isdigit() and int(text) > 0):
            return f"max_epoch_rows must be a whole number greater than zero, and is {text!r}"
        case _ if name in _ON_OR_OFF and text.lower() not in ("on", "off"):
            return f"{name} must be on or off, and is {text!r}"
        case _ if name not in RUN_SETTINGS:
            return f"{name!r} is not a setting of a pipeline"
    return None


def _is_linger(text: str) -> bool:
    try:
        return timedelta(0) <= read_duration(text) <= LONGEST_LINGER
    except DurationError:
        return False


def bytes_of_memory(text: str) -> int:
    """The bytes of an amount of memory such as 4g, which was found to be one."""
    amount = _AMOUNT.fullmatch(text.lower())
    assert amount is not None, text
    return int(amount[1]) * _BYTES[amount[2]]


def _memory_complaint(text: str) -> str | None:
    if _AMOUNT.fullmatch(text.lower()) is None:
        return "must be a whole number and a unit, such as 512m or 4g"
    if bytes_of_memory(text) < _LEAST_MEGABYTES * 2**20:
        return f"must be at least {_LEAST_MEGABYTES}m, which Spark needs to start"
    return None


@dataclass(frozen=True, slots=True)
class Spec:
    """What a user deploys under a name. Parallelism is not included: it changes without a new version."""

    query: str
    udfs: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    checkpoint_interval: timedelta | None = None

    @property
    def digest(self) -> str:
        """Equal for equal specs, whatever the order of the settings."""
        micros = None if self.checkpoint_interval is None else self.checkpoint_interval // timedelta(microseconds=1)
        text = json.dumps([self.query, list(self.udfs), sorted(self.settings.items()), micros])
        return hashlib.sha256(text.encode()).hexdigest()


class Bound(Protocol):
    """What a state depends on: the fingerprint of a plan, and a short text for the code that can read the stored
    objects of its functions; None if it was not recorded."""

    @property
    def fingerprint(self) -> str:
        """The plan's."""

    @property
    def objects(self) -> str | None:
        """Empty where no objects are kept."""


def is_bound_alike(one: Bound, other: Bound) -> bool:
    """Whether the state of one is also the state of the other. Where nobody knows about objects, the plan decides."""
    can_read = None in (one.objects, other.objects) or one.objects == other.objects
    return one.fingerprint == other.fingerprint and can_read


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """Result of planning a query: what its state depends on, its graph as JSON, its canonical form (`meaning`), and the
    targets that it must own."""

    fingerprint: str
    graph: str
    meaning: str
    targets: tuple[str, ...] = ()
    lasting: tuple[tuple[str, str], ...] = ()
    """Append-only sinks, each with its connector."""
    takes_back: tuple[str, ...] = ()
    """Sinks that take back output after a restored savepoint."""
    objects: str = ""
    """As in `Bound`."""

    def as_version(
        self,
        pipeline_id: str,
        number: int,
        spec: Spec,
        at: datetime,
        *,
        force: bool = False,
        upgrade: Upgrade | None = None,
    ) -> Version:
        """The spec that this is the plan of, once it is accepted."""
        return Version(
            pipeline_id,
            number,
            spec,
            self.fingerprint,
            self.graph,
            at,
            force=force,
            meaning=self.meaning,
            upgrade=upgrade,
            objects=self.objects,
        )


@dataclass(frozen=True, slots=True)
class Upgrade:
    """How a version takes over the state of the previous query. `keep_state` and `reset` name operators, sources and
    sinks: those whose state stays although its rows have changed, and those that may lose theirs."""

    keep_state: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    accept_loss: str | None = None
    """The plan whose losses are accepted."""
    savepoint_id: str | None = None
    """Savepoint that is taken of the old state before anything is changed."""
    from_version: int | None = None
    """Version of the old state, if it has the plan `from_plan`: another one may have replaced it in the meantime."""
    from_plan: str | None = None
    is_fork: bool = False
    """Whether the state is a savepoint of another pipeline, with other sinks."""
    repeated: tuple[str, ...] = ()
    """Sinks that get rows again because a source starts over."""
    hold_back: tuple[str, ...] = ()
    """Operators whose open windows are suppressed."""
    of_history: str | None = None
    """Lineage that the state must have: that of a savepoint of another pipeline, which replaces this one's."""


@dataclass(frozen=True, slots=True)
class ShownUpgrade:
    """Upgrade plan of a query, as text and as JSON. `id` identifies its content; `fingerprint` and `objects` are those
    of the state, as in `Bound`; `repeated` are sinks that get rows again. It `keeps_other_objects` if the state has
    stored objects of other code, though both have the same plan."""

    id: str
    fingerprint: str
    is_refused: bool
    loses_nothing: bool
    text: str
    markdown: str
    content: str
    repeated: tuple[str, ...] = ()
    keeps_other_objects: bool = False
    objects: str | None = None

    def with_texts(self, text: str, markdown: str, content: str) -> ShownUpgrade:
        """Return the shown upgrade in other words."""
        return replace(self, text=text, markdown=markdown, content=content)


@dataclass(frozen=True, slots=True)
class PlannedFork:
    """Plan of a fork from another pipeline's savepoint. `shared` describes targets that both would own."""

    upgrade: ShownUpgrade
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """An accepted spec: numbered from one, immutable. `graph` is the plan's graph as JSON."""

    pipeline_id: str
    number: int
    spec: Spec
    fingerprint: str
    graph: str
    created_at: datetime
    force: bool = False
    """Whether it may discard the state of another query."""
    predecessors: tuple[str, ...] = ()
    """Pipelines that have written its targets before, and no longer do."""
    meaning: str | None = None
    """Canonical form, equal for queries that run alike; None if it was not recorded."""
    upgrade: Upgrade | None = None
    """How it takes over the state of another query; None if that is refused, or the state is discarded."""
    objects: str | None = None
    """As in `Bound`."""


@dataclass(frozen=True, slots=True)
class Restore:
    """A savepoint to restore."""

    savepoint_id: str
    parallelism: int
    """Parallelism of the savepoint."""
    allow_replay: bool = False
    save_as: str | None = None
    """Savepoint that is taken of the current state before that, for the way back."""
    of_pipeline: str | None = None
    """Pipeline of the savepoint, if it is another one: then sink state is omitted."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Requester and time of a stop."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A name, and the desired state of its job. `restarts_asked` counts explicit requests to restart."""

    id: str
    name: str
    job_id: str
    version: int
    parallelism: int
    created_at: datetime
    stop: StopMode = "none"
    restarts_asked: int = 0
    restart_now: bool = False
    """Whether the latest restart request aborts the current epoch."""
    restore: Restore | None = None
    stop_request: StopRequest | None = None
    """Request of the stop; None while the pipeline is to run."""
    asked_by: str | None = None
    """Name of the token of the latest change."""
    revision: int = 0
    """Counts the writes of this record, so that a write based on an old read is refused."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Labels for grouping pipelines; no run depends on them."""
