"""Aggregation without a window: one row per key, replaced whenever an epoch changes it.

Rows are summed up twice: by the task that read them, so that little has to be sent, and in their bucket, together with
what is kept. Where values have to be kept themselves, a second table has each value of a key and how often it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.plan.hidden import EVENT_TIME, RETRACT, ROW_ID
from engine.schema import Schema, arrow_schema
from engine.updating.accumulators import Measure, accumulator_for, keeps_values
from engine.updating.accumulators.incremental import Incremental
from engine.updating.accumulators.values import result_of_values
from engine.updating.changelog import changes_between
from engine.updating.chunks import Chunks
from engine.updating.groups import Flags, Longs, flags, group, longs, moments
from engine.updating.serialization import deal, from_bytes, to_bytes
from engine.updating.state_columns import FIRST, LAST, VALUE, WEIGHT
from engine.updating.step import NEVER, Kept, Outcome


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """What is to be computed: the keys and results in `schema`, keys first. The rows that come have the columns `_id`,
    `k0`..., for each measure its arguments `a0_0`..., its condition `c0`, and `v0` where values are kept."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    only_appends: bool
    ttl: int

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    @property
    def kept_values(self) -> tuple[int, ...]:
        """The measures whose values are kept."""
        pairs = enumerate(self.measures)
        return tuple(index for index, one in pairs if keeps_values(one, only_appends=self.only_appends))


def summed(spec: AggregateSpec, rows: pa.Table) -> dict[str, pa.Table]:
    """Rows as they come, summed up by key; by key and value where values are kept."""
    rows = rows.combine_chunks()
    ids = longs(rows[ROW_ID])
    weights = np.ones(len(ids), np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    found = group(ids)
    columns: dict[str, pa.Array] = {
        ROW_ID: pa.array(ids[found.firsts]),
        WEIGHT: pa.array(found.sums(weights)),
        LAST: pa.array(found.greatest(moments(rows[EVENT_TIME]))),
    }
    first = pa.array(found.firsts)
    columns |= {name: _whole(rows[name]).take(first) for name in spec.keys}
    parts = {}
    for index, measure in enumerate(spec.measures):
        arguments = _arguments(rows, index, measure)
        taking = weights * flags(rows[f"c{index}"]) if measure.has_condition else weights
        if index in spec.kept_values:
            named = {f"a{place}": argument for place, argument in enumerate(arguments)}
            named |= {f"o{place}": _whole(rows[f"o{index}_{place}"]) for place in range(len(measure.order))}
            parts[f"m{index}"] = _values(named, taking, ids, longs(rows[f"v{index}"]))
        else:
            started = accumulator_for(measure).start(arguments, taking, found)
            columns |= {f"m{index}.{place}": column for place, column in enumerate(started)}
    return {"rows": pa.table(columns), **parts}


def _arguments(rows: pa.Table, index: int, measure: Measure) -> list[pa.Array]:
    return [_whole(rows[f"a{index}_{place}"]) for place in range(len(measure.arguments))]


def _values(named: Mapping[str, pa.Array], weights: Longs, ids: Longs, values: Longs) -> pa.Table:
    taking = np.flatnonzero(weights)
    found = group(ids[taking], values[taking])
    firsts = taking[found.firsts]
    columns = {
        ROW_ID: pa.array(ids[firsts]),
        VALUE: pa.array(values[firsts]),
        WEIGHT: pa.array(found.sums(weights[taking])),
        FIRST: pa.array(firsts),
    }
    columns |= {name: column.take(pa.array(firsts)) for name, column in named.items()}
    return pa.table(columns)


def step(spec: AggregateSpec, kept: Kept, parts: Sequence[Mapping[str, pa.Table]]) -> Outcome:
    """One epoch of one bucket, from what tasks summed up: what is kept then, and the changes that go out."""
    changed = _merge_rows(spec, pa.concat_tables([part["rows"] for part in parts]))
    ids, times = longs(changed[ROW_ID]), longs(changed[LAST])
    newest = max(kept.newest, int(times.max(initial=NEVER)))
    rows = kept.tables.get("rows", Chunks((ROW_ID,)))
    before = rows.find(ids)
    alive = None if before is None else before.filter(pa.array(longs(before[LAST]) + spec.ttl >= newest))
    after = changed if alive is None else _merge_rows(spec, pa.concat_tables([alive, changed]).combine_chunks())
    is_there = longs(after[WEIGHT]) > 0
    after = _settled(spec, after, is_there)
    after = after.set_column(after.column_names.index(WEIGHT), WEIGHT, pa.array(longs(after[WEIGHT]) * is_there))
    tables: dict[str, Chunks] = {}
    old_values, new_values = {}, {}
    for index in spec.kept_values:
        name = f"m{index}"
        values = kept.tables.get(name, Chunks((ROW_ID, VALUE)))
        old = values.find(ids)
        new = pa.concat_tables([_renumbered(part[name], kept.rows_seen) for part in parts])
        changes, now = _merge_values(old, new, ids[is_there], None if alive is None else longs(alive[ROW_ID]))
        tables[name], old_values[index], new_values[index] = values.add(changes), old, now
    tables["rows"] = rows.add(after)
    out_before = None if before is None else _results(spec, before, old_values)
    out_after = _results(spec, after.filter(pa.array(is_there)), new_values)
    out = changes_between(out_before, out_after, ids, times)
    seen = kept.rows_seen + sum(part[f"m{index}"].num_rows for part in parts for index in spec.kept_values)
    now_kept = Kept({**kept.tables, **tables}, newest, seen, kept.swept)
    return _without_forgotten(spec, now_kept, out)


def _merge_rows(spec: AggregateSpec, rows: pa.Table) -> pa.Table:
    rows = rows.combine_chunks()
    found = group(longs(rows[ROW_ID]))
    if found.count == rows.num_rows:
        return rows.take(pa.array(found.order))
    first = pa.array(found.firsts)
    columns: dict[str, pa.Array] = {
        ROW_ID: _whole(rows[ROW_ID]).take(first),
        WEIGHT: pa.array(found.sums(longs(rows[WEIGHT]))),
        LAST: pa.array(found.greatest(longs(rows[LAST]))),
    }
    columns |= {name: _whole(rows[name]).take(first) for name in spec.keys}
    for index, measure in enumerate(spec.measures):
        if index not in spec.kept_values:
            names = _columns_of(rows, index)
            merged = accumulator_for(measure).merge([_whole(rows[name]) for name in names], found)
            columns |= dict(zip(names, merged, strict=True))
    return pa.table(columns)


def _settled(spec: AggregateSpec, rows: pa.Table, is_there: Flags) -> pa.Table:
    for index, measure in enumerate(spec.measures):
        if measure.udf is not None:
            names = _columns_of(rows, index)
            columns = Incremental(measure.udf).settle([_whole(rows[name]) for name in names], is_there)
            for name, column in zip(names, columns, strict=True):
                rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def _columns_of(rows: pa.Table, index: int) -> list[str]:
    return [name for name in rows.column_names if name.startswith(f"m{index}.")]


def _renumbered(values: pa.Table, start: int) -> pa.Table:
    place = values.column_names.index(FIRST)
    return values.set_column(place, FIRST, pa.array(longs(values[FIRST]) + start))


def _merge_values(old: pa.Table | None, new: pa.Table, there: Longs, alive: Longs | None) -> tuple[pa.Table, pa.Table]:
    """The rows to write for values that changed, and all values of the keys of this epoch as they are now."""
    if old is None:
        both = new
    else:
        weights = longs(old[WEIGHT])
        if alive is not None:
            weights = weights * np.isin(longs(old[ROW_ID]), alive)
        both = pa.concat_tables([old.set_column(old.column_names.index(WEIGHT), WEIGHT, pa.array(weights)), new])
    both = both.combine_chunks()
    found = group(longs(both[ROW_ID]), longs(both[VALUE]))
    merged = both.take(pa.array(found.firsts))
    weights = np.maximum(found.sums(longs(both[WEIGHT])), 0)
    weights = weights * np.isin(longs(merged[ROW_ID]), there)
    firsts = found.least(longs(both[FIRST]))
    merged = merged.set_column(merged.column_names.index(WEIGHT), WEIGHT, pa.array(weights))
    merged = merged.set_column(merged.column_names.index(FIRST), FIRST, pa.array(firsts))
    was = 0 if old is None else old.num_rows
    touched = found.greatest(np.arange(both.num_rows)) >= was
    gone = weights == 0
    return merged.filter(pa.array(touched | gone)), merged.filter(pa.array(~gone))


def _results(spec: AggregateSpec, rows: pa.Table, values: Mapping[int, pa.Table | None]) -> pa.Table:
    """The rows that go out for kept ones, with their ids."""
    rows = rows.combine_chunks()
    ids = longs(rows[ROW_ID])
    columns = [_whole(rows[name]) for name in spec.keys]
    for index, measure in enumerate(spec.measures):
        if index in spec.kept_values:
            columns.append(result_of_values(measure, values[index], ids))
        else:
            columns.append(accumulator_for(measure).finish([_whole(rows[name]) for name in _columns_of(rows, index)]))
    shape = arrow_schema(spec.schema)
    cast = [
        column.cast(kind.type) if column.type != kind.type else column
        for column, kind in zip(columns, shape, strict=True)
    ]
    return pa.table([*cast, pa.array(ids)], schema=shape.append(pa.field(ROW_ID, pa.int64())))


def _without_forgotten(spec: AggregateSpec, kept: Kept, out: pa.Table) -> Outcome:
    """Keys that have not changed for long are forgotten; looked for only after a part of that time has passed, since it
    means looking at everything."""
    if kept.newest - kept.swept < max(spec.ttl // 16, 1):
        return Outcome(kept, out)
    everything = kept.tables["rows"].compacted()
    rows = everything.all()
    assert rows is not None
    old = longs(rows[LAST]) + spec.ttl < kept.newest
    kept = replace(kept, swept=kept.newest)
    if not old.any():
        return Outcome(kept, out)
    gone = rows.filter(pa.array(old))
    ids = longs(gone[ROW_ID])
    stay = pa.array(longs(rows[ROW_ID])[~old])
    tables = {"rows": Chunks((ROW_ID,), (rows.filter(pa.array(~old)),))}
    values: dict[int, pa.Table | None] = {}
    for index in spec.kept_values:
        chunks = kept.tables[f"m{index}"]
        values[index] = chunks.find(ids)
        left = chunks.find(longs(stay))
        tables[f"m{index}"] = Chunks(chunks.keys, () if left is None else (left,))
    times = np.full(len(ids), kept.newest)
    taken_back = changes_between(_results(spec, gone, values), None, ids, times)
    return Outcome(replace(kept, tables=tables), pa.concat_tables([out, taken_back]))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


@dataclass(frozen=True, slots=True)
class AggregateOperator:
    """The aggregation as an operator of buckets."""

    spec: AggregateSpec

    @property
    def names(self) -> tuple[str, ...]:
        """The tables of a payload, in order."""
        return ("rows", *(f"m{index}" for index in self.spec.kept_values))

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Summed up, by bucket."""
        tables = summed(self.spec, rows)
        ids = {name: longs(table[ROW_ID]) for name, table in tables.items()}
        for bucket, parts in deal(tables, ids):
            yield bucket, to_bytes(parts)

    def step(self, kept: Kept, payloads: Sequence[bytes]) -> Outcome:
        """One epoch of one bucket."""
        return step(self.spec, kept, [dict(zip(self.names, from_bytes(one), strict=True)) for one in payloads])
