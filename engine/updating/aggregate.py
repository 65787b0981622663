"""Aggregation without a window: one row per key, replaced whenever an epoch changes it.

Rows are pre-aggregated in the task that has read them, and merged with the state in their shard. If values have to be
stored, a second table has each value of a key with its multiplicity.

    SELECT key, count(*), max(n), over rows that may be retracted
    input        +(a, 3) +(a, 5) +(b, 1)      -(a, 5) -(b, 1)
    rows         a 2, b 1                     a 1
    values       a: 3 once, 5 once; b: 1 once a: 3 once
    output       +(a, 2, 5) +(b, 1, 1)        -(a, 2, 5) +(a, 1, 3) -(b, 1, 1)

See docs/decisions/updating-state-is-kept-in-buckets.md, and `accumulators` for the state of each function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID
from engine.schema import arrow_schema
from engine.updating.accumulators import Measure, accumulator_for, columns_of_merged
from engine.updating.accumulators.results_of_values import result_of_values
from engine.updating.accumulators.udf_objects import Incremental
from engine.updating.aggregate_spec import AggregateSpec, ids_not_known, in_form, is_unknown, known_only
from engine.updating.bucket_state import NEVER, BucketState, StepResult, StepsResult, one_by_one
from engine.updating.chunks import Chunks
from engine.updating.groups import Flags, Longs, changes_between, flags, group_rows, longs, moments
from engine.updating.serialization import deal, from_bytes, replaced, to_bytes, whole
from engine.updating.state_columns import BEFORE, FIRST, LAST, UNKNOWN, VALUE, WEIGHT


def summed(spec: AggregateSpec, rows: pa.Table) -> dict[str, pa.Table]:
    """Return rows pre-aggregated by key, or by key and value if values are stored."""
    rows = rows.combine_chunks()
    ids = longs(rows[ROW_ID])
    weights = longs(rows["n"]) if spec.is_merged else np.ones(len(ids), np.int64)
    if RETRACT in rows.column_names:
        weights -= 2 * flags(rows[RETRACT])
    groups = group_rows(ids)
    columns: dict[str, pa.Array] = {
        ROW_ID: pa.array(ids[groups.first_rows]),
        WEIGHT: pa.array(groups.sum_of(weights)),
        LAST: pa.array(groups.greatest_of(moments(rows[EVENT_TIME]))),
    }
    columns |= {} if spec.began_as is None else {UNKNOWN: pa.array(np.zeros(groups.count, np.int64))}
    first_rows = pa.array(groups.first_rows)
    columns |= {name: whole(rows[name]).take(first_rows) for name in spec.keys}
    values, with_values = {}, () if spec.is_merged else spec.kept_values
    for index, measure in enumerate(spec.measures):
        if index in with_values:
            values[f"m{index}"] = _counted_values(rows, index, measure, weights)
            continue
        if spec.is_merged:
            partials = [whole(rows[name]) for name in rows.column_names if name.startswith(f"a{index}_")]
            sums = accumulator_for(measure).merge(columns_of_merged(measure, partials), groups)
        else:
            arguments = [whole(rows[f"a{index}_{place}"]) for place in range(len(measure.arguments))]
            sums = accumulator_for(measure).start(arguments, _counting(rows, index, measure, weights), groups)
        columns |= {f"m{index}.{place}": column for place, column in enumerate(sums)}
    return {"rows": pa.table(columns), **values}


def _counting(rows: pa.Table, index: int, measure: Measure, weights: Longs) -> Longs:
    """Return the weights of the rows in a measure: zero if its condition is not true."""
    return weights * flags(rows[f"c{index}"]) if measure.has_condition else weights


def _counted_values(rows: pa.Table, index: int, measure: Measure, weights: Longs) -> pa.Table:
    """Return the distinct values of each key in a measure, with their numbers; they are distinguished by their
    hashes."""
    ids, hashes, weights = longs(rows[ROW_ID]), longs(rows[f"v{index}"]), _counting(rows, index, measure, weights)
    columns = {f"a{place}": whole(rows[f"a{index}_{place}"]) for place in range(len(measure.arguments))}
    columns |= {f"o{place}": whole(rows[f"o{index}_{place}"]) for place in range(len(measure.order))}
    weighing = np.flatnonzero(weights)
    groups = group_rows(ids[weighing], hashes[weighing])
    first_rows = weighing[groups.first_rows]
    counted = {
        ROW_ID: pa.array(ids[first_rows]),
        VALUE: pa.array(hashes[first_rows]),
        WEIGHT: pa.array(groups.sum_of(weights[weighing])),
        FIRST: pa.array(first_rows),
    }
    return pa.table(counted | {name: column.take(pa.array(first_rows)) for name, column in columns.items()})


def step(spec: AggregateSpec, state: BucketState, parts: Sequence[Mapping[str, pa.Table]]) -> StepResult:
    """Run one epoch of one shard over pre-aggregated rows: return its new state, and the changelog rows."""
    state = in_form(spec, state)
    if not parts:
        return _retold(spec, state)
    changed = _merge_rows(spec, pa.concat_tables([part["rows"] for part in parts]))
    ids, times = longs(changed[ROW_ID]), longs(changed[LAST])
    newest = max(state.newest, int(times.max(initial=NEVER)))
    rows = state.tables.get("rows", Chunks((ROW_ID,)))
    before = rows.find(ids)
    # an expired key starts again even before the next sweep: the time of a sweep must not change results
    alive = None if before is None else before.filter(pa.array(longs(before[LAST]) + spec.ttl >= newest))
    after = changed if alive is None else _merge_rows(spec, pa.concat_tables([alive, changed]).combine_chunks())
    exists = longs(after[WEIGHT]) > 0
    after = _settled(spec, after, exists)
    # more may be taken back than was added, after something was forgotten: that is none, and no debt
    after = replaced(after, WEIGHT, longs(after[WEIGHT]) * exists)
    alive_ids = None if alive is None else longs(alive[ROW_ID])
    values = _step_values(spec, state, parts, ids, existing=ids[exists], alive=alive_ids)
    out_before = None if before is None else _results(spec, before, values.old)
    out_after = _results(spec, after.filter(pa.array(exists)), values.new)
    if _is_untold(spec, state):
        out = pa.concat_tables(
            [_told_of_others(spec, state, ids), _marked(spec, changes_between(out_before, out_after, ids, times, ids))]
        )
    else:
        out = _marked(
            spec, changes_between(out_before, out_after, ids, times, ids_not_known(spec, after)), is_before=False
        )
    rows_seen = state.rows_seen + sum(part[f"m{index}"].num_rows for part in parts for index in spec.kept_values)
    tables = {**state.tables, **values.tables, "rows": rows.add(after)}
    state = replace(state, tables=tables, newest=newest, rows_seen=rows_seen, told=spec.retelling)
    return _swept(spec, state, out)


def _is_untold(spec: AggregateSpec, state: BucketState) -> bool:
    return spec.retelling is not None and state.told != spec.retelling


def _retold(spec: AggregateSpec, state: BucketState) -> StepResult:
    """Return the step of a shard without input: it re-emits all its rows, if it has not done so yet."""
    if not _is_untold(spec, state) or "rows" not in state.tables:
        return StepResult(state, pa.table({}))
    out = _told_of_others(spec, state, np.zeros(0, np.int64))
    return StepResult(replace(state, told=spec.retelling), out)


def _told_of_others(spec: AggregateSpec, state: BucketState, ids: Longs) -> pa.Table:
    """Return retractions and inserts of all rows that the epoch leaves unchanged: all but those of the keys `ids`."""
    rows = state.tables["rows"].all() if "rows" in state.tables else None
    if rows is None:
        return _no_changes(spec)
    others = rows.filter(pa.array(~np.isin(longs(rows[ROW_ID]), ids)))
    other_ids = longs(others[ROW_ID])
    # of an aggregate that is new nothing is kept yet
    nothing = Chunks((ROW_ID, VALUE))
    values = {index: state.tables.get(f"m{index}", nothing).find(other_ids) for index in spec.kept_values}
    results = _results(spec, others, values)
    return _marked(spec, changes_between(results, results, other_ids, moments(others[LAST]), other_ids))


def _no_changes(spec: AggregateSpec) -> pa.Table:
    nothing = np.zeros(0, np.int64)
    schema = arrow_schema(spec.schema).append(pa.field(ROW_ID, pa.int64()))
    return _marked(spec, changes_between(schema.empty_table(), None, nothing, nothing))


def _marked(spec: AggregateSpec, changes: pa.Table, *, is_before: bool = True) -> pa.Table:
    """Return changes in which retractions of earlier output may be marked; without marks, if nothing needs them."""
    if spec.retelling is None:
        return changes
    return changes.append_column(BEFORE, pa.array(flags(changes[RETRACT]) & is_before))


def _merge_rows(spec: AggregateSpec, rows: pa.Table) -> pa.Table:
    """Return one row for each key, in their order, from pre-aggregated rows."""
    rows = rows.combine_chunks()
    groups = group_rows(longs(rows[ROW_ID]))
    if groups.count == rows.num_rows:
        return rows.take(pa.array(groups.order))
    first_rows = pa.array(groups.first_rows)
    columns: dict[str, pa.Array] = {
        ROW_ID: whole(rows[ROW_ID]).take(first_rows),
        WEIGHT: pa.array(groups.sum_of(longs(rows[WEIGHT]))),
        LAST: pa.array(groups.greatest_of(longs(rows[LAST]))),
    }
    # of all rows of a key only the one that was kept may have any
    columns |= {} if spec.began_as is None else {UNKNOWN: pa.array(groups.greatest_of(longs(rows[UNKNOWN])))}
    columns |= {name: whole(rows[name]).take(first_rows) for name in spec.keys}
    for index, measure in enumerate(spec.measures):
        if index not in spec.kept_values:
            names = _columns_of(rows, index)
            merged = accumulator_for(measure).merge([whole(rows[name]) for name in names], groups)
            columns |= dict(zip(names, merged, strict=True))
    return pa.table(columns)


def _settled(spec: AggregateSpec, rows: pa.Table, exists: Flags) -> pa.Table:
    """Return the rows with the results of the user's aggregates for an epoch, after all of it was added."""
    for index, measure in enumerate(spec.measures):
        if measure.udf is not None:
            names = _columns_of(rows, index)
            columns = Incremental(measure.udf).settle([whole(rows[name]) for name in names], exists)
            for name, column in zip(names, columns, strict=True):
                rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def _columns_of(rows: pa.Table, index: int) -> list[str]:
    return [name for name in rows.column_names if name.startswith(f"m{index}.")]


@dataclass(frozen=True, slots=True)
class _SteppedValues:
    """Values of an epoch's keys, by measure, before and after; and the resulting tables."""

    tables: Mapping[str, Chunks]
    old: Mapping[int, pa.Table | None]
    new: Mapping[int, pa.Table]


def _step_values(
    spec: AggregateSpec,
    state: BucketState,
    parts: Sequence[Mapping[str, pa.Table]],
    ids: Longs,
    *,
    existing: Longs,
    alive: Longs | None,
) -> _SteppedValues:
    tables: dict[str, Chunks] = {}
    old: dict[int, pa.Table | None] = {}
    new: dict[int, pa.Table] = {}
    for index in spec.kept_values:
        name = f"m{index}"
        chunks = state.tables.get(name, Chunks((ROW_ID, VALUE)))
        old[index] = chunks.find(ids)
        arrived = pa.concat_tables([_renumbered(part[name], state.rows_seen) for part in parts])
        changes, new[index] = _merge_values(old[index], arrived, existing, alive)
        tables[name] = chunks.add(changes)
    return _SteppedValues(tables, old, new)


def _renumbered(values: pa.Table, start: int) -> pa.Table:
    """Return the values numbered in the order in which they first arrived, so that first and last values are known."""
    return replaced(values, FIRST, longs(values[FIRST]) + start)


def _merge_values(
    old: pa.Table | None, new: pa.Table, existing: Longs, alive: Longs | None
) -> tuple[pa.Table, pa.Table]:
    """Return the rows to write for changed values, and all current values of the keys of this epoch."""
    if old is None:
        both = new
    else:
        weights = longs(old[WEIGHT])
        if alive is not None:
            weights = weights * np.isin(longs(old[ROW_ID]), alive)
        both = pa.concat_tables([replaced(old, WEIGHT, weights), new])
    both = both.combine_chunks()
    groups = group_rows(longs(both[ROW_ID]), longs(both[VALUE]))
    merged = both.take(pa.array(groups.first_rows))
    weights = np.maximum(groups.sum_of(longs(both[WEIGHT])), 0)
    weights = weights * np.isin(longs(merged[ROW_ID]), existing)
    merged = replaced(replaced(merged, WEIGHT, weights), FIRST, groups.least_of(longs(both[FIRST])))
    old_count = 0 if old is None else old.num_rows
    is_touched = groups.greatest_of(np.arange(both.num_rows)) >= old_count
    is_gone = weights == 0
    # a value that is gone is written with the weight zero, which hides it in the chunks before
    return merged.filter(pa.array(is_touched | is_gone)), merged.filter(pa.array(~is_gone))


def _results(spec: AggregateSpec, rows: pa.Table, values: Mapping[int, pa.Table | None]) -> pa.Table:
    """Return the output rows for stored ones, with their ids."""
    rows = rows.combine_chunks()
    ids = longs(rows[ROW_ID])
    columns = [whole(rows[name]) for name in spec.keys]
    for index, measure in enumerate(spec.measures):
        if index in spec.kept_values:
            result = result_of_values(measure, values[index], ids)
        else:
            result = _finished(spec, rows, index, measure)
        columns.append(result if spec.began_as is None else known_only(result, longs(rows[UNKNOWN]), index))
    schema = arrow_schema(spec.schema)
    cast = [
        column.cast(field.type) if column.type != field.type else column
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.table([*cast, pa.array(ids)], schema=schema.append(pa.field(ROW_ID, pa.int64())))


def _finished(spec: AggregateSpec, rows: pa.Table, index: int, measure: Measure) -> pa.Array:
    """Return the result of an accumulator; NULL if it is unknown, which may not be computable."""
    summed = [whole(rows[name]) for name in _columns_of(rows, index)]
    if spec.began_as is None:
        return accumulator_for(measure).finish(summed)
    is_known = ~is_unknown(longs(rows[UNKNOWN]), index)
    known = accumulator_for(measure).finish([column.filter(pa.array(is_known)) for column in summed])
    return whole(known).take(pa.array(np.cumsum(is_known) - 1, mask=~is_known))


def _swept(spec: AggregateSpec, state: BucketState, out: pa.Table) -> StepResult:
    """Retract and forget keys that have not changed for the TTL. This reads all keys, so it happens only
    occasionally."""
    if not state.is_due_for_sweep(spec.ttl):
        return StepResult(state, out)
    rows = state.tables["rows"].all()
    assert rows is not None
    is_old = longs(rows[LAST]) + spec.ttl < state.newest
    state = replace(state, swept=state.newest)
    if not is_old.any():
        return StepResult(state, out)
    forgotten = rows.filter(pa.array(is_old))
    forgotten_ids, staying_ids = longs(forgotten[ROW_ID]), longs(rows[ROW_ID])[~is_old]
    tables = {"rows": Chunks((ROW_ID,), (rows.filter(pa.array(~is_old)),))}
    values: dict[int, pa.Table | None] = {}
    for index in spec.kept_values:
        chunks = state.tables[f"m{index}"]
        values[index] = chunks.find(forgotten_ids)
        staying = chunks.find(staying_ids)
        tables[f"m{index}"] = Chunks(chunks.keys, () if staying is None else (staying,))
    times = np.full(len(forgotten_ids), state.newest)
    taken_back = changes_between(_results(spec, forgotten, values), None, forgotten_ids, times)
    taken_back = _marked(spec, taken_back, is_before=False)
    return StepResult(replace(state, tables=tables), pa.concat_tables([out, taken_back]))


@dataclass(frozen=True, slots=True)
class AggregateOperator:
    """The aggregation as a sharded operator."""

    spec: AggregateSpec

    @property
    def names(self) -> tuple[str, ...]:
        """The tables of a payload, in order."""
        return ("rows", *(f"m{index}" for index in self.spec.kept_values))

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield the pre-aggregated rows of each shard."""
        tables = summed(self.spec, rows)
        ids = {name: longs(table[ROW_ID]) for name, table in tables.items()}
        for bucket, parts in deal(tables, ids):
            yield bucket, to_bytes(parts)

    def steps(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some shards."""
        return one_by_one(self._step, states, payloads)

    def _step(self, state: BucketState, payloads: Sequence[bytes]) -> StepResult:
        # without content a payload only asks whether there is something to tell
        parts = [dict(zip(self.names, from_bytes(payload), strict=True)) for payload in payloads if payload]
        return step(self.spec, state, parts)
