"""Lowering of what keeps rows that may change."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.plan.expr import Column, Literal
from engine.plan.nodes import RETRACT, ROW_ID, UpdatingAggregate, is_updating
from engine.plan.tree import EVENT_TIME
from engine.schema import Field, Schema
from engine.spark.buckets import run_in_buckets
from engine.spark.columns import hash_to_sql, to_sql
from engine.spark.types import spark_schema
from engine.updating.accumulators.base import Measure
from engine.updating.aggregate import AggregateOperator, AggregateSpec

_CHANGE = (
    Field(EVENT_TIME, types.TIMESTAMP),
    Field(RETRACT, types.BOOLEAN, nullable=False),
    Field(ROW_ID, types.BIGINT, nullable=False),
)


def lower_updating_aggregate(node: UpdatingAggregate, rows: DataFrame) -> DataFrame:
    """The changes of the aggregation, with the hidden columns of changes."""
    calls = [one.aggregate for one in node.aggregates]
    measures = tuple(
        Measure(
            call.function,
            tuple(argument.type for argument in call.arguments),
            call.type,
            distinct=call.distinct,
            has_condition=call.condition is not None,
        )
        for call in calls
    )
    spec = AggregateSpec(
        schema=numbered(node.schema),
        key_count=len(node.keys),
        measures=measures,
        only_appends=not is_updating(node.input),
        ttl=node.ttl // timedelta(microseconds=1),
    )
    columns = {f"k{index}": key.expr for index, key in enumerate(node.keys)}
    for index, call in enumerate(calls):
        columns |= {f"a{index}_{place}": argument for place, argument in enumerate(call.arguments)}
        if call.condition is not None:
            columns[f"c{index}"] = call.condition
    hidden = [EVENT_TIME, RETRACT] if is_updating(node.input) else [EVENT_TIME]
    prepared = rows.select(*(F.expr(to_sql(expr)).alias(name) for name, expr in columns.items()), *hidden)
    keys = [Column(f"k{index}", key.expr.type) for index, key in enumerate(node.keys)]
    hashes = {ROW_ID: F.expr(hash_to_sql(keys))}
    for index in spec.kept_values:
        values = [Column(f"a{index}_{place}", kind) for place, kind in enumerate(measures[index].arguments)]
        hashes[f"v{index}"] = F.expr(hash_to_sql(values or [Literal(0, types.BIGINT)]))
    operator = AggregateOperator(spec)
    shape = Schema((*spec.schema, *_CHANGE))
    stepped = run_in_buckets([(prepared.withColumns(hashes), operator)], operator, spark_schema(shape))
    return stepped.toDF(*node.schema.names, *(field.name for field in _CHANGE))


def numbered(schema: Schema) -> Schema:
    """The same columns under names that anything can pass on."""
    return Schema(tuple(Field(f"c{index}", field.type, field.nullable) for index, field in enumerate(schema)))
