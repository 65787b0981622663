"""What a planner and its tasks must know of one source table."""

from __future__ import annotations

from dataclasses import dataclass

from engine import types
from engine.connectors import connector_of
from engine.connectors.base import Source, SparkRead, Table
from engine.plan.hidden import EVENT_TIME, HEARTBEAT, RETRACT, ROW_ID, WATERMARK
from engine.plan.nodes import Fused, Partials, Scan
from engine.schema import Field, Schema
from engine.spark.read.planner import PlanSpec
from engine.spark.read.safe_table_names import safe_name

CHANGES = Schema((Field(RETRACT, types.BOOLEAN), Field(ROW_ID, types.BIGINT)))
"""Hidden columns of a change stream."""
BARE = Schema(())
"""Hidden columns where nothing looks at time."""
WITH_TIME = Schema((Field(EVENT_TIME, types.TIMESTAMP),))
"""Hidden columns where a sink wants the event time."""
WITH_WATERMARK = Schema((*WITH_TIME, Field(HEARTBEAT, types.BOOLEAN), Field(WATERMARK, types.TIMESTAMP)))
"""Hidden columns where windows must close."""


@dataclass(frozen=True, slots=True)
class ScanSpec:
    """A source table, what is read of it, how its epochs are planned, and what is hidden in its rows. What is `fused`
    is done with the rows before Spark has them."""

    table: Table
    scan: Scan
    plan: PlanSpec
    hidden: Schema
    fused: Fused | Partials | None = None
    tells_source: bool = True
    """Whether the source is told how far it was read."""

    @property
    def schema(self) -> Schema:
        """Return the schema of the table in Spark."""
        changes = CHANGES if self.scan.is_changes else Schema(())
        return Schema((*self.columns, *changes, *self.hidden))

    @property
    def columns(self) -> Schema:
        """The columns that Spark has, but for hidden ones: some of the table, and what was merged of its rows."""
        return self.scan.columns if self.fused is None else self.fused.schema

    @property
    def has_heartbeat(self) -> bool:
        """Whether each epoch has a heartbeat."""
        return self.hidden == WITH_WATERMARK

    @property
    def spark_read(self) -> SparkRead | None:
        """Return how Spark itself reads the table, if it does."""
        return connector_of(self.table).spark_read(self.table)

    def open(self) -> Source:
        """The table's source."""
        opener = connector_of(self.table).open_source
        assert opener is not None, self.table.connector
        return opener(self.table)


def format_name(table: str) -> str:
    """The name a table's data source is registered under."""
    return f"arroyo_{safe_name(table)}"
