"""Lowering of lookup joins: a stateless step in which each task asks the table for the keys of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.connectors.base import Table
from engine.connectors.lookups import LookupSpec, look_up, narrow_table, open_lookup
from engine.plan.nodes import LookupJoin
from engine.plan.tree import hidden_in
from engine.spark.lower.rows import quoted
from engine.spark.printers.expressions import to_sql
from engine.spark.spark_types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa

_ROW = "_looked_up"


def lower_lookup_join(node: LookupJoin, rows: DataFrame, table: Table) -> DataFrame:
    """Return the columns of the input and of the table. The found rows arrive as one struct, so only the keys leave the
    JVM; since the call counts as nondeterministic, Spark does not make it twice."""
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas

    spec = LookupSpec(narrow_table(table, node.columns), node.columns, uuid4().hex)
    kind = spark_schema(node.columns)
    find = arrow_udf(_finder(spec), kind).asNondeterministic()  # type: ignore[call-overload]  # it can give structs
    joined = rows.withColumn(_ROW, find(F.expr(to_sql(node.key))))
    if node.kind == "inner":
        joined = joined.filter(F.col(_ROW).isNotNull())
    columns = [quoted(name) for name in node.input.schema.names]
    looked_up = [F.col(_ROW).getField(name).alias(name) for name in node.columns.names]
    return joined.select(*columns, *looked_up, *hidden_in(rows.columns, node.input.schema.names))


def _finder(spec: LookupSpec) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return the task function that looks up keys; it is made on the driver and runs in a worker."""

    import pyarrow as pa  # noqa: PLC0415 - few runs need it on the driver

    def find(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        lookup = open_lookup(spec)
        for keys in batches:
            yield look_up(lookup, spec.columns, keys)

    # by these pyspark tells kinds of functions apart, and it cannot see what is imported here
    find.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return find
