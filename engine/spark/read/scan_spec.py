"""Description of a source table for its planner and its tasks."""

from __future__ import annotations

from dataclasses import dataclass

from engine import types
from engine.connectors import source_kind_of
from engine.connectors.base import Source, SparkRead, Table
from engine.plan.nodes import Fused, Partials, Scan
from engine.plan.tree import EVENT_TIME, HEARTBEAT, RETRACT, ROW_ID, WATERMARK
from engine.schema import Field, Schema
from engine.spark.read.planner import PlanSpec
from engine.spark.read.safe_table_names import safe_name

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
