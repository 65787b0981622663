"""Description of a source table for its planner and its tasks, and the slices that an epoch's plan assigns to a
task.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from engine import types
from engine.connectors import source_kind_of
from engine.connectors.base import Position, Slice, Source, SparkRead, Table
from engine.plan.nodes import Fused, Partials, Scan
from engine.plan.tree import EVENT_TIME, HEARTBEAT, RETRACT, ROW_ID, WATERMARK
from engine.schema import Field, Schema
from engine.spark.read.planner import PlanSpec

CHANGES = Schema((Field(RETRACT, types.BOOLEAN), Field(ROW_ID, types.BIGINT)))
"""Hidden columns of changelog rows."""
BARE = Schema(())
"""Hidden columns if nothing uses event time."""
WITH_TIME = Schema((Field(EVENT_TIME, types.TIMESTAMP),))
"""Hidden columns if a sink uses the event time."""
WITH_WATERMARK = Schema((*WITH_TIME, Field(HEARTBEAT, types.BOOLEAN), Field(WATERMARK, types.TIMESTAMP)))
"""Hidden columns if windows must close."""


@dataclass(frozen=True, slots=True)
class ScanSpec:
    """A source table, its columns to read, the settings of its planner, and its hidden columns. `fused` operations run
    in the source task before Spark gets the rows."""

    table: Table
    scan: Scan
    plan: PlanSpec
    hidden: Schema
    fused: Fused | Partials | None = None
    tells_source: bool = True
    """Whether to commit read positions to the source."""

    @property
    def schema(self) -> Schema:
        """Return the schema of the table in Spark."""
        changes = CHANGES if self.scan.is_changes else Schema(())
        return Schema((*self.columns, *changes, *self.hidden))

    @property
    def columns(self) -> Schema:
        """Return the columns of the rows in Spark, without hidden ones: some of the table, and pre-aggregated
        values."""
        return self.scan.columns if self.fused is None else self.fused.schema

    @property
    def has_heartbeat(self) -> bool:
        """Whether each epoch has a heartbeat."""
        return self.hidden == WITH_WATERMARK

    @property
    def spark_read(self) -> SparkRead | None:
        """Return how Spark itself reads the table, if it does."""
        return source_kind_of(self.table).spark_read(self.table)

    def open(self) -> Source:
        """Return the table's source."""
        return source_kind_of(self.table).open(self.table)


def format_name(table: str) -> str:
    """Return the name a table's data source is registered under."""
    return f"arroyo_{safe_name(table)}"


@dataclass(frozen=True, slots=True)
class AssignedSlice:
    """A slice to read: its number within its partition, the number of slices of the partition, and the end of the
    partition's range."""

    slice: Slice
    index: int
    end: Position
    count: int = 1


@dataclass(frozen=True, slots=True)
class EpochMoment:
    """Times of an epoch in microseconds: the watermark of its rows, and the time of planning, which is the event time
    of rows without one. Rows before `since`, and from `until` on, are dropped."""

    watermark: int
    planned: int
    since: int | None = None
    until: int | None = None


def safe_name(table: str) -> str:
    """Return a name that is safe as a part of a path and different for every table, whatever its name is; case does not
    matter."""
    lower = table.lower()
    readable = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in lower)[:40]
    return f"{readable}_{hashlib.sha256(lower.encode()).hexdigest()[:8]}"
