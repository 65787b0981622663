"""The best rows of each partition, or all with their places, as rows come and go.

A partition is a multiset of rows by their hash. Where rows are never taken back, those beyond the last wanted place are
not kept: nothing could ever make them better. Beside the rows stands when each partition last changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.hidden import EVENT_TIME, RETRACT, ROW_ID
from engine.plan.nodes.ranked import Ranking
from engine.schema import Schema, arrow_schema
from engine.updating.accumulators.base import Sorting
from engine.updating.changelog import changes_between
from engine.updating.chunks import Chunks
from engine.updating.groups import Longs, flags, group, longs, moments, valid
from engine.updating.ids import combined
from engine.updating.serialization import deal, from_bytes, to_bytes
from engine.updating.state_columns import LAST, MATCH, ROW, WEIGHT
from engine.updating.step import NEVER, Kept, Outcome

_NAMES = ("rows", "partitions")
_KEYS = {"rows": (MATCH, ROW), "partitions": (MATCH,)}


@dataclass(frozen=True, slots=True)
class TopSpec:
    """What is ranked: rows with the columns of `schema`, and `o0`... to order them by. The place is the last column
    that goes out, when it `is_numbered`."""

    schema: Schema
    order: tuple[Sorting, ...]
    function: Ranking
    is_numbered: bool
    limit: int | None
    only_appends: bool
    ttl: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a kept row beside its hashes and its weight."""
        return (*self.schema.names, *(f"o{index}" for index in range(len(self.order))))

    @property
    def prunes(self) -> bool:
        """Whether rows beyond the limit are of no use."""
        return self.only_appends and self.limit is not None

    @property
    def is_known_by_place(self) -> bool:
        """Whether the version of a row is the next one in its place, and not the same row in another one."""
        return self.function == "row_number" and (self.is_numbered or self.limit == 1)


def summed(spec: TopSpec, rows: pa.Table) -> dict[str, pa.Table]:
    """Rows as they come: equal ones counted, those left out that nobody can want, and when their partitions changed."""
    rows = rows.combine_chunks()
    weights = np.ones(rows.num_rows, np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    times = moments(rows[EVENT_TIME])
    found = group(longs(rows[MATCH]), longs(rows[ROW]))
    counted = rows.select([MATCH, ROW, *spec.columns]).take(pa.array(found.firsts))
    counted = counted.append_column(WEIGHT, pa.array(found.sums(weights)))
    if spec.prunes:
        kept = _wanted(spec, counted, longs(counted[WEIGHT]))
        counted = _weighing(counted, kept).filter(pa.array(kept > 0))
    partitions = group(longs(rows[MATCH]))
    changed = {MATCH: longs(rows[MATCH])[partitions.firsts], LAST: partitions.greatest(times)}
    return {"rows": counted, "partitions": pa.table({name: pa.array(values) for name, values in changed.items()})}


def step(spec: TopSpec, kept: Kept, parts: Sequence[Mapping[str, pa.Table]]) -> Outcome:
    """One epoch of one bucket: what is kept then, and the changes that go out."""
    arrived = pa.concat_tables([part["partitions"] for part in parts]).combine_chunks()
    changed = group(longs(arrived[MATCH]))
    ids, times = longs(arrived[MATCH])[changed.firsts], changed.greatest(longs(arrived[LAST]))
    newest = max(kept.newest, int(times.max(initial=NEVER)))
    partitions = kept.tables.get("partitions", Chunks(_KEYS["partitions"]))
    forgotten = np.zeros(0, np.int64)
    known = partitions.find(ids)
    if known is not None:
        last, places = longs(known[LAST]), np.searchsorted(ids, longs(known[MATCH]))
        times[places] = np.maximum(times[places], last)
        forgotten = longs(known[MATCH])[last + spec.ttl < newest]
    rows = kept.tables.get("rows", Chunks(_KEYS["rows"]))
    both, old, new = _merged(spec, rows.find(ids), [part["rows"] for part in parts], forgotten)
    if spec.prunes:
        new = _wanted(spec, both, new)
    out = _changes(spec, both, old, new, ids, times)
    there = np.isin(ids, longs(both[MATCH])[new > 0])
    stamps = pa.table({MATCH: pa.array(ids), WEIGHT: pa.array(there.astype(np.int64)), LAST: pa.array(times)})
    differs = pa.array(old != new)
    tables = {"rows": rows.add(_weighing(both, new).filter(differs)), "partitions": partitions.add(stamps)}
    return _without_forgotten(spec, replace(kept, tables=tables, newest=newest), out)


def _merged(
    spec: TopSpec, there: pa.Table | None, came: Sequence[pa.Table], forgotten: Longs
) -> tuple[pa.Table, Longs, Longs]:
    """The rows of some partitions, each once, with how often it was there and is."""
    own = pa.schema([(MATCH, pa.int64()), (ROW, pa.int64())])
    kinds = {f"o{index}": came[0].schema.field(f"o{index}").type for index in range(len(spec.order))}
    shape = pa.schema([*own, *arrow_schema(spec.schema), *kinds.items(), (WEIGHT, pa.int64())])
    there = shape.empty_table() if there is None else there
    fresh = [pa.table([table[name] for name in shape.names], schema=shape) for table in came]
    both = pa.concat_tables([there, *fresh]).combine_chunks()
    found = group(longs(both[MATCH]), longs(both[ROW]))
    weights, is_old = longs(both[WEIGHT]), np.arange(both.num_rows) < there.num_rows
    stays = ~(is_old & np.isin(longs(both[MATCH]), forgotten))
    old, new = found.sums(weights * is_old), np.maximum(found.sums(weights * stays), 0)
    return both.take(pa.array(found.firsts)), old, new


def _weighing(rows: pa.Table, weights: Longs) -> pa.Table:
    return rows.set_column(rows.column_names.index(WEIGHT), WEIGHT, pa.array(weights))


@dataclass(frozen=True, slots=True)
class _Placed:
    """Rows in their order, partition by partition, with the place of the first copy and how many of them are wanted."""

    rows: Longs
    places: Longs
    counts: Longs


def _wanted(spec: TopSpec, rows: pa.Table, weights: Longs) -> Longs:
    """How often each row is among the wanted ones."""
    placed = _placed(spec, rows, weights)
    wanted = np.zeros(len(weights), np.int64)
    wanted[placed.rows] = placed.counts
    return wanted


def _placed(spec: TopSpec, rows: pa.Table, weights: Longs) -> _Placed:
    there = np.flatnonzero(weights > 0)
    match = longs(rows[MATCH])[there]
    codes = [_codes(rows[f"o{index}"], one)[there] for index, one in enumerate(spec.order)]
    order = np.lexsort((*codes[::-1], match))
    there, match, weights = there[order], match[order], weights[there[order]]
    starts = _starts(match)
    before = np.cumsum(weights) - weights
    places = 1 + before - np.repeat(before[starts], np.diff(np.append(starts, len(match))))
    if spec.function != "row_number":
        peers = _starts(match, *(code[order] for code in codes))
        sizes = np.diff(np.append(peers, len(match)))
        if spec.function == "rank":
            places = np.repeat(places[peers], sizes)
        else:
            first = np.searchsorted(peers, starts)
            number = np.arange(len(peers)) - np.repeat(first, np.diff(np.append(first, len(peers))))
            places = np.repeat(1 + number, sizes)
    counts = weights
    if spec.limit is not None:
        room = np.maximum(spec.limit + 1 - places, 0)
        counts = np.minimum(weights, room) if spec.function == "row_number" else weights * (room > 0)
    return _Placed(there, places, counts)


def _starts(*keys: Longs) -> Longs:
    """Where runs of equal keys begin."""
    changes = np.zeros(len(keys[0]), bool)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def _codes(column: pa.ChunkedArray, sorting: Sorting) -> Longs:
    """Numbers that are ordered as the values are to be; NaN is greater than all other numbers."""
    values = column.combine_chunks()
    is_there = valid(values)
    codes = np.full(len(values), -1 if sorting.nulls_first else len(values) + 1)
    if is_there.any():
        ranks = pc.rank(values.drop_null(), sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
        codes[is_there] = len(values) - ranks if sorting.descending else ranks
    return codes


def _versions(spec: TopSpec, rows: pa.Table, weights: Longs) -> tuple[pa.Table, Longs]:
    """The rows that are out for some weights, with their ids and sorted by them, and the partition of each."""
    placed = _placed(spec, rows, weights)
    taken = np.repeat(placed.rows, placed.counts)
    copies = np.arange(len(taken)) - np.repeat(np.cumsum(placed.counts) - placed.counts, placed.counts)
    places = np.repeat(placed.places, placed.counts)
    if spec.function == "row_number":
        places = places + copies
    match = longs(rows[MATCH])[taken]
    own = places if spec.is_known_by_place else combined(longs(rows[ROW])[taken], copies)
    ids = combined(match, own)
    order = np.argsort(ids, kind="stable")
    found = rows.select(list(spec.schema.names)).take(pa.array(taken[order]))
    if spec.is_numbered:
        found = found.append_column("place", pa.array(places[order]))
    return found.append_column(ROW_ID, pa.array(ids[order])), match[order]


def _changes(spec: TopSpec, rows: pa.Table, old: Longs, new: Longs, partitions: Longs, times: Longs) -> pa.Table:
    """What turns the rows of some partitions that were out into those that are to be."""
    before, owners = _versions(spec, rows, old)
    after, others = _versions(spec, rows, new)
    every, firsts = np.unique(np.concatenate([longs(before[ROW_ID]), longs(after[ROW_ID])]), return_index=True)
    of = np.concatenate([owners, others])[firsts]
    return changes_between(before, after, every, times[np.searchsorted(partitions, of)])


def _without_forgotten(spec: TopSpec, kept: Kept, out: pa.Table) -> Outcome:
    """Partitions that have not changed for long are taken back; looked for only after a part of that time."""
    if kept.newest - kept.swept < max(spec.ttl // 16, 1):
        return Outcome(kept, out)
    kept = replace(kept, swept=kept.newest)
    stamps = kept.tables["partitions"].all()
    assert stamps is not None
    is_old = longs(stamps[LAST]) + spec.ttl < kept.newest
    if not is_old.any():
        return Outcome(kept, out)
    gone, chunks = longs(stamps[MATCH])[is_old], kept.tables["rows"]
    rows, left = chunks.find(gone), chunks.find(longs(stamps[MATCH])[~is_old])
    assert rows is not None
    assert left is not None
    weights = longs(rows[WEIGHT])
    back = _changes(spec, rows, weights, np.zeros_like(weights), gone, np.full(len(gone), kept.newest))
    tables = {
        "rows": Chunks(chunks.keys, (left.combine_chunks(),)),
        "partitions": Chunks(_KEYS["partitions"], (stamps.filter(pa.array(~is_old)).combine_chunks(),)),
    }
    return Outcome(replace(kept, tables=tables), pa.concat_tables([out, back]))


@dataclass(frozen=True, slots=True)
class TopOperator:
    """The ranking as an operator of buckets."""

    spec: TopSpec

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Counted, by bucket."""
        tables = summed(self.spec, rows)
        ids = {name: longs(table[MATCH]) for name, table in tables.items()}
        for bucket, parts in deal(tables, ids):
            yield bucket, to_bytes(parts)

    def step(self, kept: Kept, payloads: Sequence[bytes]) -> Outcome:
        """One epoch of one bucket."""
        return step(self.spec, kept, [dict(zip(_NAMES, from_bytes(one), strict=True)) for one in payloads])
