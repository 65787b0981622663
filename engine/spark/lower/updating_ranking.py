"""Lowering of rankings over changelog rows."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.plan.expressions.expr import Column, Expr
from engine.plan.nodes import UpdatingTop, is_updating
from engine.plan.state.width_marks import group
from engine.plan.tree import EVENT_TIME, RETRACT
from engine.schema import Field, Schema
from engine.spark.lower.updating import CHANGE, numbered
from engine.spark.printers.expressions import hash_to_sql, to_sql
from engine.spark.spark_types import spark_schema
from engine.spark.state.buckets import run_in_buckets
from engine.updating.accumulators.counts import Sorting
from engine.updating.state_columns import MATCH, ROW
from engine.updating.top import TopOperator, TopSpec


def lower_updating_top(node: UpdatingTop, rows: DataFrame) -> DataFrame:
    """Return the changelog of the ranking, with its hidden columns."""
    spec = _spec_of(node)
    inputs = [Column(field.name, field.type) for field in node.input.schema]
    exprs: list[Expr] = [*inputs, *(order.expr for order in node.order), *node.partition]
    names = [*spec.columns, *(f"p{index}" for index in range(len(node.partition)))]
    hidden = [EVENT_TIME, *([] if spec.only_appends else [RETRACT])]
    computed = [F.expr(to_sql(expr)).alias(name) for name, expr in zip(names, exprs, strict=True)]
    columns = [Column(name, expr.type) for name, expr in zip(names, exprs, strict=True)]
    values, keys = columns[: len(spec.columns)], columns[len(spec.columns) :]
    in_types = [*group(node.formers, 0, len(inputs)), *group(node.formers, 1, len(node.order))]
    matched = hash_to_sql(keys, formers=group(node.formers, 2, len(keys)))
    hashes = {MATCH: F.expr(matched), ROW: F.expr(hash_to_sql(values, seed=1, formers=in_types))}
    prepared = rows.select(*computed, *hidden).withColumns(hashes).drop(*(key.name for key in keys))
    place = (Field("place", types.BIGINT),) if spec.is_numbered else ()
    operator = TopOperator(spec)
    shape = spark_schema(Schema((*spec.schema, *place, *CHANGE)))
    stepped = run_in_buckets([(prepared, operator)], operator, shape)
    return stepped.toDF(*node.schema.names, *(field.name for field in CHANGE))


def _spec_of(node: UpdatingTop) -> TopSpec:
    return TopSpec(
        schema=numbered(node.input.schema),
        order=tuple(Sorting(order.expr.type, order.descending, order.nulls_first) for order in node.order),
        function=node.function,
        is_numbered=node.number is not None,
        limit=node.limit,
        only_appends=not is_updating(node.input),
        ttl=node.ttl // timedelta(microseconds=1),
        is_widened=bool(node.formers),
    )
