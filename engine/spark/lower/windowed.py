"""Lowering of windowed aggregation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.expressions.expr import columns_of
from engine.plan.nodes import (
    LAST_TIME,
    LATE_TIME,
    LATE_WATERMARK,
    MERGED_ROWS,
    Aggregate,
    Calendar,
    Carried,
    Cumulate,
    Hop,
    LateRows,
    Partials,
    Session,
    Tumble,
    Window,
    WindowAggregate,
)
from engine.plan.tree import EVENT_TIME, WATERMARK, hidden_in
from engine.spark.jvm.local_files.java_classes import total_of_counts
from engine.spark.lower.calendar_windows import last_end_of_row, windows_of_row
from engine.spark.lower.paned import lower_panes
from engine.spark.lower.rows import EVENT_TIME_MARK, quoted
from engine.spark.printers.aggregates import aggregate_to_sql, distinct_to_sql
from engine.spark.printers.expressions import to_sql
from engine.spark.spark_types import to_spark

_WINDOW = "_window"
_TICK = timedelta(microseconds=1)


def lower_window_aggregate(node: WindowAggregate, rows: DataFrame, late: str | None) -> DataFrame:
    """Return the aggregation; `late` is the name under which late rows are counted, None in the epoch part."""
    match node.window:
        case Carried(column):
            grouped = _prepared(node, rows).withColumn(_WINDOW, quoted(column))
            return _aggregated(node, grouped, F.col(_WINDOW))
        case Session(gap):
            open_rows = without_late(rows, node.window, late, _count_of(node))
            session = F.session_window(F.col(EVENT_TIME), _gap_of_rows(node, gap))
            return _aggregated(
                node, _with_some_key(node, _prepared(node, open_rows)), session.alias(_WINDOW), longer=_TICK
            )
        case Calendar() | Cumulate():
            open_rows = without_late(rows, node.window, late, _count_of(node))
            windows = F.explode(F.expr(windows_of_row(node.window)))
            each = _prepared(node, open_rows).withColumn(_WINDOW, windows)
            marked = each.withColumn(_WINDOW, F.col(_WINDOW).alias(_WINDOW, metadata=EVENT_TIME_MARK))
            return _aggregated(node, _in_open_windows(marked), F.col(_WINDOW))
        case Tumble() | Hop():
            open_rows = without_late(rows, node.window, late, _count_of(node))
            if node.by_pane is not None:
                return lower_panes(node, open_rows)
            windowed = _prepared(node, open_rows).withColumn(_WINDOW, _time_window(node.window))
            if isinstance(node.window, Hop):
                windowed = _in_open_windows(windowed)
            return _aggregated(node, windowed, F.col(_WINDOW))


def _in_open_windows(rows: DataFrame) -> DataFrame:
    """Return the rows without those of closed windows: some windows of a row may be closed while others are open."""
    return rows.filter(F.col(f"{_WINDOW}.end") > F.col(WATERMARK)) if WATERMARK in rows.columns else rows


def lower_late_rows(node: LateRows, rows: DataFrame) -> DataFrame:
    """Return the rows that windows leave out as late, by the same test as the windows."""
    times = [
        F.col(EVENT_TIME).alias(LATE_TIME.name, metadata={}),
        F.col(WATERMARK).alias(LATE_WATERMARK.name, metadata={}),
    ]
    late = rows.filter(_is_late(node.window))
    return late.select(*map(quoted, node.input.schema.names), *times, *hidden_in(rows.columns, node.input.schema.names))


def _time_window(window: Tumble | Hop) -> SparkColumn:
    match window:
        case Tumble(width):
            return F.window(F.col(EVENT_TIME), _spell(width))
        case Hop(slide, width):
            return F.window(F.col(EVENT_TIME), _spell(width), _spell(slide))


def without_late(
    rows: DataFrame, window: Window, late: str | None, count: Callable[[SparkColumn], SparkColumn]
) -> DataFrame:
    """Return the rows that have an open window; `count` counts the others. Rows of windows are never late."""
    if WATERMARK not in rows.columns:
        return rows.withColumn(EVENT_TIME, F.col(EVENT_TIME).alias(EVENT_TIME, metadata=EVENT_TIME_MARK))
    is_late = _is_late(window)
    observed = rows if late is None else rows.observe(late, count(is_late).alias("late"))
    return observed.filter(~is_late)


def _gap_of_rows(node: WindowAggregate, gap: timedelta) -> SparkColumn | str:
    """Return how long a session lasts after a row's event time. Spark merges rows that are exactly the gap apart, and
    we do not, so its gap is one microsecond shorter."""
    if not isinstance(node.input, Partials):
        return _spell(gap - _TICK)
    micros = f"unix_micros({LAST_TIME.name}) - unix_micros({EVENT_TIME}) + {_micros(gap - _TICK)}L"
    return F.expr(f"make_interval(0, 0, 0, 0, 0, 0, CAST({micros} AS DECIMAL(18, 0)) * 0.000001BD)")


def _count_of(node: WindowAggregate) -> Callable[[SparkColumn], SparkColumn]:
    """Return the function that counts the rows for which a condition is true."""
    return _count_merged if isinstance(node.input, Partials) else F.count_if


def _count_merged(condition: SparkColumn) -> SparkColumn:
    """Count the rows that were merged into the partial rows for which the condition is true."""
    return F.coalesce(F.sum(F.when(condition, F.col(MERGED_ROWS.name))), F.lit(0))


def _is_late(window: Window) -> SparkColumn:
    """Whether no window of a row is open. A window that has ended in 1970 is always open for Spark, whose watermarks
    begin there."""
    return F.expr(f"{_last_end(window)} <= greatest(unix_micros({WATERMARK}), 0L)")


def _last_end(window: Window) -> str:
    """Return the end of the last window that contains a row by itself, in microseconds."""
    time = f"unix_micros({EVENT_TIME})"
    match window:
        case Tumble(width):
            return f"({time} - pmod({time}, {_micros(width)}L) + {_micros(width)}L)"
        case Hop(slide, width):
            return f"({time} - pmod({time}, {_micros(slide)}L) + {_micros(width)}L)"
        case Session(gap):
            return f"({time} + {_micros(gap)}L)"
        case Calendar() | Cumulate():
            return last_end_of_row(window)
        case Carried():
            raise AssertionError(window)


def _prepared(node: WindowAggregate, rows: DataFrame) -> DataFrame:
    """Return the rows with the keys as columns under their own names."""
    return rows.withColumns({_key(index): F.expr(to_sql(key.expr)) for index, key in enumerate(node.keys)})


def _with_some_key(node: WindowAggregate, rows: DataFrame) -> DataFrame:
    """Add a key that is false for every row if no key has columns, in a form that Spark does not recognise as constant:
    Spark has no sessions without a key."""
    if any(columns_of(key.expr) for key in node.keys):
        return rows
    return rows.withColumn(_key(len(node.keys)), F.expr("spark_partition_id() < 0"))


def _key(index: int) -> str:
    return f"_key{index}_of_group"


def _aggregated(
    node: WindowAggregate, rows: DataFrame, window: SparkColumn, longer: timedelta = timedelta(0)
) -> DataFrame:
    keys = [F.col(name) for name in map(_key, range(len(node.keys) + 1)) if name in rows.columns]
    aggregates = [
        _aggregate(node, column.aggregate).cast(to_spark(column.aggregate.type)).alias(column.name)
        for column in node.aggregates
    ]
    # a group by without an aggregate is a distinct, which Spark spells as an aggregate all the same
    grouped = rows.groupBy(window, *keys).agg(*(aggregates or [F.lit(1).alias("_none")]))
    start, end = F.col(f"{_WINDOW}.start"), F.col(f"{_WINDOW}.end")
    if longer:
        end = F.expr(f"timestamp_micros(unix_micros({_WINDOW}.end) + {_micros(longer)}L)")
    # stripped of Spark's mark, the window can be joined with and selected like any other column
    named = F.struct(start.alias("start"), end.alias("end")).alias(node.window_name, metadata={})
    event_time = F.expr(f"timestamp_micros(unix_micros({_WINDOW}.end) + {_micros(longer) - 1}L)")
    return grouped.select(
        *(F.col(_key(index)).alias(item.name) for index, item in enumerate(node.keys)),
        named,
        *(quoted(column.name) for column in node.aggregates),
        event_time.alias(EVENT_TIME, metadata={}),
    )


def _aggregate(node: WindowAggregate, aggregate: Aggregate) -> SparkColumn:
    if not isinstance(node.input, Partials):
        return F.expr(_aggregate_sql(node, aggregate))
    partial = quoted(node.input.column_of(aggregate))
    match aggregate.function:
        case "count":
            return total_of_counts(partial)
        case "sum":
            return F.sum(partial)
        case "min":
            return F.min(partial)
        case "max":
            return F.max(partial)
    raise AssertionError(aggregate.function)


def _aggregate_sql(node: WindowAggregate, aggregate: Aggregate) -> str:
    of_set = aggregate.distinct and node.is_incremental
    return distinct_to_sql(aggregate) if of_set else aggregate_to_sql(aggregate)


def _micros(length: timedelta) -> int:
    return length // _TICK


def _spell(length: timedelta) -> str:
    return f"{_micros(length)} microseconds"
