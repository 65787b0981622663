"""Ranking: the best rows of each partition, or all rows with their rank, as rows are inserted and retracted.

A partition is a multiset of rows by hash. If rows are never retracted, rows beyond the limit are not stored. A second
table has the time of each partition's last change.

    row_number() OVER (PARTITION BY k ORDER BY n DESC) <= 2, over rows that may be retracted
    input        +(a, 3) +(a, 9) +(a, 5)       -(a, 9)
    state        (a, 3) (a, 5) (a, 9)          (a, 3) (a, 5)
    output       +(a, 9) +(a, 5)               -(a, 9) +(a, 3)

See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.nodes.updating import Ranking
from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID
from engine.schema import Schema, arrow_schema, to_arrow
from engine.updating.accumulators.counts import Sorting
from engine.updating.bucket_state import NEVER, BucketState, StepResult, StepsResult, one_by_one
from engine.updating.chunks import Chunks
from engine.updating.groups import Longs, changes_between, combined, flags, group_rows, longs, moments, valid
from engine.updating.serialization import deal, from_bytes, replaced, to_bytes
from engine.updating.state_columns import LAST, MATCH, ROW, WEIGHT

_NAMES = ("rows", "partitions")
_KEYS = {"rows": (MATCH, ROW), "partitions": (MATCH,)}


@dataclass(frozen=True, slots=True)
class TopSpec:
    """Specification of a ranking: rows with the columns of `schema`, ordered by `o0`... The rank is the last output
    column if it `is_numbered`. If `is_widened`, rows may be stored with narrower types."""

    schema: Schema
    order: tuple[Sorting, ...]
    function: Ranking
    is_numbered: bool
    limit: int | None
    only_appends: bool
    ttl: int
    is_widened: bool = False

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
    """Return rows as they come: equal ones counted, those left out that nobody can want, and when their partitions
    changed."""
    rows = rows.combine_chunks()
    weights = np.ones(rows.num_rows, np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    times = moments(rows[EVENT_TIME])
    groups = group_rows(longs(rows[MATCH]), longs(rows[ROW]))
    counted = rows.select([MATCH, ROW, *spec.columns]).take(pa.array(groups.first_rows))
    counted = counted.append_column(WEIGHT, pa.array(groups.sum_of(weights)))
    if spec.prunes:
        within_limit = _counts_within_limit(spec, counted, longs(counted[WEIGHT]))
        counted = replaced(counted, WEIGHT, within_limit).filter(pa.array(within_limit > 0))
    partitions = group_rows(longs(rows[MATCH]))
    changed = {MATCH: longs(rows[MATCH])[partitions.first_rows], LAST: partitions.greatest_of(times)}
    return {"rows": counted, "partitions": pa.table({name: pa.array(values) for name, values in changed.items()})}


def step(spec: TopSpec, state: BucketState, parts: Sequence[Mapping[str, pa.Table]]) -> StepResult:
    """Return one epoch of one bucket: what is kept then, and the changes that go out."""
    arrived = pa.concat_tables([part["partitions"] for part in parts]).combine_chunks()
    groups = group_rows(longs(arrived[MATCH]))
    ids, times = longs(arrived[MATCH])[groups.first_rows], groups.greatest_of(longs(arrived[LAST]))
    newest = max(state.newest, int(times.max(initial=NEVER)))
    partitions = state.tables.get("partitions", Chunks(_KEYS["partitions"]))
    forgotten = np.zeros(0, np.int64)
    stored = partitions.find(ids)
    if stored is not None:
        last, places = longs(stored[LAST]), np.searchsorted(ids, longs(stored[MATCH]))
        times[places] = np.maximum(times[places], last)
        forgotten = longs(stored[MATCH])[last + spec.ttl < newest]
    rows = state.tables.get("rows", Chunks(_KEYS["rows"]))
    if spec.is_widened:
        rows = rows.in_types_of(_kept_schema(spec))
    merged = _merged(spec, rows.find(ids), [part["rows"] for part in parts], forgotten)
    if spec.prunes:
        merged = replace(merged, new=_counts_within_limit(spec, merged.rows, merged.new))
    out = _changes(spec, merged, ids, times)
    exists = np.isin(ids, longs(merged.rows[MATCH])[merged.new > 0])
    stamps = pa.table({MATCH: pa.array(ids), WEIGHT: pa.array(exists.astype(np.int64)), LAST: pa.array(times)})
    changed = replaced(merged.rows, WEIGHT, merged.new).filter(pa.array(merged.old != merged.new))
    tables = {"rows": rows.add(changed), "partitions": partitions.add(stamps)}
    return _swept(spec, replace(state, tables=tables, newest=newest), out)


def _kept_schema(spec: TopSpec) -> pa.Schema:
    hashes = [(MATCH, pa.int64()), (ROW, pa.int64())]
    order = [(f"o{index}", to_arrow(sorting.type)) for index, sorting in enumerate(spec.order)]
    return pa.schema([*hashes, *arrow_schema(spec.schema), *order, (WEIGHT, pa.int64())])


@dataclass(frozen=True, slots=True)
class _Weighed:
    """Rows of some partitions, each once, with their multiplicity before and after."""

    rows: pa.Table
    old: Longs
    new: Longs


def _merged(spec: TopSpec, stored: pa.Table | None, arrived: Sequence[pa.Table], forgotten: Longs) -> _Weighed:
    """Merge the stored rows of some partitions with the rows that arrived."""
    schema = _kept_schema(spec)
    before = schema.empty_table() if stored is None else stored
    fresh = [pa.table([table[name] for name in schema.names], schema=schema) for table in arrived]
    both = pa.concat_tables([before, *fresh]).combine_chunks()
    groups = group_rows(longs(both[MATCH]), longs(both[ROW]))
    weights, is_old = longs(both[WEIGHT]), np.arange(both.num_rows) < before.num_rows
    stays = ~(is_old & np.isin(longs(both[MATCH]), forgotten))
    old, new = groups.sum_of(weights * is_old), np.maximum(groups.sum_of(weights * stays), 0)
    return _Weighed(both.take(pa.array(groups.first_rows)), old, new)


@dataclass(frozen=True, slots=True)
class _Placed:
    """Sorted rows, partition by partition, with the rank of the first copy, and the number of copies within the
    limit."""

    rows: Longs
    places: Longs
    counts: Longs


def _counts_within_limit(spec: TopSpec, rows: pa.Table, weights: Longs) -> Longs:
    """Return how many copies of each row are within the limit."""
    placed = _placed(spec, rows, weights)
    counts = np.zeros(len(weights), np.int64)
    counts[placed.rows] = placed.counts
    return counts


def _placed(spec: TopSpec, rows: pa.Table, weights: Longs) -> _Placed:
    existing = np.flatnonzero(weights > 0)
    match = longs(rows[MATCH])[existing]
    codes = [sort_codes(rows[f"o{index}"], sorting)[existing] for index, sorting in enumerate(spec.order)]
    order = np.lexsort((*codes[::-1], match))
    existing, match, weights = existing[order], match[order], weights[existing[order]]
    starts = _starts(match)
    copies_before = np.cumsum(weights) - weights
    places = 1 + copies_before - np.repeat(copies_before[starts], np.diff(np.append(starts, len(match))))
    if spec.function != "row_number":
        places = _peer_places(spec, places, starts, _starts(match, *(code[order] for code in codes)))
    counts = weights
    if spec.limit is not None:
        room = np.maximum(spec.limit + 1 - places, 0)
        counts = np.minimum(weights, room) if spec.function == "row_number" else weights * (room > 0)
    return _Placed(existing, places, counts)


def _peer_places(spec: TopSpec, places: Longs, starts: Longs, peers: Longs) -> Longs:
    """Return the places of rows where equal ones share theirs: `starts` is where partitions begin, `peers` where
    runs of equal rows do. rank() gives all the place of the first of them, dense_rank() the number of the run in its
    partition."""
    sizes = np.diff(np.append(peers, len(places)))
    if spec.function == "rank":
        return np.repeat(places[peers], sizes)
    first_runs = np.searchsorted(peers, starts)
    runs_before = np.repeat(first_runs, np.diff(np.append(first_runs, len(peers))))
    return np.repeat(1 + np.arange(len(peers)) - runs_before, sizes)


def _starts(*keys: Longs) -> Longs:
    """Return the positions at which runs of equal keys begin."""
    changes = np.zeros(len(keys[0]), bool)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def sort_codes(column: pa.ChunkedArray, sorting: Sorting) -> Longs:
    """Return numbers that sort like the values; NaN is greater than all other numbers."""
    values = column.combine_chunks()
    is_valid = valid(values)
    codes = np.full(len(values), -1 if sorting.nulls_first else len(values) + 1)
    if is_valid.any():
        ranks = pc.rank(values.drop_null(), sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
        codes[is_valid] = len(values) - ranks if sorting.descending else ranks
    return codes


def _versions(spec: TopSpec, rows: pa.Table, weights: Longs) -> tuple[pa.Table, Longs]:
    """Return the rows that are out for some weights, with their ids and sorted by them, and the partition of each."""
    placed = _placed(spec, rows, weights)
    indices = np.repeat(placed.rows, placed.counts)
    copies = np.arange(len(indices)) - np.repeat(np.cumsum(placed.counts) - placed.counts, placed.counts)
    places = np.repeat(placed.places, placed.counts)
    if spec.function == "row_number":
        places = places + copies
    match = longs(rows[MATCH])[indices]
    ids = combined(match, places if spec.is_known_by_place else combined(longs(rows[ROW])[indices], copies))
    order = np.argsort(ids, kind="stable")
    versions = rows.select(list(spec.schema.names)).take(pa.array(indices[order]))
    if spec.is_numbered:
        versions = versions.append_column("place", pa.array(places[order]))
    return versions.append_column(ROW_ID, pa.array(ids[order])), match[order]


def _changes(spec: TopSpec, weighed: _Weighed, partitions: Longs, times: Longs) -> pa.Table:
    """Return the changelog rows that turn the emitted rows of some partitions into the new ones; `times` are the event
    times of the partitions."""
    before, old_partitions = _versions(spec, weighed.rows, weighed.old)
    after, new_partitions = _versions(spec, weighed.rows, weighed.new)
    ids, first_rows = np.unique(np.concatenate([longs(before[ROW_ID]), longs(after[ROW_ID])]), return_index=True)
    partition_of_id = np.concatenate([old_partitions, new_partitions])[first_rows]
    return changes_between(before, after, ids, times[np.searchsorted(partitions, partition_of_id)])


def _swept(spec: TopSpec, state: BucketState, out: pa.Table) -> StepResult:
    """Retract partitions that have not changed for the TTL. This reads all partitions, so it happens only
    occasionally."""
    if not state.is_due_for_sweep(spec.ttl):
        return StepResult(state, out)
    state = replace(state, swept=state.newest)
    stamps = state.tables["partitions"].all()
    assert stamps is not None
    is_old = longs(stamps[LAST]) + spec.ttl < state.newest
    if not is_old.any():
        return StepResult(state, out)
    forgotten, chunks = longs(stamps[MATCH])[is_old], state.tables["rows"]
    rows, staying = chunks.find(forgotten), chunks.find(longs(stamps[MATCH])[~is_old])
    assert rows is not None
    assert staying is not None
    weights = longs(rows[WEIGHT])
    weighed = _Weighed(rows, weights, np.zeros_like(weights))
    taken_back = _changes(spec, weighed, forgotten, np.full(len(forgotten), state.newest))
    tables = {
        "rows": Chunks(chunks.keys, (staying.combine_chunks(),)),
        "partitions": Chunks(_KEYS["partitions"], (stamps.filter(pa.array(~is_old)).combine_chunks(),)),
    }
    return StepResult(replace(state, tables=tables), pa.concat_tables([out, taken_back]))


@dataclass(frozen=True, slots=True)
class TopOperator:
    """The ranking as a sharded operator."""

    spec: TopSpec

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield the counted rows of each shard."""
        tables = summed(self.spec, rows)
        ids = {name: longs(table[MATCH]) for name, table in tables.items()}
        for bucket, parts in deal(tables, ids):
            yield bucket, to_bytes(parts)

    def steps(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some buckets."""
        return one_by_one(self._step, states, payloads)

    def _step(self, state: BucketState, payloads: Sequence[bytes]) -> StepResult:
        parts = [dict(zip(_NAMES, from_bytes(payload), strict=True)) for payload in payloads]
        return step(self.spec, state, parts)
