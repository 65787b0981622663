"""Lowering of functions over the earlier rows of a partition, by event time."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.expressions.expr import Column, Expr
from engine.plan.nodes import EventTimeOver, NamedOver
from engine.plan.times import MOMENT
from engine.plan.tree import EVENT_TIME, ROW_ID
from engine.schema import Field, Schema
from engine.spark.lower.windowed import without_late
from engine.spark.printers.expressions import hash_to_sql, to_sql
from engine.spark.spark_types import spark_schema
from engine.spark.state.watermarked_buckets import run_by_watermark
from engine.types import TIMESTAMP
from engine.updating.accumulators.counts import Sorting
from engine.updating.event_time_over import EventTimeOverOperator, EventTimeOverSpec
from engine.updating.over_frames import OverCall
from engine.updating.state_columns import ROW


def lower_event_time_over(node: EventTimeOver, rows: DataFrame, late: str | None) -> DataFrame:
    """Return the rows that the watermark has passed; `late` is the name under which late rows are counted."""
    spec = _spec_of(node)
    columns: dict[str, Expr] = {
        f"c{index}": Column(field.name, field.type) for index, field in enumerate(node.input.schema)
    }
    columns |= {f"o{index}": order.expr for index, order in enumerate(node.order)}
    for index, function in enumerate(node.functions):
        columns |= {f"a{index}_{place}": argument for place, argument in enumerate(function.arguments)}
    keys = {f"p{index}": part for index, part in enumerate(node.partition)}
    computed = [F.expr(to_sql(expr)).alias(name) for name, expr in {**columns, **keys}.items()]
    stored = [Column(name, expr.type) for name, expr in columns.items() if name.startswith("c")]
    matched = hash_to_sql([Column(name, part.type) for name, part in keys.items()])
    hashes = {ROW_ID: F.expr(matched), ROW: F.expr(hash_to_sql(stored, seed=1))}
    in_time = without_late(rows, MOMENT, late, F.count_if)
    prepared = in_time.select(*computed, EVENT_TIME).withColumns(hashes).drop(*keys)
    shape = spark_schema(Schema((*spec.schema, Field(EVENT_TIME, TIMESTAMP))))
    return run_by_watermark(prepared, EventTimeOverOperator(spec), shape).toDF(*node.schema.names, EVENT_TIME)


def _spec_of(node: EventTimeOver) -> EventTimeOverSpec:
    schema = Schema(tuple(Field(f"c{index}", field.type, field.nullable) for index, field in enumerate(node.schema)))
    order = tuple(Sorting(by.expr.type, by.descending, by.nulls_first) for by in node.order)
    calls = tuple(map(_call_of, node.functions))
    return EventTimeOverSpec(schema, order, calls, node.partition_ends_after // timedelta(microseconds=1))


def _call_of(function: NamedOver) -> OverCall:
    assert function.frame is not None
    arguments = tuple(argument.type for argument in function.arguments)
    frame = function.frame
    ignores = function.ignore_nulls
    return OverCall(function.function, arguments, function.type, frame.unit, frame.start, frame.end or 0, ignores)
