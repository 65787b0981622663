"""Aggregation over windows that are computed from their panes when they close.

    count(*) by hop(2 s, 10 s), key
    input         a 12:00:01, a 12:00:01, b 12:00:03
    state         (12:00:00, a) 2, (12:00:02, b) 1              a row per pane and key, not per window and key
    watermark 12:00:04: the windows that end at 12:00:02 and 12:00:04 close
    output        [11:59:52, 12:00:02) a 2, [11:59:54, 12:00:04) a 2, [11:59:54, 12:00:04) b 1
    watermark 12:00:10: the pane 12:00:00 is in no open window, and is removed

A row may be late for some of its windows only. Then its pane is stored a second time, with a cut: it is in no window
that ends by that. Input causes no look-ups: an epoch adds a chunk, and chunks of similar size are merged. See
docs/decisions/windows-can-be-kept-by-pane.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.plan.tree import EVENT_TIME, ROW_ID, WATERMARK
from engine.schema import Schema, arrow_schema, to_arrow
from engine.updating.accumulators import Measure, accumulator_for, columns_of_merged
from engine.updating.bucket_state import NEVER, BucketState, StepsResult
from engine.updating.chunks import Chunks, divided, merge_due
from engine.updating.groups import Groups, Longs, group_rows, longs, ranges, valid
from engine.updating.serialization import deal, from_each, to_bytes, whole
from engine.updating.state_columns import CUT, PANE


@dataclass(frozen=True, slots=True)
class PaneSpec:
    """`schema` has keys, window, results and event time, in this order. A window of `width` begins every `slide`; all
    rows of a `pane` are in the same windows; all three in microseconds. Input rows have the columns `_id`, `k0`..., and
    for each measure its arguments `a0_0`...; pre-aggregated rows have their number in `n`, and merged values in
    `a0_0`... `form` has a text per measure, `formerly` the texts with narrower numbers."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    slide: int
    width: int
    pane: int
    form: tuple[str, ...]
    is_merged: bool = False
    formerly: tuple[tuple[str, ...], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    def place_in(self, form: Sequence[str], index: int) -> int | None:
        """Return the place that a measure has in another form."""
        texts = (self.form[index], *(self.formerly[index] if self.formerly else ()))
        return next((form.index(text) for text in texts if text in form), None)


TABLE = "panes"
_KEYS = (ROW_ID, PANE, CUT)


def summed(spec: PaneSpec, rows: pa.Table) -> pa.Table:
    """Return rows as they come, summed up by pane and key."""
    rows = rows.combine_chunks()
    ids, times = longs(rows[ROW_ID]), longs(rows[EVENT_TIME])
    panes = times - times % spec.pane
    cuts = _cuts(spec, panes, longs(rows[WATERMARK]))
    groups = group_rows(ids, panes, cuts)
    columns = _keys_of(spec, rows, {ROW_ID: ids, PANE: panes, CUT: cuts}, groups)
    weights = longs(rows["n"]) if spec.is_merged else np.ones(len(ids), np.int64)
    for index, measure in enumerate(spec.measures):
        arguments = [whole(rows[name]) for name in rows.column_names if name.startswith(f"a{index}_")]
        accumulator = accumulator_for(measure)
        if spec.is_merged and arguments:
            sums = accumulator.merge(_columns_of_partials(measure, arguments[0]), groups)
        else:
            sums = accumulator.start(arguments, weights, groups)
        columns |= {f"m{index}.{place}": column for place, column in enumerate(sums)}
    return pa.table(columns)


def _columns_of_partials(measure: Measure, partials: pa.Array) -> list[pa.Array]:
    """Return the state columns of pre-aggregated rows. A sum also records whether it has any value."""
    if measure.function != "sum":
        return columns_of_merged(measure, [partials])
    return columns_of_merged(measure, [partials, pa.array(valid(partials).astype(np.int64))])


def _cuts(spec: PaneSpec, panes: Longs, watermarks: Longs) -> Longs:
    """Return, for each row, the end of the last of its windows that is closed already; NEVER if none is."""
    last = watermarks - (watermarks - spec.width) % spec.slide
    is_late = last >= _first_start(spec, panes) + spec.width
    return np.where(is_late, last, NEVER)


def _first_start(spec: PaneSpec, after: Longs) -> Longs:
    """Return the start of the first window that ends after these instants."""
    starts: Longs = ((after - spec.width) // spec.slide + 1) * spec.slide
    return starts


def steps(spec: PaneSpec, states: Mapping[int, BucketState], parts: Sequence[pa.Table], watermark: int) -> StepsResult:
    """Return one epoch of some buckets, from what tasks summed up: what is kept then, and the rows of the windows
    that are over by the watermark. Of a state `swept` is up to where windows are closed, `newest` when the next one
    is over."""
    states = {bucket: in_form(spec, state) for bucket, state in states.items()}
    tables = {
        bucket: list(state.tables[TABLE].tables) if TABLE in state.tables else [] for bucket, state in states.items()
    }
    next_ends = {bucket: states[bucket].newest if kept else END_OF_ALL for bucket, kept in tables.items()}
    if parts:
        for bucket, rows in divided(_merged(spec, parts), ROW_ID).items():
            tables[bucket].append(rows)
            end = _next_end(spec, longs(rows[PANE]), longs(rows[CUT]), states[bucket].swept)
            next_ends[bucket] = min(next_ends[bucket], end)
    merge_due(tables, ROW_ID, lambda chunks, _: _merged(spec, chunks))
    closings: list[_Closing] = []
    after: dict[int, BucketState] = {}
    for bucket, state in states.items():
        closed, kept, next_end = max(state.swept, watermark), tables[bucket], next_ends[bucket]
        if next_end <= closed:
            closing = _close(spec, kept, state.swept, closed)
            closings.append(closing)
            kept, next_end = closing.staying, closing.next_end
        after[bucket] = replace(state, tables={TABLE: Chunks(_KEYS, tuple(kept))}, newest=next_end, swept=closed)
    return StepsResult(after, _rows_of(spec, closings))


END_OF_ALL = 1 << 62
"""After every instant: the next step of a shard without state."""


@dataclass(frozen=True, slots=True)
class _Closing:
    """A shard with closing windows: their panes, the range of their ends, the remaining panes, and the next end."""

    leaving: Sequence[pa.Table]
    before: int
    closed: int
    staying: list[pa.Table]
    next_end: int


def _close(spec: PaneSpec, tables: Sequence[pa.Table], before: int, closed: int) -> _Closing:
    leaving, staying, next_end = [], [], END_OF_ALL
    for table in tables:
        panes, cuts = longs(table[PANE]), longs(table[CUT])
        is_over = _first_start(spec, np.maximum(panes, np.maximum(cuts, before))) + spec.width <= closed
        if is_over.any():
            leaving.append(table.filter(pa.array(is_over)))
        is_open = panes // spec.slide * spec.slide + spec.width > closed
        if is_open.any():
            staying.append(table if is_open.all() else table.filter(pa.array(is_open)).combine_chunks())
            next_end = min(next_end, _next_end(spec, panes[is_open], cuts[is_open], closed))
    return _Closing(leaving, before, closed, staying, next_end)


def _next_end(spec: PaneSpec, panes: Longs, cuts: Longs, closed: int) -> int:
    """Return the end of the first window of some panes that was still open at `closed`."""
    return int((_first_start(spec, np.maximum(panes, np.maximum(cuts, closed))) + spec.width).min())


def _rows_of(spec: PaneSpec, closings: Sequence[_Closing]) -> pa.Table:
    """Return the rows of all windows that are over."""
    leaving = [table for closing in closings for table in closing.leaving]
    if not leaving:
        return _nothing(spec)
    counts = [sum(table.num_rows for table in closing.leaving) for closing in closings]
    before = np.repeat([closing.before for closing in closings], counts)
    closed = np.repeat([closing.closed for closing in closings], counts)
    return _windows(spec, pa.concat_tables(leaving), before, closed)


def _merged(spec: PaneSpec, tables: Sequence[pa.Table]) -> pa.Table:
    """Return one row for each key, pane and cut, in their order."""
    rows = pa.concat_tables(tables).combine_chunks()
    keys = {name: longs(rows[name]) for name in _KEYS}
    groups = group_rows(*keys.values())
    if groups.count == rows.num_rows:
        return rows.take(pa.array(groups.order))
    return pa.table(_added_up(spec, rows, keys, groups))


def _windows(spec: PaneSpec, rows: pa.Table, before: Longs | int, closed: Longs | int) -> pa.Table:
    """Return the rows of the windows that end after `before`, and by `closed`, which are those of each row or of
    all."""
    rows = rows.combine_chunks()
    panes = longs(rows[PANE])
    first = _first_start(spec, np.maximum(panes, np.maximum(longs(rows[CUT]), before))) // spec.slide
    last = np.minimum(panes // spec.slide, (closed - spec.width) // spec.slide)
    return pa.concat_tables([_written_out(spec, *part) for part in _by_time(rows, first, last)])


_AT_ONCE = 1 << 20
"""Largest number of pane rows to expand into window rows at once: a day by seconds in windows of a quarter of an hour
has 78 million of them, and 87,300 windows."""


def _by_time(rows: pa.Table, first: Longs, last: Longs) -> Iterator[tuple[pa.Table, Longs, Longs]]:
    """Yield the panes with their first and last windows, in parts of so many windows that they can be written out."""
    is_in = first <= last
    if not is_in.all():
        rows, first, last = rows.filter(pa.array(is_in)), first[is_in], last[is_in]
    if int((last - first + 1).sum()) <= _AT_ONCE or (low := int(first.min())) == (high := int(last.max())):
        yield rows, first, last
        return
    middle = (low + high) // 2
    yield from _by_time(rows, first, np.minimum(last, middle))
    yield from _by_time(rows, np.maximum(first, middle + 1), last)


def _written_out(spec: PaneSpec, rows: pa.Table, first: Longs, last: Longs) -> pa.Table:
    counts = last - first + 1
    places, starts = np.repeat(np.arange(len(counts)), counts), ranges(first, counts) * spec.slide
    in_windows = rows.drop_columns([PANE, CUT]).take(pa.array(places))
    groups = group_rows(longs(in_windows[ROW_ID]), starts)
    added_up = _added_up(spec, in_windows, {}, groups)
    starts = starts[groups.first_rows]
    columns = [*(added_up[name] for name in spec.keys), _as_windows(starts, starts + spec.width)]
    for index, measure in enumerate(spec.measures):
        sums = [whole(column) for name, column in added_up.items() if name.startswith(f"m{index}.")]
        columns.append(accumulator_for(measure).finish(sums))
    columns.append(pa.array(starts + spec.width - 1, _INSTANT))
    schema = arrow_schema(spec.schema)
    cast = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(cast, schema=schema)


def open_windows(spec: PaneSpec, state: BucketState) -> pa.Table:
    """Return the rows of the windows that are not over, as they would be if nothing came any more."""
    state = in_form(spec, state)
    tables = state.tables[TABLE].tables if TABLE in state.tables else ()
    return _windows(spec, pa.concat_tables(tables), state.swept, END_OF_ALL) if tables else _nothing(spec)


_INSTANT = pa.timestamp("us", tz="UTC")


def _as_windows(starts: Longs, ends: Longs) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(starts, _INSTANT), pa.array(ends, _INSTANT)], ["start", "end"])


def _nothing(spec: PaneSpec) -> pa.Table:
    return arrow_schema(spec.schema).empty_table()


def _keys_of(spec: PaneSpec, rows: pa.Table, numbers: Mapping[str, Longs], groups: Groups) -> dict[str, pa.Array]:
    first_rows = pa.array(groups.first_rows)
    columns = {name: pa.array(values[groups.first_rows]) for name, values in numbers.items()}
    return columns | {name: whole(rows[name]).take(first_rows) for name in spec.keys}


def _added_up(spec: PaneSpec, rows: pa.Table, numbers: Mapping[str, Longs], groups: Groups) -> dict[str, pa.Array]:
    """Return the columns for each group of rows that are summed up already, with the numbers of its first."""
    columns = _keys_of(spec, rows, numbers, groups)
    for index, measure in enumerate(spec.measures):
        names = _columns_of(rows, index)
        merged = accumulator_for(measure).merge([whole(rows[name]) for name in names], groups)
        columns |= dict(zip(names, merged, strict=True))
    return columns


def _columns_of(rows: pa.Table, index: int) -> list[str]:
    return [name for name in rows.column_names if name.startswith(f"m{index}.")]


def in_form(spec: PaneSpec, state: BucketState) -> BucketState:
    """Convert a shard's state to the form of this query. An earlier query may have kept other aggregates, or narrower
    numbers. A new aggregate starts empty; `plan/state/withheld.py` records the windows in which it is suppressed."""
    if state.form is None or state.form == spec.form:
        return replace(state, form=spec.form)
    places = [spec.place_in(state.form, index) for index in range(len(spec.measures))]
    chunks = [_rows_in_form(spec, table, places) for table in state.tables[TABLE].tables] if state.tables else []
    return replace(state, tables={TABLE: Chunks(_KEYS, tuple(chunks))}, form=spec.form)


def _rows_in_form(spec: PaneSpec, rows: pa.Table, places: Sequence[int | None]) -> pa.Table:
    columns = {name: rows[name] for name in _KEYS}
    keys = zip(spec.keys, spec.schema, strict=False)
    columns |= {name: rows[name].cast(to_arrow(field.type)) for name, field in keys}
    for index, place in enumerate(places):
        summed_up = _of_nothing(spec, index, rows.num_rows if place is None else 0)
        if place is not None:
            kept = [rows[name] for name in _columns_of(rows, place)]
            summed_up = [column.cast(now.type) for column, now in zip(kept, summed_up, strict=True)]
        columns |= {f"m{index}.{part}": column for part, column in enumerate(summed_up)}
    return pa.table(columns).combine_chunks()


def _of_nothing(spec: PaneSpec, index: int, rows: int) -> Sequence[pa.Array]:
    """Return the state of an aggregate over no rows, repeated for `rows` panes."""
    measure = spec.measures[index]
    arguments = [pa.nulls(rows, to_arrow(kind)) for kind in measure.arguments]
    return accumulator_for(measure).start(arguments, np.zeros(rows, np.int64), group_rows(np.arange(rows)))


def starts_of(rows: pa.Table, slide: int, width: int) -> Longs:
    """Return the starts of all windows that these panes are in, in order."""
    panes = longs(rows[PANE])
    first, last = (panes - width) // slide + 1, panes // slide
    return np.unique(ranges(first, last - first + 1)) * slide


@dataclass(frozen=True, slots=True)
class PaneOperator:
    """The aggregation as a sharded operator that advances with the watermark."""

    spec: PaneSpec

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield the pre-aggregated rows of each shard."""
        table = summed(self.spec, rows)
        for bucket, parts in deal({TABLE: table}, {TABLE: longs(table[ROW_ID])}):
            yield bucket, to_bytes(parts)

    def steps(
        self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]], watermark: int
    ) -> StepsResult:
        """Return one epoch of some buckets; some may step without rows."""
        parts = from_each([payload for of_bucket in payloads.values() for payload in of_bucket])
        return steps(self.spec, states, parts, watermark)
