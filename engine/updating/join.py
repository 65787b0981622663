"""Joins without a window: both sides are stored, and changes of one side are joined with the state of the other.

A side is a multiset of rows by the hash of their join key. Rows that cannot match, because a value is NULL, have hashes
of their own.

    orders LEFT JOIN clicks ON orders.key = clicks.key
    input        orders +(a, 1)       clicks +(a, x) +(a, y)               clicks -(a, x)
    state        orders (a, 1) once   clicks (a, x) once, (a, y) once      clicks (a, y) once
    output       +(a, 1, NULL)        -(a, 1, NULL) +(a, 1, x) +(a, 1, y)  -(a, 1, x)

The multiplicity of a pair is the product of its rows' multiplicities; the output is the product after the epoch minus
the product before it. See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.arrow.evaluate import evaluate
from engine.plan.expressions.expr import Expr
from engine.plan.nodes import JoinKind
from engine.plan.nodes.joins import joined_schema
from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID, WATERMARK
from engine.schema import Schema, arrow_schema
from engine.updating.bucket_state import NEVER, BucketState, StepsResult
from engine.updating.chunks import Chunks, add_together, find_together
from engine.updating.groups import (
    INSTANT,
    Flags,
    Longs,
    flags,
    group_rows,
    longs,
    mixed,
    moments,
    ranges,
    with_change_columns,
)
from engine.updating.serialization import BUCKETS, bucket_of, deal, from_each, replaced, to_bytes
from engine.updating.state_columns import LAST, MATCH, ROW, WEIGHT

_SIDES = ("left", "right")
_KEYS = (MATCH, ROW)
_SEED = np.int64(0x1B873593)
"""Prefix of the id of a joined row."""
_NO_PARTNER = np.int64(0x2545F4914F6CDD1D)
"""Part of the id of a joined row for a missing side. It must never change, since operators above store ids."""


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """Specification of a join. `left` and `right` have the columns of each side, under different names; `extra` are
    further columns that only the condition reads. If `is_widened`, rows may be stored with narrower types."""

    left: Schema
    right: Schema
    kind: JoinKind
    condition: Expr | None
    extra: tuple[Schema, Schema]
    changes: bool
    has_watermark: bool
    ttl: int
    is_widened: bool = False

    @property
    def sides(self) -> tuple[Schema, Schema]:
        """The columns of both sides."""
        return self.left, self.right

    @property
    def out(self) -> Schema:
        """The columns that go out."""
        return joined_schema(self.left, self.right, self.kind)

    @property
    def padded(self) -> tuple[bool, bool]:
        """Whether unmatched rows of the left side are emitted, and those of the right side."""
        return self.kind in ("left", "full"), self.kind in ("right", "full")


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One side of a join as a sharded operator; the step processes both."""

    spec: JoinSpec
    number: int

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of each shard, with equal ones counted."""
        counted = _counted(rows).replace_schema_metadata({"side": str(self.number)})
        for bucket, parts in deal({"rows": counted}, {"rows": longs(counted[MATCH])}):
            yield bucket, to_bytes(parts)

    def steps(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some shards."""
        parts: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        for table in from_each([payload for of_bucket in payloads.values() for payload in of_bucket]):
            parts[int(table.schema.metadata[b"side"])].append(table.replace_schema_metadata(None))
        return steps(self.spec, states, parts)


def _counted(rows: pa.Table) -> pa.Table:
    rows = rows.combine_chunks()
    weights = np.ones(rows.num_rows, np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    groups = group_rows(longs(rows[MATCH]), longs(rows[ROW]))
    counted = rows.take(pa.array(groups.first_rows))
    times = {LAST: groups.greatest_of(moments(rows[EVENT_TIME]))}
    if WATERMARK in rows.column_names:
        times[WATERMARK] = groups.least_of(longs(rows[WATERMARK]))
    plain = [name for name in rows.column_names if name not in (RETRACT, EVENT_TIME, WATERMARK)]
    counted = counted.select(plain).append_column(WEIGHT, pa.array(groups.sum_of(weights)))
    for name, values in times.items():
        counted = counted.append_column(name, pa.array(values))
    return counted


def steps(
    spec: JoinSpec, states: Mapping[int, BucketState], parts: tuple[Sequence[pa.Table], Sequence[pa.Table]]
) -> StepsResult:
    """Run one epoch of some shards over the rows of both sides: return their new state, and the output rows."""
    arrived = [pa.concat_tables(tables).combine_chunks() for tables in parts if tables]
    arrived_matches = np.concatenate([longs(table[MATCH]) for table in arrived])
    buckets = bucket_of(arrived_matches)
    newest = np.full(BUCKETS, NEVER)
    newest[list(states)] = [state.newest for state in states.values()]
    np.maximum.at(newest, buckets, np.concatenate([longs(table[LAST]) for table in arrived]))
    matches = np.unique(arrived_matches)
    left, right = (_side(spec, states, number, parts[number], matches, newest) for number in (0, 1))
    pairs = _joined(spec, left, right)
    out = _rows(spec, left, right, pairs)
    if spec.has_watermark:
        # the smaller of the two sides': the operators above must wait for both
        watermarks = np.full(BUCKETS, np.iinfo(np.int64).max)
        np.minimum.at(watermarks, buckets, np.concatenate([longs(table[WATERMARK]) for table in arrived]))
        out = out.append_column(WATERMARK, pa.array(watermarks[_buckets_of_pairs(left, right, pairs)]).cast(INSTANT))
    after: dict[int, BucketState] = {}
    for bucket, state in states.items():
        tables = {name: side.chunks[bucket] for name, side in zip(_SIDES, (left, right), strict=True)}
        after[bucket] = _swept(spec, replace(state, tables=tables, newest=int(newest[bucket])))
    return StepsResult(after, out)


def _buckets_of_pairs(left: _Side, right: _Side, pairs: _Pairs) -> Longs:
    """Return the shard of each output row of some pairs."""
    is_left = pairs.lefts >= 0
    buckets = np.zeros(len(is_left), np.int64)
    buckets[is_left] = bucket_of(left.match[pairs.lefts[is_left]])
    buckets[~is_left] = bucket_of(right.match[pairs.rights[~is_left]])
    return np.repeat(buckets, np.abs(pairs.weights))


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows of one side that this epoch affects, with their multiplicity before and after; `chunks` are all rows of the
    side, to be stored in each shard."""

    rows: pa.Table
    match: Longs
    old: Longs
    new: Longs
    chunks: Mapping[int, Chunks]

    @property
    def changed(self) -> Flags:
        differ: Flags = self.old != self.new
        return differ


def _side(
    spec: JoinSpec,
    states: Mapping[int, BucketState],
    number: int,
    arrived: Sequence[pa.Table],
    matches: Longs,
    newest: Longs,
) -> _Side:
    kept = {bucket: state.tables.get(_SIDES[number], Chunks(_KEYS)) for bucket, state in states.items()}
    schema = _kept_schema(spec, number)
    if spec.is_widened:
        kept = {bucket: chunks.in_types_of(schema) for bucket, chunks in kept.items()}
    stored = find_together(kept.values(), matches)
    before = schema.empty_table() if stored is None else stored
    is_young = longs(before[LAST]) + spec.ttl >= newest[bucket_of(longs(before[MATCH]))]
    before = before if is_young.all() else before.filter(pa.array(is_young))
    fresh = [pa.table([table[name] for name in schema.names], schema=schema) for table in arrived]
    both = pa.concat_tables([before, *fresh]).combine_chunks()
    groups = group_rows(longs(both[MATCH]), longs(both[ROW]))
    is_old = np.arange(both.num_rows) < before.num_rows
    weights = longs(both[WEIGHT])
    old, new = groups.sum_of(weights * is_old), np.maximum(groups.sum_of(weights), 0)
    rows = both.take(pa.array(groups.first_rows))
    rows = replaced(replaced(rows, LAST, groups.greatest_of(longs(both[LAST]))), WEIGHT, new)
    return _Side(rows, longs(rows[MATCH]), old, new, add_together(kept, rows.filter(pa.array(old != new))))


def _kept_schema(spec: JoinSpec, number: int) -> pa.Schema:
    columns = [*arrow_schema(spec.sides[number]), *arrow_schema(spec.extra[number])]
    hashes = [pa.field(name, pa.int64()) for name in (MATCH, ROW, ROW_ID)]
    counts = [pa.field(name, pa.int64()) for name in (WEIGHT, LAST)]
    return pa.schema([*hashes, *columns, *counts])


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Row indices of both sides, with the change in the multiplicity of each pair; -1 means no row."""

    lefts: Longs
    rights: Longs
    weights: Longs


def _joined(spec: JoinSpec, left: _Side, right: _Side) -> _Pairs:
    """Return the changes of the join: pairs with a changed row, and rows that have lost their last match or got their
    first."""
    if spec.kind in ("semi", "anti"):
        return _tested(spec, left, right)
    changed_left, unchanged_left = np.flatnonzero(left.changed), np.flatnonzero(~left.changed)
    changed_right, all_right = np.flatnonzero(right.changed), np.arange(len(right.match))
    # every pair with a changed row, once: changed rows of the left with all, the others with changed ones
    first = _matches(spec, left, right, changed_left, all_right)
    second = _matches(spec, left, right, unchanged_left, changed_right)
    lefts, rights = np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])
    weights = left.new[lefts] * right.new[rights] - left.old[lefts] * right.old[rights]
    parts = [(lefts, rights, weights)]
    pads_left, pads_right = spec.padded
    if pads_left:
        alone = _alone(spec, left, right, turned=False)
        parts.append((np.arange(len(alone)), np.full(len(alone), -1), alone))
    if pads_right:
        alone = _alone(spec, right, left, turned=True)
        parts.append((np.full(len(alone), -1), np.arange(len(alone)), alone))
    return _Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _tested(spec: JoinSpec, left: _Side, right: _Side) -> _Pairs:
    """Return the changes of the left rows that have a match on the right, or none."""
    alone = _alone(spec, left, right, turned=False)
    weights = alone if spec.kind == "anti" else left.new - left.old - alone
    return _Pairs(np.arange(len(weights)), np.full(len(weights), -1), weights)


def _matches(spec: JoinSpec, left: _Side, right: _Side, left_rows: Longs, right_rows: Longs) -> tuple[Longs, Longs]:
    """Return the positions of all matching rows, among some of either side; both are sorted by their match keys."""
    sought, sorted_matches = left.match[left_rows], right.match[right_rows]
    low, high = np.searchsorted(sorted_matches, sought, "left"), np.searchsorted(sorted_matches, sought, "right")
    lefts, rights = np.repeat(left_rows, high - low), right_rows[ranges(low, high - low)]
    if spec.condition is None or not len(lefts):
        return lefts, rights
    columns: dict[str, pa.Array] = {}
    for side, places, schema, extra in zip((left, right), (lefts, rights), spec.sides, spec.extra, strict=True):
        rows = side.rows.take(pa.array(places))
        columns |= {name: rows[name].combine_chunks() for name in (*schema.names, *extra.names)}
    is_true = flags(evaluate(spec.condition, pa.RecordBatch.from_pydict(columns)))
    return lefts[is_true], rights[is_true]


def _alone(spec: JoinSpec, side: _Side, other: _Side, *, turned: bool) -> Longs:
    """Return the change in how often each row of a side is emitted without a partner; `turned` is true for the right
    side."""
    if spec.condition is None:
        low, high = np.searchsorted(other.match, side.match, "left"), np.searchsorted(other.match, side.match, "right")
        old_sums, new_sums = (np.append(0, np.cumsum(weights)) for weights in (other.old, other.new))
        old_partners, new_partners = old_sums[high] - old_sums[low], new_sums[high] - new_sums[low]
    else:
        left, right = (other, side) if turned else (side, other)
        lefts, rights = _matches(spec, left, right, np.arange(len(left.match)), np.arange(len(right.match)))
        rows, partners = (rights, lefts) if turned else (lefts, rights)
        old_partners = np.bincount(rows, other.old[partners], len(side.match)).astype(np.int64)
        new_partners = np.bincount(rows, other.new[partners], len(side.match)).astype(np.int64)
    alone: Longs = side.new * (new_partners == 0) - side.old * (old_partners == 0)
    return alone


def _rows(spec: JoinSpec, left: _Side, right: _Side, pairs: _Pairs) -> pa.Table:
    """Return the output rows of some pairs, each as often as its weight."""
    counts = np.abs(pairs.weights)
    lefts, rights = np.repeat(pairs.lefts, counts), np.repeat(pairs.rights, counts)
    taken_back = np.repeat(pairs.weights < 0, counts)
    ids = _SEED * np.ones(len(lefts), np.int64)
    times = np.full(len(lefts), NEVER)
    columns: list[pa.Array] = []
    with np.errstate(over="ignore"):
        for side, schema, places in ((left, spec.left, lefts), (right, spec.right, rights)):
            is_there = places >= 0
            indices = pa.array(places, mask=~is_there)
            rows = side.rows.take(indices) if side.rows.num_rows else _nulls(side.rows.schema, len(places))
            columns += [rows[name].combine_chunks() for name in schema.names]
            side_ids = np.where(is_there, longs(rows[ROW_ID].fill_null(0)), _NO_PARTNER)
            ids = mixed(ids * np.int64(31) + side_ids)
            times = np.maximum(times, np.where(is_there, longs(rows[LAST].fill_null(0)), NEVER))
    names = spec.out.names
    joined = pa.table(columns[: len(names)], names)
    if not spec.changes:
        return joined.append_column(EVENT_TIME, pa.array(times).cast(INSTANT))
    # of one id what is taken back goes first: a sink that folds must not meet two versions at once
    order = np.lexsort((~taken_back, ids))
    return with_change_columns(joined.take(pa.array(order)), times[order], taken_back[order], ids[order])


def _nulls(schema: pa.Schema, count: int) -> pa.Table:
    return pa.table([pa.nulls(count, field.type) for field in schema], schema=schema)


def _swept(spec: JoinSpec, state: BucketState) -> BucketState:
    """Drop rows that arrived long ago, without output; only occasionally."""
    if not state.is_due_for_sweep(spec.ttl):
        return state
    tables = dict(state.tables)
    for name, chunks in tables.items():
        if any((longs(table[LAST]) + spec.ttl < state.newest).any() for table in chunks.tables):
            rows = chunks.all()
            assert rows is not None
            young = rows.filter(pa.array(longs(rows[LAST]) + spec.ttl >= state.newest))
            tables[name] = Chunks(chunks.keys, (young,))
    return replace(state, tables=tables, swept=state.newest)
