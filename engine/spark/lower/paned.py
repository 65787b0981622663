"""Lowering of windows whose state is kept by pane."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.plan.expressions.expr import Column, Expr
from engine.plan.nodes import MERGED_ROWS, Hop, Partials, WindowAggregate
from engine.plan.state.width_marks import group
from engine.plan.tree import EVENT_TIME, ROW_ID, WATERMARK
from engine.schema import Field, Schema
from engine.spark.printers.expressions import hash_to_sql, to_sql
from engine.spark.spark_types import spark_schema
from engine.spark.state.watermarked_buckets import run_by_watermark
from engine.updating.accumulators import Measure
from engine.updating.panes import PaneOperator, PaneSpec

_TICK = timedelta(microseconds=1)


def lower_panes(node: WindowAggregate, open_rows: DataFrame) -> DataFrame:
    """Return the rows of closed windows, given rows that have an open window."""
    assert node.by_pane is not None
    columns = [F.expr(to_sql(expr)).alias(name) for name, expr in _columns_read(node).items()]
    keys = [Column(f"k{index}", key.expr.type) for index, key in enumerate(node.keys)]
    hashed = hash_to_sql(keys, formers=group(node.by_pane.formers, 0, len(keys)))
    prepared = open_rows.select(*columns, EVENT_TIME, WATERMARK).withColumn(ROW_ID, F.expr(hashed))
    spec = pane_spec(node)
    return run_by_watermark(prepared, PaneOperator(spec), spark_schema(spec.schema)).toDF(
        *node.schema.names, EVENT_TIME
    )


def pane_spec(node: WindowAggregate) -> PaneSpec:
    """Return the computation of the operator."""
    assert isinstance(node.window, Hop)
    assert node.by_pane is not None
    calls = [named.aggregate for named in node.aggregates]
    kinds = [tuple(argument.type for argument in call.arguments) for call in calls]
    fields = [*node.schema, Field(EVENT_TIME, types.TIMESTAMP)]
    return PaneSpec(
        schema=Schema(tuple(Field(f"c{index}", field.type, field.nullable) for index, field in enumerate(fields))),
        key_count=len(node.keys),
        measures=tuple(Measure(call.function, kind, call.type) for call, kind in zip(calls, kinds, strict=True)),
        slide=node.window.slide // _TICK,
        width=node.window.width // _TICK,
        pane=node.window.pane // _TICK,
        form=node.by_pane.form,
        formerly=node.by_pane.formerly,
        is_merged=isinstance(node.input, Partials),
    )


def _columns_read(node: WindowAggregate) -> dict[str, Expr]:
    """Return the columns that the operator reads: keys, and the arguments of each aggregate; of partial rows, the
    partial values and the row count."""
    columns = {f"k{index}": key.expr for index, key in enumerate(node.keys)}
    if not isinstance(node.input, Partials):
        return columns | {
            f"a{index}_{place}": argument
            for index, named in enumerate(node.aggregates)
            for place, argument in enumerate(named.aggregate.arguments)
        }
    merged = {field.name: Column(field.name, field.type, field.nullable) for field in node.input.schema}
    columns["n"] = merged[MERGED_ROWS.name]
    return columns | {
        f"a{index}_0": merged[node.input.column_of(named.aggregate)]
        for index, named in enumerate(node.aggregates)
        if named.aggregate.arguments
    }
