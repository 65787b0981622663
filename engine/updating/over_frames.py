"""Results of functions over frames of earlier rows, in sorted tables.

    rows of a             n 2, 4, 5
    sum ROWS 1 PRECEDING  frames [2], [2 4], [4 5]: the accumulator of sum over the rows of each frame
    sum, from the first   2, 6, 11: each row is merged with the one before it, then with the one two before, four, ...
    lag(n)                the value at the row before: NULL, 2, 4

Aggregates are those of groups (`accumulators`), so their results are the same with and without OVER.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.tree import ROW_ID
from engine.schema import to_arrow
from engine.types import Type
from engine.updating.accumulators import Accumulator, Measure, accumulator_for
from engine.updating.groups import Flags, Groups, Longs, longs, ranges
from engine.updating.serialization import whole
from engine.updating.state_columns import LAST, NUMBER, TIME, WEIGHT

_OF_A_ROW = ("lag", "lead", "first_value", "last_value")
"""Functions that give the value of one row of the frame."""
_AT_ONCE = 1 << 20
"""Largest number of rows of frames to look at together."""


@dataclass(frozen=True, slots=True)
class OverCall:
    """A function over a frame, which ends at the row or its peers, or as many rows or microseconds after it as `end`
    says (before it, if negative); `start` is the distance at which it begins, None at the first row of the partition.
    lag and lead have the frame of one row, and as their second argument what stands for a missing row."""

    function: str
    arguments: tuple[Type, ...]
    result: Type
    unit: Literal["rows", "range"]
    start: int | None
    end: int = 0
    ignores_nulls: bool = False

    def columns(self, index: int) -> tuple[str, ...]:
        """Return the names of its arguments."""
        return tuple(f"a{index}_{place}" for place in range(len(self.arguments)))

    @property
    def is_running(self) -> bool:
        """Whether its frame begins with the partition."""
        return self.start is None and (self.function != "last_value" or self.ignores_nulls)

    @property
    def rows_back(self) -> int:
        """The number of earlier rows that it reaches, if it counts rows."""
        return max(-self.start, 0) if self.start is not None and self.unit == "rows" else 0

    @property
    def time_back(self) -> int:
        """The length of time that it reaches back, if it counts time."""
        return -self.start if self.start is not None and self.unit == "range" else 0

    @property
    def rows_ahead(self) -> int:
        """The number of later rows that it reaches, if it counts rows."""
        return max(self.end, 0) if self.unit == "rows" else 0

    @property
    def time_ahead(self) -> int:
        """The length of time that it reaches ahead, if it counts time."""
        return self.end if self.unit == "range" else 0

    @property
    def accumulator(self) -> Accumulator:
        """The accumulator of its values."""
        function = "count" if self.function == "row_number" else self.function
        return accumulator_for(Measure(function, self.arguments, self.result))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Results of new rows, a column for each call; all rows of their partitions, with the number of rows that follow in
    the partition, or -1 if it has started again since; and the totals of the partitions."""

    results: list[pa.Array]
    rows: pa.Table
    is_new: Flags
    rows_after: Longs
    totals: pa.Table | None

    @property
    def ids(self) -> Longs:
        """The partitions of the rows."""
        return longs(self.rows[ROW_ID])


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Rows by partition: for each row the first and one past the last row of its partition, and the same of its peers.
    `new` are the new rows. `carried` has for each new row the totals that its partition continues, or -1."""

    times: Longs
    first: Longs
    end: Longs
    peers: Longs
    peers_end: Longs
    new: Longs
    carried: Longs


def evaluate(
    calls: Sequence[OverCall],
    new: pa.Table,
    codes: Sequence[Longs],
    past: pa.Table | None,
    totals: pa.Table | None,
    ttl: int,
    is_complete: Flags | None = None,
) -> Evaluated:
    """Return the results of new rows, which are in order, and later than the past of their partitions. Equal `codes`
    mark peers among rows of one time. Rows that are not complete are only looked at by those before them."""
    names = [ROW_ID, NUMBER, TIME, *(name for index, call in enumerate(calls) for name in call.columns(index))]
    fresh = new.select(names)
    both = fresh if past is None else pa.concat_tables([past.select(names).cast(fresh.schema), fresh])
    before = both.num_rows - new.num_rows
    order = np.argsort(longs(both[ROW_ID]), kind="stable")
    rows, is_new = both.take(pa.array(order)).combine_chunks(), order >= before
    padded = [np.concatenate([np.zeros(before, np.int64), code])[order] for code in codes]
    partitions, first_of_partition = _partitions(rows, is_new, padded, totals, ttl)
    done = np.ones(new.num_rows, bool) if is_complete is None else is_complete
    results: list[pa.Array] = []
    columns: dict[str, pa.Array] = {}
    for index, call in enumerate(calls):
        result, kept = _result(call, index, rows, partitions, totals)
        result = result.cast(to_arrow(call.result)) if result.type != to_arrow(call.result) else result
        results.append(result if is_complete is None else result.filter(pa.array(done)))
        columns |= kept
    kept_totals = _totals(rows, partitions, columns, done)
    if is_complete is not None:
        is_past = ~is_new
        is_past[partitions.new[done]] = True
        # the rows that wait begin nothing that comes before them
        rows, is_new, first_of_partition = rows.filter(pa.array(is_past)), is_new[is_past], first_of_partition[is_past]
    return Evaluated(results, rows, is_new, _rows_after(longs(rows[ROW_ID]), first_of_partition), kept_totals)


def _partitions(
    rows: pa.Table, is_new: Flags, codes: Sequence[Longs], totals: pa.Table | None, ttl: int
) -> tuple[_Partitions, Flags]:
    ids, times = longs(rows[ROW_ID]), longs(rows[TIME])
    begins, is_first_of_id = np.ones(len(ids), bool), np.ones(len(ids), bool)
    is_first_of_id[1:] = ids[1:] != ids[:-1]
    begins[1:] = is_first_of_id[1:] | (times[1:] - times[:-1] > ttl)
    differs = begins.copy()
    for key in (times, *codes):
        differs[1:] |= key[1:] != key[:-1]
    new = np.flatnonzero(is_new)
    first = _last_true(begins)
    carried = np.full(len(new), -1)
    if totals is not None and totals.num_rows:
        kept_ids, last = longs(totals[ROW_ID]), longs(totals[LAST])
        place = np.minimum(np.searchsorted(kept_ids, ids[new]), len(kept_ids) - 1)
        # the first new row of a partition decides whether it continues; later parts carry nothing
        leading = _leading_new(first, new)
        goes_on = (kept_ids[place] == ids[new]) & is_first_of_id[_last_true(is_first_of_id)[new]]
        goes_on &= _is_first_part(ids, first, new) & (times[leading] - last[place] <= ttl)
        carried = np.where(goes_on, place, -1)
    ends, peers_end = (np.append(np.flatnonzero(some), len(ids))[np.cumsum(some)] for some in (begins, differs))
    return _Partitions(times, first, ends, _last_true(differs), peers_end, new, carried), begins


def _last_true(flags: Flags) -> Longs:
    """Return for each place the last one up to it that is true."""
    return np.maximum.accumulate(np.where(flags, np.arange(len(flags)), 0))


def _leading_new(first: Longs, new: Longs) -> Longs:
    """Return for each new row the first new row of its partition."""
    begins = np.ones(len(new), bool)
    begins[1:] = first[new][1:] != first[new][:-1]
    return new[_last_true(begins)]


def _is_first_part(ids: Longs, first: Longs, new: Longs) -> Flags:
    """Whether a new row is in the part of its partition that has the first new row."""
    begins = np.ones(len(new), bool)
    begins[1:] = ids[new][1:] != ids[new][:-1]
    is_first: Flags = first[new] == first[new][_last_true(begins)]
    return is_first


def _rows_after(ids: Longs, begins: Flags) -> Longs:
    """Return the number of rows that follow each row in its partition; -1 if the partition has started again since."""
    ends = np.append(np.flatnonzero(begins)[1:], len(ids))[np.cumsum(begins) - 1]
    is_last = np.append(ids, ids[-1:] + 1)[ends] != ids if len(ids) else np.ones(0, bool)
    is_last |= ends == len(ids)
    return np.where(is_last, ends - 1 - np.arange(len(ids)), -1)


def _result(
    call: OverCall, index: int, rows: pa.Table, partitions: _Partitions, totals: pa.Table | None
) -> tuple[pa.Array, dict[str, pa.Array]]:
    """Return the results of the new rows, and the columns of the totals after each of them."""
    arguments = [whole(rows[name]) for name in call.columns(index)]
    if call.function in _OF_A_ROW:
        return _of_a_row(call, index, arguments, partitions, totals)
    if not call.is_running:
        return _of_frames(call, arguments, *_frame(call, partitions)), {}
    new = pa.array(partitions.new)
    accumulator = call.accumulator
    each = np.arange(len(new))
    started = accumulator.start(
        [argument.take(new) for argument in arguments], np.ones(len(new), np.int64), Groups(each, each)
    )
    columns = _running(accumulator, _with_carried(accumulator, index, started, partitions, totals), partitions)
    _, end = _frame(call, partitions)
    seen = np.searchsorted(partitions.new, end) - 1
    result = accumulator.finish([column.take(pa.array(seen)) for column in columns])
    return result, {f"m{index}.{place}": column for place, column in enumerate(columns)}


def _of_a_row(
    call: OverCall, index: int, arguments: Sequence[pa.Array], partitions: _Partitions, totals: pa.Table | None
) -> tuple[pa.Array, dict[str, pa.Array]]:
    low, high = _frame(call, partitions)
    values, is_missing = arguments[0], low >= high
    if call.ignores_nulls:
        return _not_null(call, index, values, (low, high), partitions, totals)
    place = np.where(is_missing, 0, high - 1 if call.function == "last_value" else low)
    if call.is_running and totals is not None and f"f{index}" in totals.column_names:
        place = np.where(partitions.carried >= 0, len(values) + partitions.carried, place)
        values = pa.concat_arrays([values, whole(totals[f"f{index}"]).cast(values.type)])
    found = values.take(pa.array(place, mask=is_missing))
    if len(arguments) > 1:
        defaults = arguments[1].take(pa.array(partitions.new))
        found = pc.if_else(pa.array(is_missing), defaults, found)
    return found, {f"f{index}": found} if call.is_running else {}


def _not_null(
    call: OverCall,
    index: int,
    values: pa.Array,
    frame: tuple[Longs, Longs],
    partitions: _Partitions,
    totals: pa.Table | None,
) -> tuple[pa.Array, dict[str, pa.Array]]:
    """Return the first or the last value of each frame that is not NULL."""
    (low, high), count = frame, len(values)
    places, is_valid = np.arange(count), np.asarray(values.is_valid())
    if call.function == "last_value":
        place = np.maximum.accumulate(np.where(is_valid, places, -1))[np.maximum(high - 1, 0)]
    else:
        after = np.minimum.accumulate(np.where(is_valid, places, count)[::-1])[::-1]
        place = np.append(after, count)[low]
    is_missing = (place < low) | (place >= high)
    if call.is_running and totals is not None and f"f{index}" in totals.column_names:
        kept = whole(totals[f"f{index}"]).cast(values.type)
        has_kept = partitions.carried >= 0
        has_kept[has_kept] = np.asarray(kept.is_valid())[partitions.carried[has_kept]]
        # the kept value comes before all rows that are here
        takes_kept = has_kept & (is_missing if call.function == "last_value" else True)
        place, is_missing = np.where(takes_kept, count + partitions.carried, place), is_missing & ~takes_kept
        values = pa.concat_arrays([values, kept])
    found = values.take(pa.array(np.where(is_missing, 0, place), mask=is_missing))
    return found, {f"f{index}": found} if call.is_running else {}


def _frame(call: OverCall, partitions: _Partitions) -> tuple[Longs, Longs]:
    """Return the first and one past the last row of the frame of each new row."""
    new = partitions.new
    first, end = partitions.first[new], partitions.end[new]
    if call.unit == "rows":
        low = first if call.start is None else np.clip(new + call.start, first, end)
        return low, np.maximum(np.minimum(new + call.end + 1, end), low)
    high = partitions.peers_end[new] if call.end == 0 else _reached(partitions, -call.end - 1)
    if call.start is None:
        return first, high
    return (partitions.peers[new] if call.start == 0 else _reached(partitions, -call.start)), high


def _reached(partitions: _Partitions, distance: int) -> Longs:
    """Return the first row of the partition that is at most this time before each new row, one past the last if none
    is."""
    new, count = partitions.new, len(partitions.times)
    times = np.concatenate([partitions.times[new] - distance, partitions.times])
    parts = np.concatenate([partitions.first[new], partitions.first])
    is_row = np.arange(len(times)) >= len(new)
    order = np.lexsort((is_row, times, parts))
    rows_before = np.empty(len(new) + count, np.int64)
    rows_before[order] = np.cumsum(is_row[order])
    return rows_before[: len(new)]


def _of_frames(call: OverCall, arguments: Sequence[pa.Array], low: Longs, high: Longs) -> pa.Array:
    accumulator, rows = call.accumulator, len(arguments[0]) if arguments else int(high.max(initial=0))
    weights = np.ones(rows, np.int64)
    nothing = accumulator.start([pa.nulls(1, to_arrow(kind)) for kind in call.arguments], np.zeros(1, np.int64), _ONE)
    parts = []
    for start, end in _in_parts(high - low):
        counts = (high - low)[start:end]
        has_rows = counts > 0
        groups = Groups(ranges(low[start:end], counts), (np.cumsum(counts) - counts)[has_rows])
        added = accumulator.start(arguments, weights, groups) if groups.count else [column[:0] for column in nothing]
        both = [pa.concat_arrays([some.cast(none.type), none]) for some, none in zip(added, nothing, strict=True)]
        place = np.where(has_rows, np.cumsum(has_rows) - 1, groups.count)
        parts.append(accumulator.finish(both).take(pa.array(place)))
    return pa.concat_arrays(parts)


_ONE = Groups(np.zeros(1, np.int64), np.zeros(1, np.int64))


def _in_parts(counts: Longs) -> Iterator[tuple[int, int]]:
    """Return ranges of frames that have not too many rows together."""
    parts = np.cumsum(counts) // _AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(counts)]
    return pairwise(edges)


def _with_carried(
    accumulator: Accumulator,
    index: int,
    columns: Sequence[pa.Array],
    partitions: _Partitions,
    totals: pa.Table | None,
) -> Sequence[pa.Array]:
    """Return the columns of single rows, with what is carried merged into the first row of each partition."""
    is_leading = _leading_new(partitions.first, partitions.new) == partitions.new
    takes = np.flatnonzero(is_leading & (partitions.carried >= 0))
    if totals is None or not len(takes):
        return columns
    kept = [
        whole(totals[f"m{index}.{place}"]).take(pa.array(partitions.carried[takes])) for place in range(len(columns))
    ]
    return _merged_at(accumulator, columns, takes, kept)


def _running(accumulator: Accumulator, columns: Sequence[pa.Array], partitions: _Partitions) -> Sequence[pa.Array]:
    """Return for each new row the sum of all up to it, by distances that double."""
    places = np.arange(len(partitions.new))
    first = np.searchsorted(partitions.new, _leading_new(partitions.first, partitions.new))
    distance = 1
    while (takes := np.flatnonzero(places - distance >= first)).size:
        earlier = [column.take(pa.array(takes - distance)) for column in columns]
        columns = _merged_at(accumulator, columns, takes, earlier)
        distance *= 2
    return columns


def _merged_at(
    accumulator: Accumulator, columns: Sequence[pa.Array], places: Longs, others: Sequence[pa.Array]
) -> Sequence[pa.Array]:
    """Return the columns, merged with others at some places."""
    count = len(places)
    pairs = Groups(np.arange(2 * count).reshape(2, count).T.ravel(), 2 * np.arange(count))
    both = [
        pa.concat_arrays([other.cast(column.type), column.take(pa.array(places))])
        for other, column in zip(others, columns, strict=True)
    ]
    merged = accumulator.merge(both, pairs)
    chosen = np.arange(len(columns[0]))
    chosen[places] = len(chosen) + np.arange(count)
    return [
        pa.concat_arrays([column, new.cast(column.type)]).take(pa.array(chosen))
        for column, new in zip(columns, merged, strict=True)
    ]


def _totals(rows: pa.Table, partitions: _Partitions, columns: dict[str, pa.Array], done: Flags) -> pa.Table | None:
    """Return the totals after the last complete row of each partition."""
    if not columns:
        return None
    complete = np.flatnonzero(done)
    all_ids = longs(rows[ROW_ID])[partitions.new]
    ids = all_ids[complete]
    is_last = np.ones(len(ids), bool)
    is_last[:-1] = ids[1:] != ids[:-1]
    last = complete[is_last]
    table = {ROW_ID: pa.array(all_ids[last]), LAST: pa.array(partitions.times[partitions.new[last]])}
    table |= {name: column.take(pa.array(last)) for name, column in columns.items()}
    return pa.table({**table, WEIGHT: pa.array(np.ones(len(last), np.int64))})
