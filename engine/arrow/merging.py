"""Pre-aggregate rows of a source before Spark gets them.

    pane 12:00:00, auction 3, price 5         12:00:00, auction 3, 2 rows, max 8
    pane 12:00:00, auction 4, price 1    ->   12:00:00, auction 4, 1 row, max 1
    pane 12:00:00, auction 3, price 8

For sessions, bursts are merged, here with a gap of 10 s: the rows at :00 and :08 become one row at :00 that lasts until
:08; the row at :18 is another burst.

Some hundred thousand rows are merged at a time, fewer if they are long. If that hardly reduces their number, later rows
pass through unmerged, each with the count 1. See docs/decisions/sources-leave-out-what-no-query-wants.md.

Group the rows of sessions into bursts: in a burst, each row of a key comes less than the gap after the previous one.

    gap 10 s, watermark 12:00:10         burst
    auction 3   12:00:00   late            0
    auction 3   12:00:08                   1     less than 10 s later, but not late
    auction 3   12:00:17                   1
    auction 3   12:00:27                   2     exactly the gap later
    auction 4   12:00:17                   3

A row is late if a session of it alone would have ended: its time plus the gap is not after the watermark. No burst has
both late and other rows, so its first row represents all. Spark's watermark is in whole milliseconds and never after
ours, but its sessions are a microsecond shorter. So rows of the one instant at which a row is late for Spark and not
for us form bursts of their own as well. See docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.arrow.evaluate import evaluate
from engine.plan.nodes import LAST_TIME, MERGED_ROWS, Aggregate, Burst, Pane, Partials
from engine.plan.tree import EVENT_TIME

ROWS_MERGED = 262_144
"""Number of rows to collect: some megabytes, since only the used columns are collected. The more rows, the smaller the
share that remains."""
BYTES_MERGED = 32 * 2**20
"""Largest number of bytes to collect: long texts must not fill the memory, and Arrow cannot join 2 GiB of them."""
_WORTH_IT = 0.7
"""Largest share of remaining rows for which merging pays off."""
_SMALL = 1 << 40
"""Limit of numbers that are summed. Rows with larger ones are not merged, so that Spark adds them one by one and fails
on overflow as before."""
_TICK = timedelta(microseconds=1)


class MergingRows:
    """Takes the rows of a slice and returns fewer, in the schema of `partials` followed by the event time. The
    `watermark` (microseconds) determines which are late."""

    def __init__(self, partials: Partials, watermark: int) -> None:
        self._partials = partials
        self._watermark = watermark
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self._bytes = 0
        self._is_merging = True

    def add(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """Take the decoded rows of a chunk, with their event time; what was merged comes out now and then."""
        prepared = _prepared(self._partials, rows)
        if not self._is_merging:
            return _unmerged(self._partials, prepared)
        self._waiting.append(prepared)
        self._count += prepared.num_rows
        self._bytes += prepared.nbytes
        return self.flush() if self._count >= ROWS_MERGED or self._bytes >= BYTES_MERGED else None

    def flush(self) -> pa.RecordBatch | None:
        """Merge the waiting rows and return them; None if there are none."""
        waiting, self._waiting, self._count, self._bytes = self._waiting, [], 0, 0
        if not any(rows.num_rows for rows in waiting):
            return None
        rows = pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
        if not _may_be_merged(self._partials, rows):
            return _unmerged(self._partials, rows)
        merged = _merged(self._partials, rows, self._watermark)
        self._is_merging = merged.num_rows <= _WORTH_IT * rows.num_rows
        return merged


def _prepared(partials: Partials, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that take part: the columns of the scan, the event time, keys, and arguments of aggregates."""
    if partials.condition is not None:
        rows = rows.filter(evaluate(partials.condition, rows))
    names = [*partials.columns.names, EVENT_TIME]
    columns = [rows.column(name) for name in names]
    keys = [evaluate(key, rows) for key in partials.keys]
    values = [evaluate(named.aggregate.arguments[0], rows) for named in partials.aggregates]
    names += [_key(index) for index in range(len(keys))] + [named.name for named in partials.aggregates]
    return pa.RecordBatch.from_arrays([*columns, *keys, *values], names=names)


def _unmerged(partials: Partials, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return every row by itself."""
    values = [_of_a_row(named.aggregate, rows.column(named.name)) for named in partials.aggregates]
    counts = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
    return _with_results(partials, rows, counts, rows.column(EVENT_TIME), values)


def _of_a_row(aggregate: Aggregate, values: pa.Array) -> pa.Array:
    return pc.is_valid(values).cast(pa.int64()) if aggregate.function == "count" else values


def _merged(partials: Partials, rows: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
    """Return the rows with equal keys, in one pane or burst if there are such, as the first of them."""
    keys = {name: rows.column(name) for name in map(_key, range(len(partials.keys)))}
    match partials.stretch:
        case Pane(width):
            groups = {"pane": _panes(rows.column(EVENT_TIME), width), **keys}
        case Burst(gap):
            rows, bursts = in_bursts(rows, tuple(keys.values()), gap, watermark)
            groups = {"burst": bursts}
        case None:
            groups = {"all": pa.repeat(pa.scalar(True), rows.num_rows), **keys}
    values = [rows.column(named.name) for named in partials.aggregates]
    places, times = pa.array(np.arange(rows.num_rows, dtype=np.int64)), rows.column(EVENT_TIME)
    columns = [*groups.values(), places, times, *values]
    names = [*groups, "place", "time", *(named.name for named in partials.aggregates)]
    table = pa.Table.from_arrays(columns, names=names)
    results = [
        (named.name, named.aggregate.function, _OPTIONS.get(named.aggregate.function)) for named in partials.aggregates
    ]
    of_all = [("place", "min"), ("place", "count"), ("time", "max")]
    grouped = table.group_by(list(groups), use_threads=False).aggregate([*of_all, *results])
    results = grouped.combine_chunks().select(range(len(groups), grouped.num_columns)).to_batches()[0].columns
    # with other names, since two aggregates of a column have the same; the order is that of what was asked
    first, count, last, *aggregates = results
    firsts = rows.select([*partials.columns.names, EVENT_TIME]).take(first)
    return _with_results(partials, firsts, count, last, aggregates)


_OPTIONS = {
    "count": pc.CountOptions(mode="only_valid"),
    "sum": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
    "min": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
    "max": pc.ScalarAggregateOptions(skip_nulls=True, min_count=1),
}


def _with_results(
    partials: Partials, rows: pa.RecordBatch, counts: pa.Array, last: pa.Array, values: Sequence[pa.Array]
) -> pa.RecordBatch:
    results = {MERGED_ROWS.name: counts, LAST_TIME.name: last}
    results |= {named.name: column for named, column in zip(partials.aggregates, values, strict=True)}
    if partials.stretch is None:
        results[EVENT_TIME] = last
    names = [*partials.schema.names, EVENT_TIME]
    columns = [results[name] if name in results else rows.column(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _may_be_merged(partials: Partials, rows: pa.RecordBatch) -> bool:
    times = rows.column(EVENT_TIME)
    if isinstance(partials.stretch, Burst) and not may_be_in_bursts(times):
        return False
    if partials.stretch is None and times.null_count:
        return False
    for named in partials.aggregates:
        if named.aggregate.function == "sum":
            extremes = pc.min_max(rows.column(named.name)).as_py()
            if any(value is not None and abs(value) >= _SMALL for value in extremes.values()):
                return False
    return True


def _panes(times: pa.Array, pane: timedelta) -> pa.Array:
    """Return the number of the pane that each time is in; before 1970 they are negative."""
    micros, width = times.cast(pa.int64()), pane // _TICK
    quotients = pc.divide(micros, width)
    is_below = pc.less(micros, pc.multiply(quotients, width))
    return pc.subtract(quotients, is_below.cast(pa.int64()))


def _key(index: int) -> str:
    return f"__key{index}"


_LONGEST = 10**16
"""Largest distance of merged rows in microseconds (three centuries): a burst must fit into an interval of Spark."""


def may_be_in_bursts(times: pa.Array) -> bool:
    """Whether all rows have a time, and none is far from the others."""
    if times.null_count or not len(times):
        return False
    extremes = pc.min_max(times.cast(pa.int64())).as_py()
    return int(extremes["max"]) - int(extremes["min"]) <= _LONGEST


def in_bursts(
    rows: pa.RecordBatch, keys: Sequence[pa.Array], gap: timedelta, watermark: int
) -> tuple[pa.RecordBatch, pa.Array]:
    """Return the rows by key and time, and the number of the burst of each."""
    times = np.asarray(rows.column(EVENT_TIME).cast(pa.int64()))
    groups = _numbers_of_groups(keys, rows.num_rows)
    order = np.lexsort((times, groups))
    times, groups = times[order], groups[order]
    last_late = watermark - gap // _TICK
    begins = np.zeros(len(times), dtype=bool)
    begins[1:] = np.diff(groups) != 0
    begins[1:] |= np.diff(times) >= gap // _TICK
    for bound in (last_late, last_late + 1):
        begins[1:] |= np.diff(times > bound)
    return rows.take(pa.array(order)), pa.array(np.cumsum(begins, dtype=np.int64))


def _numbers_of_groups(keys: Sequence[pa.Array], count: int) -> npt.NDArray[np.int64]:
    """Return a number for each row, equal for equal keys; NULL equals NULL."""
    numbers = np.zeros(count, dtype=np.int64)
    for key in keys:
        encoded = key.dictionary_encode(null_encoding="encode")
        pairs = numbers * len(encoded.dictionary) + np.asarray(encoded.indices, dtype=np.int64)
        # as small as they can be, so that the next ones do not leave the range
        numbers = np.unique(pairs, return_inverse=True)[1] if len(keys) > 1 else pairs
    return numbers
