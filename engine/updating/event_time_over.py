"""Functions over the earlier rows of a partition, for each row once, when the watermark has passed its event time.

    sum(n) OVER (PARTITION BY k ORDER BY at ROWS 1 PRECEDING), count(*) OVER (PARTITION BY k ORDER BY at)
    input                  a 12:00:03 5, a 12:00:01 2, a 12:00:02 4      all three wait
    watermark 12:00:03     a 12:00:01 2 with 2 and 1, a 12:00:02 4 with 6 and 2
    state                  waiting a 12:00:03 5; past a 12:00:02 4, the rows that a frame can still reach;
                           totals a 2, of the frames that begin with the partition
    watermark 12:00:04     a 12:00:03 5 with 9 and 3

    a frame that ends 1 FOLLOWING      a 12:00:01 comes out with 12:00:02; the last row waits for the next one, or until
                                       its partition can only start again

Rows of one time and order are sorted by their hash, so a replay gives each row the same result. A partition starts
again with a row that is more than the time to live later than the one before. `over_frames` computes the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.plan.tree import EVENT_TIME, ROW_ID
from engine.schema import Field, Schema, arrow_schema
from engine.types import TIMESTAMP
from engine.updating.accumulators.counts import Sorting
from engine.updating.bucket_state import BucketState, StepsResult
from engine.updating.chunks import Chunks, add_together, divided, find_together, merge_due
from engine.updating.groups import INSTANT, Flags, Longs, longs
from engine.updating.over_frames import Evaluated, OverCall, evaluate
from engine.updating.panes import END_OF_ALL
from engine.updating.serialization import bucket_of, deal, from_each, to_bytes
from engine.updating.state_columns import LAST, NUMBER, ROW, TIME, WEIGHT
from engine.updating.top import sort_codes


@dataclass(frozen=True, slots=True)
class EventTimeOverSpec:
    """`schema` has the columns of the input, named `c0`..., and of the results. Rows are ordered by event time, then by
    `o0`..., then by their hash. The arguments of a call are `a0_0`... All times are in microseconds."""

    schema: Schema
    order: tuple[Sorting, ...]
    calls: tuple[OverCall, ...]
    ttl: int

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the input."""
        return self.schema.names[: len(self.schema) - len(self.calls)]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The columns that calls read."""
        return tuple(name for index, call in enumerate(self.calls) for name in call.columns(index))

    @property
    def rows_back(self) -> int:
        """The number of earlier rows that frames reach."""
        return max((call.rows_back for call in self.calls), default=0)

    @property
    def time_back(self) -> int:
        """The length of time that frames reach back; zero if none is counted in time."""
        return max((call.time_back for call in self.calls), default=0)

    @property
    def rows_ahead(self) -> int:
        """The number of later rows that frames reach."""
        return max((call.rows_ahead for call in self.calls), default=0)

    @property
    def time_ahead(self) -> int:
        """The length of time that frames reach ahead."""
        return max((call.time_ahead for call in self.calls), default=0)

    @property
    def has_totals(self) -> bool:
        """Whether a frame begins with its partition."""
        return any(call.is_running for call in self.calls)

    @property
    def retention(self) -> int:
        """The length of time that state of a partition is stored after its last row that came out."""
        waiting = max(self.rows_ahead * self.ttl, self.time_ahead)
        return waiting + (self.ttl if self.rows_back or self.has_totals else self.time_back)


WAITING, PAST, TOTALS = "waiting", "past", "totals"
_KEYS = {WAITING: (ROW_ID, NUMBER), PAST: (ROW_ID, NUMBER), TOTALS: (ROW_ID,)}
_SWEEPS = 4
"""Number of sweeps per retention. A sweep reads all of the past."""


def prepared(spec: EventTimeOverSpec, rows: pa.Table) -> pa.Table:
    """Return arrived rows in the form in which they wait."""
    times = pa.array(longs(rows[EVENT_TIME]))
    return rows.drop_columns([EVENT_TIME]).append_column(TIME, times)


def steps(
    spec: EventTimeOverSpec, states: Mapping[int, BucketState], parts: Sequence[pa.Table], watermark: int
) -> StepsResult:
    """Run one epoch of some shards: return their state, and the rows that the watermark has passed. In a state, rows
    before `swept` were emitted, and `newest` is the watermark at which the next one is."""
    states = dict(states)
    waiting = {bucket: [*_chunks(state, WAITING).tables] for bucket, state in states.items()}
    if parts:
        _take_in(states, waiting, parts)
    merge_due(waiting, ROW_ID, lambda tables, _: _by_number(pa.concat_tables(tables)))
    closed = {bucket: max(state.swept, watermark) for bucket, state in states.items()}
    ready: list[pa.Table] = []
    after: dict[int, BucketState] = {}
    for bucket, state in states.items():
        if state.newest <= closed[bucket]:
            passed, waiting[bucket] = _parted(waiting[bucket], closed[bucket])
            ready += passed
        tables = {**state.tables, WAITING: Chunks(_KEYS[WAITING], tuple(waiting[bucket]))}
        after[bucket] = replace(state, tables=tables, newest=_next_end(waiting[bucket]), swept=closed[bucket])
    if not ready:
        return StepsResult(after, arrow_schema(_schema_out(spec)).empty_table())
    out = _come_out(spec, after, pa.concat_tables(ready).combine_chunks())
    return StepsResult({bucket: _swept(spec, states[bucket], state) for bucket, state in after.items()}, out)


def _take_in(states: dict[int, BucketState], waiting: Mapping[int, list[pa.Table]], parts: Sequence[pa.Table]) -> None:
    """Add new rows to the waiting ones; leave out a row that others have overtaken."""
    rows = pa.concat_tables(parts).combine_chunks()
    rows = rows.take(pa.array(np.argsort(longs(rows[ROW_ID]), kind="stable")))
    for bucket, of_bucket in divided(rows, ROW_ID).items():
        state, times = states[bucket], longs(of_bucket[TIME])
        is_open = times >= state.swept
        if not is_open.any():
            continue
        arrived = of_bucket if is_open.all() else of_bucket.filter(pa.array(is_open))
        numbers = pa.array(state.rows_seen + np.arange(arrived.num_rows))
        ones = pa.array(np.ones(arrived.num_rows, np.int64))
        waiting[bucket].append(arrived.append_column(NUMBER, numbers).append_column(WEIGHT, ones).combine_chunks())
        end = int(times[is_open].min()) + 1
        newest = min(state.newest, end) if _chunks(state, WAITING).tables else end
        states[bucket] = replace(state, newest=newest, rows_seen=state.rows_seen + arrived.num_rows)


def _chunks(state: BucketState, table: str) -> Chunks:
    return state.tables.get(table, Chunks(_KEYS[table]))


def _by_number(rows: pa.Table) -> pa.Table:
    rows = rows.combine_chunks()
    return rows.take(pa.array(np.lexsort((longs(rows[NUMBER]), longs(rows[ROW_ID])))))


def _parted(tables: Sequence[pa.Table], closed: int) -> tuple[list[pa.Table], list[pa.Table]]:
    """Return the rows that the watermark has passed, and the rows that still wait."""
    passed, staying = [], []
    for table in tables:
        is_over = longs(table[TIME]) < closed
        if is_over.any():
            passed.append(table.filter(pa.array(is_over)))
        if not is_over.all():
            staying.append(table if not is_over.any() else table.filter(pa.array(~is_over)).combine_chunks())
    return passed, staying


def _next_end(tables: Sequence[pa.Table]) -> int:
    return min((int(longs(table[TIME]).min()) + 1 for table in tables), default=END_OF_ALL)


def _come_out(spec: EventTimeOverSpec, after: dict[int, BucketState], ready: pa.Table) -> pa.Table:
    """Compute the results of the rows that the watermark has passed, and add the rows to the past. Rows whose frames
    reach further ahead wait on."""
    ready, codes = _in_order(spec, ready)
    ids = np.unique(longs(ready[ROW_ID]))
    buckets = np.unique(bucket_of(ids)).tolist()
    is_complete = None
    if spec.rows_ahead or spec.time_ahead:
        is_complete = _complete(spec, after, ready)
    ready = _numbered(after, ready, buckets, is_complete)
    found = {name: find_together([_chunks(after[bucket], name) for bucket in buckets], ids) for name in (PAST, TOTALS)}
    evaluated = evaluate(spec.calls, ready, codes, found[PAST], found[TOTALS], spec.ttl, is_complete)
    changes = {}
    if spec.rows_back or spec.time_back:
        closed = np.array([after[int(bucket)].swept for bucket in bucket_of(evaluated.ids)], np.int64)
        if is_complete is not None:
            closed = np.minimum(closed, _oldest_waiting(ready.filter(pa.array(~is_complete)), evaluated.ids))
        changes[PAST] = _past(spec, evaluated, closed)
    if evaluated.totals is not None:
        changes[TOTALS] = evaluated.totals
    for name, changed in changes.items():
        added = add_together({bucket: _chunks(after[bucket], name) for bucket in buckets}, changed)
        for bucket, chunks in added.items():
            after[bucket] = replace(after[bucket], tables={**after[bucket].tables, name: chunks})
    schema = arrow_schema(_schema_out(spec))
    if is_complete is not None:
        ready = ready.filter(pa.array(is_complete))
    columns = [*(ready[name] for name in spec.inputs), *evaluated.results, ready[TIME].cast(INSTANT)]
    return pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _complete(spec: EventTimeOverSpec, after: dict[int, BucketState], ready: pa.Table) -> Flags:
    """Whether the watermark has passed all that the frames of a row reach. The other rows go on waiting: put them back,
    with the next watermark at which one of them is complete."""
    ids, times = longs(ready[ROW_ID]), longs(ready[TIME])
    closed = np.array([after[int(bucket)].swept for bucket in bucket_of(ids)], np.int64)
    begins = np.ones(len(ids), bool)
    begins[1:] = (ids[1:] != ids[:-1]) | (times[1:] - times[:-1] > spec.ttl)
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(ids))[np.cumsum(begins) - 1]
    starts_again = np.append(ids, ids[-1:] + 1)[ends] == ids
    over_at = np.where(starts_again, 0, times[ends - 1] + spec.ttl + 1)
    has_rows = ends - 1 - np.arange(len(ids)) >= spec.rows_ahead
    complete_at = np.minimum(over_at, np.where(has_rows, times + spec.time_ahead + 1, END_OF_ALL))
    is_complete: Flags = complete_at <= closed
    for bucket, part in divided(ready.filter(pa.array(~is_complete)), ROW_ID).items():
        state = after[bucket]
        chunks = _chunks(state, WAITING)
        tables = {**state.tables, WAITING: Chunks(_KEYS[WAITING], (*chunks.tables, _by_number(part)))}
        due = int(complete_at[~is_complete & (bucket_of(ids) == bucket)].min())
        after[bucket] = replace(state, tables=tables, newest=min(state.newest, due))
    return is_complete


def _oldest_waiting(waiting: pa.Table, ids: Longs) -> Longs:
    """Return for each partition the time of its oldest row that waits on, or the end of all."""
    waiting_ids, first = np.unique(longs(waiting[ROW_ID]), return_index=True)
    if not len(waiting_ids):
        return np.full(len(ids), END_OF_ALL)
    place = np.minimum(np.searchsorted(waiting_ids, ids), len(waiting_ids) - 1)
    return np.where(waiting_ids[place] == ids, longs(waiting[TIME])[first][place], END_OF_ALL)


def _schema_out(spec: EventTimeOverSpec) -> Schema:
    return Schema((*spec.schema, Field(EVENT_TIME, TIMESTAMP)))


def _in_order(spec: EventTimeOverSpec, rows: pa.Table) -> tuple[pa.Table, list[Longs]]:
    """Return the rows of each partition in their order, and the codes that peers share."""
    codes = [sort_codes(rows[f"o{index}"], sorting) for index, sorting in enumerate(spec.order)]
    keys = (longs(rows[NUMBER]), longs(rows[ROW]), *codes[::-1], longs(rows[TIME]), longs(rows[ROW_ID]))
    order = np.lexsort(keys)
    return rows.take(pa.array(order)), [code[order] for code in codes]


def _numbered(
    after: dict[int, BucketState], rows: pa.Table, buckets: Sequence[int], is_complete: Flags | None
) -> pa.Table:
    """Return the rows with new numbers, in their order within each shard; rows that wait on need none."""
    buckets_of_rows = bucket_of(longs(rows[ROW_ID]))
    numbers = np.zeros(rows.num_rows, np.int64)
    for bucket in buckets:
        is_numbered = buckets_of_rows == bucket if is_complete is None else is_complete & (buckets_of_rows == bucket)
        places, state = np.flatnonzero(is_numbered), after[bucket]
        numbers[places] = state.rows_seen + np.arange(len(places))
        after[bucket] = replace(state, rows_seen=state.rows_seen + len(places))
    return rows.set_column(rows.column_names.index(NUMBER), NUMBER, pa.array(numbers))


def _past(spec: EventTimeOverSpec, evaluated: Evaluated, closed: Longs) -> pa.Table:
    """Return the rows that begin or cease to be of use, the latter with a weight of zero."""
    is_kept = _is_of_use(spec, evaluated.rows_after, longs(evaluated.rows[TIME]), closed)
    changed = is_kept == evaluated.is_new
    weights = pa.array(is_kept.astype(np.int64))
    return evaluated.rows.append_column(WEIGHT, weights).filter(pa.array(changed)).combine_chunks()


def _is_of_use(spec: EventTimeOverSpec, rows_after: Longs, times: Longs, closed: Longs | int) -> Flags:
    """Whether a frame of a later row can reach a row that so many of its partition follow; negative if it cannot be
    reached any more."""
    is_near = (rows_after < spec.rows_back) | (times >= closed - spec.time_back if spec.time_back else False)
    is_kept: Flags = (rows_after >= 0) & is_near
    return is_kept


def _swept(spec: EventTimeOverSpec, before: BucketState, state: BucketState) -> BucketState:
    """Forget partitions without rows for long; looked for only now and then, since it means looking at all of them."""
    every = max(spec.retention // _SWEEPS, 1)
    if before.swept // every == state.swept // every:
        return state
    tables = dict(state.tables)
    for name, column in ((PAST, TIME), (TOTALS, LAST)):
        rows = tables[name].all() if name in tables else None
        if rows is None:
            continue
        ids, times = longs(rows[ROW_ID]), longs(rows[column])
        last = np.ones(len(ids), bool)
        last[:-1] = ids[1:] != ids[:-1]
        newest = times[last][np.cumsum(last) - last]
        stays = newest + spec.retention >= state.swept
        if not stays.all():
            tables[name] = Chunks(_KEYS[name], (rows.filter(pa.array(stays)).combine_chunks(),))
    return replace(state, tables=tables)


@dataclass(frozen=True, slots=True)
class EventTimeOverOperator:
    """The functions as a sharded operator that advances with the watermark."""

    spec: EventTimeOverSpec

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Return the rows in the form in which they wait, by shard."""
        table = prepared(self.spec, rows)
        for bucket, parts in deal({WAITING: table}, {WAITING: longs(table[ROW_ID])}):
            yield bucket, to_bytes(parts)

    def steps(
        self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]], watermark: int
    ) -> StepsResult:
        """Run one epoch of some shards; some may step without rows."""
        parts = from_each([payload for of_bucket in payloads.values() for payload in of_bucket])
        return steps(self.spec, states, parts, watermark)
