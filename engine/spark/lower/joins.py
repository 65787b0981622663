"""Lowering of joins."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.nodes import WindowJoin
from engine.plan.tree import EVENT_TIME
from engine.spark.lower.rows import quoted
from engine.spark.printers.expressions import to_sql
from engine.spark.printers.literals import quote_name

_TIMES = ("__left_time", "__right_time")


def lower_window_join(node: WindowJoin, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the join of two frames of one epoch. NULL equals nothing. A row's time is that of its window, on which
    both sides agree, or of the side that is not missing."""
    timed = EVENT_TIME in left.columns and EVENT_TIME in right.columns
    sides = [
        rows.select(*map(quoted, side.schema.names), *([F.col(EVENT_TIME).alias(time)] if timed else []))
        for rows, side, time in zip((left, right), (node.left, node.right), _TIMES, strict=True)
    ]
    windows = _TIMES if node.windows is None else node.windows
    tests = [f"({quote_name(windows[0])} = {quote_name(windows[1])})"]
    tests += [equality(to_sql(left_key), to_sql(right_key)) for left_key, right_key in node.equal]
    if node.condition is not None:
        tests.append(to_sql(node.condition))
    joined = sides[0].join(sides[1], on=F.expr(" AND ".join(tests)), how=node.kind)
    agreed = F.col(_TIMES[0]) if node.kind in ("semi", "anti") else F.greatest(*_TIMES)
    time = [agreed.alias(EVENT_TIME)] if timed else []
    return joined.select(*map(quoted, node.schema.names), *time)


def equality(value: str, other: str) -> str:
    """Return the test that two values are equal and neither is NULL."""
    return f"({value} = {other})"
