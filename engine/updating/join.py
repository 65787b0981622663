"""Joins without a window: both sides are kept, and whatever changes on one meets what is there on the other.

A side is a multiset of rows by the hash of what they are matched by. Rows that can match nothing, because a value is
NULL, have a hash of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.arrow.evaluate import evaluate
from engine.plan.expr import Expr
from engine.plan.hidden import EVENT_TIME, RETRACT, ROW_ID, WATERMARK
from engine.plan.nodes import JoinKind
from engine.plan.nodes.joins import joined_schema
from engine.schema import Schema, arrow_schema
from engine.updating.changelog import hidden_added
from engine.updating.chunks import Chunks
from engine.updating.groups import Flags, Longs, flags, group, longs, moments, ranges
from engine.updating.ids import mixed
from engine.updating.serialization import deal, from_bytes, to_bytes
from engine.updating.state_columns import LAST, MATCH, ROW, WEIGHT
from engine.updating.step import NEVER, Kept, Outcome

_SIDES = ("left", "right")
_KEYS = (MATCH, ROW)
_FIRST = np.int64(0x1B873593)
_NOBODY = np.int64(0x2545F4914F6CDD1D)


@dataclass(frozen=True, slots=True)
class JoinSpec:
    """What is joined. The columns of each side are in `left` and `right`, under names that differ; `extra` of either
    are further ones that only the condition reads."""

    left: Schema
    right: Schema
    kind: JoinKind
    condition: Expr | None
    extra: tuple[Schema, Schema]
    changes: bool
    has_watermark: bool
    ttl: int

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
        """Of which sides rows go out that match nothing."""
        return self.kind in ("left", "full"), self.kind in ("right", "full")


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One side of a join as an operator of buckets; the step is that of the whole."""

    spec: JoinSpec
    number: int

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """The rows, equal ones counted, by bucket."""
        counted = _counted(rows).replace_schema_metadata({"side": str(self.number)})
        for bucket, parts in deal({"rows": counted}, {"rows": longs(counted[MATCH])}):
            yield bucket, to_bytes(parts)

    def step(self, kept: Kept, payloads: Sequence[bytes]) -> Outcome:
        """One epoch of one bucket."""
        parts: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        for payload in payloads:
            for table in from_bytes(payload):
                parts[int(table.schema.metadata[b"side"])].append(table.replace_schema_metadata(None))
        return step(self.spec, kept, parts)


def _counted(rows: pa.Table) -> pa.Table:
    rows = rows.combine_chunks()
    weights = np.ones(rows.num_rows, np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    found = group(longs(rows[MATCH]), longs(rows[ROW]))
    counted = rows.take(pa.array(found.firsts))
    times = {LAST: found.greatest(moments(rows[EVENT_TIME]))}
    if WATERMARK in rows.column_names:
        times[WATERMARK] = found.least(longs(rows[WATERMARK]))
    plain = [name for name in rows.column_names if name not in (RETRACT, EVENT_TIME, WATERMARK)]
    counted = counted.select(plain).append_column(WEIGHT, pa.array(found.sums(weights)))
    for name, values in times.items():
        counted = counted.append_column(name, pa.array(values))
    return counted


def step(spec: JoinSpec, kept: Kept, parts: tuple[Sequence[pa.Table], Sequence[pa.Table]]) -> Outcome:
    """One epoch of one bucket, from what came on both sides: what is kept then, and the rows that go out."""
    came = [pa.concat_tables(tables).combine_chunks() for tables in parts if tables]
    newest = max(kept.newest, *(int(longs(table[LAST]).max()) for table in came))
    watermark = min(int(longs(table[WATERMARK]).min()) for table in came) if spec.has_watermark else None
    wanted = np.unique(np.concatenate([longs(table[MATCH]) for table in came]))
    sides = [_side(spec, kept, number, parts[number], wanted, newest) for number in (0, 1)]
    out = _joined(spec, sides[0], sides[1])
    if watermark is not None:
        out = out.append_column(WATERMARK, pa.array(np.full(out.num_rows, watermark)).cast(_INSTANT))
    tables = {name: side.kept for name, side in zip(_SIDES, sides, strict=True)}
    return Outcome(_without_forgotten(spec, replace(kept, tables=tables, newest=newest)), out)


_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows of one side that have something to do with this epoch, with how often they were there and are."""

    rows: pa.Table
    match: Longs
    old: Longs
    new: Longs
    kept: Chunks

    @property
    def changed(self) -> Flags:
        differ: Flags = self.old != self.new
        return differ


def _side(spec: JoinSpec, kept: Kept, number: int, came: Sequence[pa.Table], wanted: Longs, newest: int) -> _Side:
    chunks = kept.tables.get(_SIDES[number], Chunks(_KEYS))
    shape = _shape(spec, number)
    found_rows = chunks.find(wanted)
    there = shape.empty_table() if found_rows is None else found_rows
    there = there.filter(pa.array(longs(there[LAST]) + spec.ttl >= newest))
    fresh = [pa.table([table[name] for name in shape.names], schema=shape) for table in came]
    both = pa.concat_tables([there, *fresh]).combine_chunks()
    found = group(longs(both[MATCH]), longs(both[ROW]))
    is_old = np.arange(both.num_rows) < there.num_rows
    weights = longs(both[WEIGHT])
    old, new = found.sums(weights * is_old), np.maximum(found.sums(weights), 0)
    rows = both.take(pa.array(found.firsts))
    rows = _replaced(rows, LAST, found.greatest(longs(both[LAST])))
    rows = _replaced(rows, WEIGHT, new)
    return _Side(rows, longs(rows[MATCH]), old, new, chunks.add(rows.filter(pa.array(old != new))))


def _shape(spec: JoinSpec, number: int) -> pa.Schema:
    own = [*arrow_schema(spec.sides[number]), *arrow_schema(spec.extra[number])]
    marks = [pa.field(name, pa.int64()) for name in (MATCH, ROW, ROW_ID)]
    ends = [pa.field(name, pa.int64()) for name in (WEIGHT, LAST)]
    return pa.schema([*marks, *own, *ends])


def _replaced(rows: pa.Table, name: str, values: Longs) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.int64()))


def _joined(spec: JoinSpec, left: _Side, right: _Side) -> pa.Table:
    """The changes of the join: of pairs of which a row changed, and of rows that match nothing now or did before."""
    if spec.kind in ("semi", "anti"):
        return _tested(spec, left, right)
    changed = np.flatnonzero(left.changed)
    same = np.flatnonzero(~left.changed)
    moved = np.flatnonzero(right.changed)
    first, everything = _pairs(spec, left, right, changed, np.arange(len(right.match)))
    second, some = _pairs(spec, left, right, same, moved)
    lefts, rights = np.concatenate([first, second]), np.concatenate([everything, some])
    weights = left.new[lefts] * right.new[rights] - left.old[lefts] * right.old[rights]
    parts = [(lefts, rights, weights)]
    pads_left, pads_right = spec.padded
    if pads_left:
        alone = _alone(spec, left, right, turned=False)
        parts.append((np.arange(len(alone)), np.full(len(alone), -1), alone))
    if pads_right:
        alone = _alone(spec, right, left, turned=True)
        parts.append((np.full(len(alone), -1), np.arange(len(alone)), alone))
    lefts, rights, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    counts = np.abs(weights)
    lefts, rights, taken_back = np.repeat(lefts, counts), np.repeat(rights, counts), np.repeat(weights < 0, counts)
    return _rows(spec, left, right, lefts, rights, taken_back)


def _tested(spec: JoinSpec, left: _Side, right: _Side) -> pa.Table:
    """The changes of the rows of the left that meet a row of the right, or none."""
    alone = _alone(spec, left, right, turned=False)
    weights = alone if spec.kind == "anti" else left.new - left.old - alone
    lefts = np.repeat(np.arange(len(weights)), np.abs(weights))
    return _rows(spec, left, right, lefts, np.full(len(lefts), -1), np.repeat(weights < 0, np.abs(weights)))


def _pairs(spec: JoinSpec, left: _Side, right: _Side, some: Longs, others: Longs) -> tuple[Longs, Longs]:
    """The places of all rows that meet, among some of either side; both are sorted by what they are matched by."""
    own = right.match[others]
    low, high = np.searchsorted(own, left.match[some], "left"), np.searchsorted(own, left.match[some], "right")
    lefts, rights = np.repeat(some, high - low), others[ranges(low, high - low)]
    if spec.condition is None or not len(lefts):
        return lefts, rights
    both = [left.rows.take(pa.array(lefts)), right.rows.take(pa.array(rights))]
    names = [[*own.names, *extra.names] for own, extra in zip(spec.sides, spec.extra, strict=True)]
    columns = {name: rows[name].combine_chunks() for rows, own in zip(both, names, strict=True) for name in own}
    true = flags(evaluate(spec.condition, pa.RecordBatch.from_pydict(columns)))
    return lefts[true], rights[true]


def _alone(spec: JoinSpec, one: _Side, other: _Side, *, turned: bool) -> Longs:
    """How many more or fewer times each row goes out without a partner."""
    if spec.condition is None:
        low, high = np.searchsorted(other.match, one.match, "left"), np.searchsorted(other.match, one.match, "right")
        before, after = (np.append(0, np.cumsum(weights)) for weights in (other.old, other.new))
        had, has = before[high] - before[low], after[high] - after[low]
    else:
        left, right = (other, one) if turned else (one, other)
        lefts, rights = _pairs(spec, left, right, np.arange(len(left.match)), np.arange(len(right.match)))
        own, partners = (rights, lefts) if turned else (lefts, rights)
        had = np.bincount(own, other.old[partners], len(one.match)).astype(np.int64)
        has = np.bincount(own, other.new[partners], len(one.match)).astype(np.int64)
    alone: Longs = one.new * (has == 0) - one.old * (had == 0)
    return alone


def _rows(spec: JoinSpec, left: _Side, right: _Side, lefts: Longs, rights: Longs, taken_back: Flags) -> pa.Table:
    """The rows that go out; a place of -1 stands for no partner."""
    ids = _FIRST * np.ones(len(lefts), np.int64)
    times = np.full(len(lefts), NEVER)
    columns: list[pa.Array] = []
    with np.errstate(over="ignore"):
        for side, schema, places in ((left, spec.left, lefts), (right, spec.right, rights)):
            is_there = places >= 0
            where = pa.array(places, mask=~is_there)
            taken = side.rows.take(where) if side.rows.num_rows else _nothing(side.rows, len(places))
            columns += [taken[name].combine_chunks() for name in schema.names]
            own = np.where(is_there, longs(taken[ROW_ID].fill_null(0)), _NOBODY)
            ids = mixed(ids * np.int64(31) + own)
            times = np.maximum(times, np.where(is_there, longs(taken[LAST].fill_null(0)), NEVER))
    names = spec.out.names
    rows = pa.table(columns[: len(names)], names)
    if not spec.changes:
        return rows.append_column(EVENT_TIME, pa.array(times).cast(_INSTANT))
    order = np.lexsort((~taken_back, ids))
    rows = rows.take(pa.array(order))
    return hidden_added(rows, times[order], taken_back[order], ids[order])


def _nothing(rows: pa.Table, count: int) -> pa.Table:
    return pa.table([pa.nulls(count, field.type) for field in rows.schema], schema=rows.schema)


def _without_forgotten(spec: JoinSpec, kept: Kept) -> Kept:
    """Rows that came long ago are dropped in silence, now and then."""
    if kept.newest - kept.swept < max(spec.ttl // 16, 1):
        return kept
    tables = dict(kept.tables)
    for name, chunks in tables.items():
        if any((longs(table[LAST]) + spec.ttl < kept.newest).any() for table in chunks.tables):
            rows = chunks.all()
            assert rows is not None
            young = rows.filter(pa.array(longs(rows[LAST]) + spec.ttl >= kept.newest))
            tables[name] = Chunks(chunks.keys, (young,))
    return replace(kept, tables=tables, swept=kept.newest)
