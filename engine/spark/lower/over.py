"""Lowering of window functions (OVER) over the rows of a time window."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.functions import find_over
from engine.plan.nodes import Aggregate, Frame, NamedOver, Order, Over, Top
from engine.plan.placement.whole import Leading
from engine.spark.jvm.local_files.java_classes import may_lead
from engine.spark.lower.rows import quoted
from engine.spark.printers.aggregates import aggregate_to_sql
from engine.spark.printers.expressions import to_sql
from engine.spark.printers.literals import quote_name
from engine.spark.spark_types import to_spark

_PLACE = "__place"


def lower_over(node: Over, rows: DataFrame) -> DataFrame:
    """Return the rows with the new columns after those of the schema."""
    names = node.input.schema.names
    hidden = [name for name in rows.columns if name not in names]
    computed = [F.expr(_over_sql(over)).cast(to_spark(over.type)).alias(over.name) for over in node.functions]
    return rows.select(*map(quoted, names), *computed, *map(quoted, hidden))


def lower_leading(leading: Leading, rows: DataFrame) -> DataFrame:
    """Return a superset of the first rows of each window."""
    window = quoted(leading.window)
    start, end = F.unix_micros(window["start"]), F.unix_micros(window["end"])
    value = quoted(leading.value.name)
    whole = F.unix_micros(value) if isinstance(leading.value.type, types.Timestamp) else value.cast("bigint")
    return rows.filter(may_lead(start, end, whole, leading.places, descending=leading.descending))


def lower_top(node: Top, rows: DataFrame) -> DataFrame:
    """Return the rows of each window up to the limit, one window after the other, each in its order."""
    order = ", ".join(map(_order_sql, node.order))
    window = quote_name(node.window)
    if node.limit is not None or node.offset:
        place = F.expr(f"row_number() OVER (PARTITION BY {window} ORDER BY {order or window})")
        within = f"{_PLACE} > {node.offset}L"
        if node.limit is not None:
            within += f" AND {_PLACE} <= {node.offset + node.limit}L"
        rows = rows.withColumn(_PLACE, place).filter(within).drop(_PLACE)
    if not node.order:
        return rows
    # not orderBy: it would look at the rows once more to find its ranges, and so run what keeps state twice
    return rows.repartition(1).sortWithinPartitions(F.expr(window), *map(_sorted, node.order))


def _sorted(order: Order):  # type: ignore[no-untyped-def]  # pyspark.sql.Column has two homes
    value = F.expr(to_sql(order.expr))
    if order.descending:
        return value.desc_nulls_first() if order.nulls_first else value.desc_nulls_last()
    return value.asc_nulls_first() if order.nulls_first else value.asc_nulls_last()


def _over_sql(over: NamedOver) -> str:
    partition = [to_sql(part) for part in over.partition]
    ranked = find_over(over.function)
    # what ranks wants an order; without one all rows are peers, as they are by what is the same in all of them
    order = [_order_sql(part) for part in over.order] or (partition[:1] if ranked else [])
    has_frame = ranked is None or ranked.sees_frame
    window = _window_sql(partition, order, over.frame if has_frame else None)
    if ranked is None:
        return aggregate_to_sql(Aggregate(over.function, over.arguments, over.type), window)
    nulls = " IGNORE NULLS" if over.ignore_nulls else ""
    return f"{over.function}({', '.join(to_sql(part) for part in over.arguments)}){nulls}{window}"


def _window_sql(partition: Sequence[str], order: Sequence[str], frame: Frame | None) -> str:
    words = [f"PARTITION BY {', '.join(partition)}"]
    if order:
        words.append(f"ORDER BY {', '.join(order)}")
    if frame is not None:
        words.append(_frame_sql(frame))
    return f" OVER ({' '.join(words)})"


def _order_sql(order: Order) -> str:
    direction = "DESC" if order.descending else "ASC"
    return f"{to_sql(order.expr)} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"


def _frame_sql(frame: Frame) -> str:
    start = "UNBOUNDED PRECEDING" if frame.start is None else _bound(frame.start)
    end = "UNBOUNDED FOLLOWING" if frame.end is None else _bound(frame.end)
    return f"{frame.unit.upper()} BETWEEN {start} AND {end}"


def _bound(offset: int) -> str:
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
