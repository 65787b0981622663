"""Lowering of relations that process one row at a time."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.expressions.expr import Column
from engine.plan.nodes import Filter, Fused, Partials, Project, Scan, Union, WindowAggregate
from engine.plan.tree import EVENT_TIME, HEARTBEAT, HIDDEN, RETRACT, ROW_ID, WATERMARK, hidden_in, walk
from engine.spark.lower.udf_calls import with_calls
from engine.spark.printers.expressions import hash_to_sql, to_sql

EVENT_TIME_MARK = {"spark.watermarkDelayMs": 0}
"""Column metadata that makes Spark close the windows of this column by its watermark."""


def lower_scan(node: Scan | Fused | Partials, table: DataFrame) -> DataFrame:
    """Return the columns that the plan reads of a table that was opened by `open_table`."""
    return table.select(*(quoted(name) for name in node.schema.names), *hidden_in(table.columns, node.schema.names))


def open_table(raw: DataFrame) -> DataFrame:
    """Return a source's rows without its heartbeats, and with its watermark as Spark's, if it has one."""
    if HEARTBEAT not in raw.columns:
        return raw
    # User filters, and the loss of the heartbeats, stay above the watermark. Were they pushed below it, the rows they
    # remove would no longer move it.
    barred = raw.withWatermark(WATERMARK, "0 seconds").filter(_barred(f"NOT {HEARTBEAT}"))
    columns = [quoted(name) for name in raw.columns if name not in (EVENT_TIME, HEARTBEAT, WATERMARK)]
    event_time = F.col(EVENT_TIME).alias(EVENT_TIME, metadata=EVENT_TIME_MARK)
    return barred.select(*columns, event_time, F.col(WATERMARK).alias(WATERMARK, metadata={}))


def lower_filter(node: Filter, rows: DataFrame, *, is_streamed: bool) -> DataFrame:
    """Return the rows for which a condition is true. Spark may not push it below the windows of the stream part: it
    would push conditions over keys, and parts of those that reject NULL, and the state of the windows would depend on
    the query over their rows."""
    condition = to_sql(node.condition)
    if is_streamed and any(isinstance(below, WindowAggregate) for below in walk(node.input)):
        return rows.filter(_barred(f"coalesce({condition}, false)"))
    return rows.filter(F.expr(condition))


def _barred(condition: str) -> str:
    """Return a condition as one nondeterministic conjunct: it stays in its position, and others stay above it."""
    return f"({condition}) = (spark_partition_id() >= 0)"


def lower_project(node: Project, rows: DataFrame) -> DataFrame:
    """Return the expressions, and the hidden columns."""
    rows, exprs = with_calls(rows, [item.expr for item in node.columns])
    columns = [F.expr(to_sql(expr)).alias(item.name) for expr, item in zip(exprs, node.columns, strict=True)]
    return rows.select(*columns, *hidden_in(rows.columns, node.input.schema.names))


def lower_union(node: Union, parts: list[DataFrame]) -> DataFrame:
    """Return the rows of all inputs, by position. If one of them has changelog rows, each row of the others is an
    insert."""
    names = node.schema.names
    hidden = [hidden_in(part.columns, relation.schema.names) for relation, part in zip(node.inputs, parts, strict=True)]
    sides = [
        part.select(
            *(quoted(old).alias(new) for old, new in zip(relation.schema.names, names, strict=True)),
            *map(quoted, hidden_names),
        )
        for relation, part, hidden_names in zip(node.inputs, parts, hidden, strict=True)
    ]
    if any(RETRACT in hidden_names for hidden_names in hidden):
        columns = [Column(field.name, field.type) for field in node.schema]
        is_change = [ROW_ID in hidden_names for hidden_names in hidden]
        sides = [side if change else _all_added(columns, side) for side, change in zip(sides, is_change, strict=True)]
        hidden = [[*hidden_names, RETRACT, ROW_ID] for hidden_names in hidden]
    shared = [name for name in HIDDEN if all(name in hidden_names for hidden_names in hidden)]
    return reduce(DataFrame.union, [side.select(*map(quoted, (*names, *shared))) for side in sides])


def _all_added(columns: list[Column], rows: DataFrame) -> DataFrame:
    """Return rows of an append-only input as inserts; equal rows have the same id."""
    return rows.withColumns({RETRACT: F.lit(False), ROW_ID: F.expr(hash_to_sql(columns))})


def quoted(name: str):  # type: ignore[no-untyped-def]  # pyspark.sql.Column has two homes
    """Return the column of exactly that name."""
    return F.col("`" + name.replace("`", "``") + "`")
