"""Desired state of a user: text and settings of a pipeline, and the state of its job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from engine.jobs.decisions.states import StopMode


@dataclass(frozen=True, slots=True)
class Spec:
    """Deployed script and settings under a name. Parallelism is not included: it changes without a new version."""

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
    """Dependencies of a state: the fingerprint of a plan, and a short text for the code that can read the stored
    objects of its functions; None if it was not recorded."""

    @property
    def fingerprint(self) -> str:
        """The plan's."""

    @property
    def objects(self) -> str | None:
        """Empty where no objects are kept."""


def is_bound_alike(one: Bound, other: Bound) -> bool:
    """Whether the state of one is also the state of the other. If objects are unknown, the plan decides."""
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
    keeps_state: bool = False
    """Whether it has operators with state."""
    paths: tuple[str, ...] = ()
    """Files and directories of the disk that its sources and sinks name."""

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
        """Return the spec of this plan, once it is accepted."""
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
    """Options with which a version takes over the state of the previous query. Both name operators, sources and sinks:
    `keep_state` keeps their state although its rows have changed, `reset` may discard it."""

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
        """Return the upgrade with other texts."""
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
