"""Lowering of the place of rows among others."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.plan.expr import Column, Expr
from engine.plan.nodes import RETRACT, UpdatingTop, is_updating
from engine.plan.tree import EVENT_TIME
from engine.schema import Field, Schema
from engine.spark.buckets import run_in_buckets
from engine.spark.columns import hash_to_sql, to_sql
from engine.spark.lower.updating import CHANGE, numbered
from engine.spark.types import spark_schema
from engine.updating.accumulators.base import Sorting
from engine.updating.columns import MATCH, ROW
from engine.updating.top import TopOperator, TopSpec


def lower_updating_top(node: UpdatingTop, rows: DataFrame) -> DataFrame:
    """The changes of the ranking, with the hidden columns of changes."""
    spec = TopSpec(
        schema=numbered(node.input.schema),
        order=tuple(Sorting(one.expr.type, one.descending, one.nulls_first) for one in node.order),
        function=node.function,
        is_numbered=node.number is not None,
        limit=node.limit,
        only_appends=not is_updating(node.input),
        ttl=node.ttl // timedelta(microseconds=1),
    )
    own = [Column(field.name, field.type) for field in node.input.schema]
    wanted: list[Expr] = [*own, *(one.expr for one in node.order)]
    columns = {name: to_sql(expr) for name, expr in zip(spec.columns, wanted, strict=True)}
    columns |= {MATCH: hash_to_sql(node.partition), ROW: hash_to_sql(wanted, seed=1)}
    hidden = [EVENT_TIME, *([] if spec.only_appends else [RETRACT])]
    prepared = rows.select(*(F.expr(text).alias(name) for name, text in columns.items()), *hidden)
    place = (Field("place", types.BIGINT),) if spec.is_numbered else ()
    operator = TopOperator(spec)
    shape = spark_schema(Schema((*spec.schema, *place, *CHANGE)))
    stepped = run_in_buckets([(prepared, operator)], operator, shape)
    return stepped.toDF(*node.schema.names, *(field.name for field in CHANGE))
