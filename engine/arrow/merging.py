"""Rows of a source that are merged before Spark has them.

    pane 12:00:00, auction 3, price 5         12:00:00, auction 3, 2 rows, max 8
    pane 12:00:00, auction 4, price 1    ->   12:00:00, auction 4, 1 row, max 1
    pane 12:00:00, auction 3, price 8

Rows are merged some ten thousands at a time. Where they stay nearly as many, the following ones go on as they are,
each with the count 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.arrow.evaluate import evaluate
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import MERGED_ROWS, Aggregate, Partials

ROWS_MERGED = 65_536
"""So many rows are waited for: some megabytes, as only the columns wait that are read."""
_WORTH_IT = 0.7
"""Where a larger share of the rows remains, merging costs more than it saves."""
_SMALL = 1 << 40
"""Sums of smaller numbers are far from leaving the range. Rows with larger ones are not merged, so that Spark adds them
one by one, and fails where it always did."""
_TICK = timedelta(microseconds=1)


class MergingRows:
    """Takes the rows of a slice and gives them back, fewer, in the schema of `partials` with the event time behind."""

    def __init__(self, partials: Partials) -> None:
        self._partials = partials
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self._is_merging = True

    def add(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """Take the decoded rows of a chunk, with their event time; what was merged comes out now and then."""
        prepared = _prepared(self._partials, rows)
        if not self._is_merging:
            return _unmerged(self._partials, prepared)
        self._waiting.append(prepared)
        self._count += prepared.num_rows
        return self.flush() if self._count >= ROWS_MERGED else None

    def flush(self) -> pa.RecordBatch | None:
        """What waits, merged; None without any."""
        waiting, self._waiting, self._count = self._waiting, [], 0
        if not any(rows.num_rows for rows in waiting):
            return None
        rows = pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
        if not _may_be_summed(self._partials, rows):
            return _unmerged(self._partials, rows)
        merged = _merged(self._partials, rows)
        self._is_merging = merged.num_rows <= _WORTH_IT * rows.num_rows
        return merged


def _prepared(partials: Partials, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that take part: the columns of the scan, the event time, keys, and arguments of aggregates."""
    if partials.condition is not None:
        rows = rows.filter(evaluate(partials.condition, rows))
    names = [*partials.columns.names, EVENT_TIME]
    columns = [rows.column(name) for name in names]
    keys = [evaluate(key, rows) for key in partials.keys]
    values = [evaluate(named.aggregate.arguments[0], rows) for named in partials.aggregates]
    names += [_key(index) for index in range(len(keys))] + [named.name for named in partials.aggregates]
    return pa.RecordBatch.from_arrays([*columns, *keys, *values], names=names)


def _unmerged(partials: Partials, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Every row by itself."""
    values = [_of_a_row(named.aggregate, rows.column(named.name)) for named in partials.aggregates]
    return _with_results(partials, rows, pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows), values)


def _of_a_row(aggregate: Aggregate, values: pa.Array) -> pa.Array:
    return pc.is_valid(values).cast(pa.int64()) if aggregate.function == "count" else values


def _merged(partials: Partials, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with equal keys in one pane as the first of them."""
    names = ["pane", *map(_key, range(len(partials.keys)))]
    keys = [_panes(rows.column(EVENT_TIME), partials.pane), *map(rows.column, names[1:])]
    values = [rows.column(named.name) for named in partials.aggregates]
    places = pa.array(np.arange(rows.num_rows, dtype=np.int64))
    columns = [*keys, places, *values]
    table = pa.Table.from_arrays(columns, names=[*names, "place", *(named.name for named in partials.aggregates)])
    asked = [
        (named.name, named.aggregate.function, _OPTIONS.get(named.aggregate.function)) for named in partials.aggregates
    ]
    grouped = table.group_by(names, use_threads=False).aggregate([("place", "min"), ("place", "count"), *asked])
    results = grouped.combine_chunks().select(range(len(names), grouped.num_columns)).to_batches()[0].columns
    # with other names, since two aggregates of a column have the same; the order is that of what was asked
    first, count, *aggregates = results
    return _with_results(partials, rows.select([*partials.columns.names, EVENT_TIME]).take(first), count, aggregates)


_OPTIONS = {
    "count": pc.CountOptions(mode="only_valid"),
    "sum": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
    "min": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
    "max": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
}


def _with_results(
    partials: Partials, rows: pa.RecordBatch, counts: pa.Array, values: Sequence[pa.Array]
) -> pa.RecordBatch:
    columns = [*(rows.column(name) for name in partials.columns.names), counts, *values, rows.column(EVENT_TIME)]
    names = [*partials.columns.names, MERGED_ROWS.name, *(named.name for named in partials.aggregates), EVENT_TIME]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _may_be_summed(partials: Partials, rows: pa.RecordBatch) -> bool:
    for named in partials.aggregates:
        if named.aggregate.function == "sum":
            extremes = pc.min_max(rows.column(named.name)).as_py()
            if any(value is not None and abs(value) >= _SMALL for value in extremes.values()):
                return False
    return True


def _panes(times: pa.Array, pane: timedelta) -> pa.Array:
    """The number of the pane that each time is in; before 1970 they are negative."""
    micros, width = times.cast(pa.int64()), pane // _TICK
    quotients = pc.divide(micros, width)
    is_below = pc.less(micros, pc.multiply(quotients, width))
    return pc.subtract(quotients, is_below.cast(pa.int64()))


def _key(index: int) -> str:
    return f"__key{index}"
