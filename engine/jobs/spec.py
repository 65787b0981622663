"""What a user wants: the text and settings of a pipeline, and how its job should be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.jobs.states import StopMode

RUN_SETTINGS: Mapping[str, str] = {
    "memory": "Heap of the driver's JVM, for example 4g.",
    "master": "Where Spark runs; as many local threads as the parallelism when not given.",
    "quick": "With true a driver starts sooner and is slower at its best.",
    "max_epoch_rows": "At most so many rows of a table are read in an epoch.",
}
"""What may be set of a pipeline's runs."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a user deploys under a name. Parallelism is not part of it: it changes without a new version."""

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


@dataclass(frozen=True, slots=True)
class Version:
    """A spec once it was accepted: numbered from one, never changed. `graph` is the plan's picture as JSON text."""

    pipeline_id: str
    number: int
    spec: Spec
    fingerprint: str
    graph: str
    created_at: datetime
    force: bool = False
    """Whether it may take over state that another query has left."""


@dataclass(frozen=True, slots=True)
class Restore:
    """A wish to go on from a savepoint."""

    savepoint_id: str
    parallelism: int
    """The parallelism the savepoint was taken at."""
    allow_replay: bool = False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A name, and what is wanted of its job now. `restarts_asked` counts the explicit requests to start again."""

    id: str
    name: str
    job_id: str
    version: int
    parallelism: int
    created_at: datetime
    stop: StopMode = "none"
    restarts_asked: int = 0
    restart_now: bool = False
    """Whether the latest request to start again gives up the epoch in hand."""
    restore: Restore | None = None
    revision: int = 0
    """Counts the writes of this record, so that a write based on an old reading is refused."""
