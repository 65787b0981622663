"""Lowering of UNNEST, which makes a row of each array element."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.nodes import Unnest
from engine.plan.tree import ROW_ID, hidden_in
from engine.spark.lower.rows import quoted
from engine.spark.printers.expressions import to_sql


def lower_unnest(node: Unnest, rows: DataFrame) -> DataFrame:
    """Return the row once for every element. In a changelog each of them gets an id of its own."""
    columns = [quoted(name) for name in node.input.schema.names]
    element = F.explode(F.expr(to_sql(node.array))).alias(node.name)
    hidden = hidden_in(rows.columns, node.input.schema.names)
    elements = rows.select(*columns, element, *hidden)
    if ROW_ID not in hidden:
        return elements
    return elements.withColumn(ROW_ID, F.xxhash64(quoted(ROW_ID), quoted(node.name)))
