"""What a peer is asked for, and what it answers: a line of JSON each, so that a peer may live in another Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

PARALLELISM = 2
JARS = "NEXMARK_JARS"
"""The environment variable with what a peer's Java needs to read its input, with commas."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The tables in a broker: each has a topic of its name behind a prefix."""

    brokers: str
    prefix: str

    def of(self, table: str) -> str:
        """The name of a table's topic."""
        return self.prefix + table


@dataclass(frozen=True, slots=True)
class Turn:
    """One play of a query. `folder` has the tables, unless they are in `topics`; `epoch_rows` is how many rows of a
    table make an epoch, `fuse` and `check` (the option `bad_data.check`) are for ours; with `shows` the rows of the
    answer are wanted, otherwise they go nowhere."""

    query: str
    folder: str
    epoch_rows: int
    kind: str = "json"
    fuse: bool = False
    check: str = "all_columns"
    shows: bool = False
    topics: Topics | None = None

    @property
    def path(self) -> Path:
        """The folder of its input."""
        return Path(self.folder)

    def to_line(self) -> str:
        """As a peer reads it."""
        return json.dumps(asdict(self))

    @staticmethod
    def of_line(line: str) -> Turn:
        """What `to_line` has written."""
        content = json.loads(line)
        topics = content.pop("topics")
        return Turn(**content, topics=Topics(**topics) if topics else None)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of it: how many epochs there were, what time they spent on what, and the rows if they were wanted."""

    epochs: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    rows: Sequence[Sequence[object]] | None = None
    seconds: float = 0.0
    error: str = ""

    def to_line(self) -> str:
        """As the harness reads it."""
        return json.dumps(asdict(self), default=_plain)


Play = Callable[[Turn], Played]


def _plain(value: object) -> object:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return float(value)
    raise TypeError(f"{type(value)} is not expected in an answer")
