"""Convert a shard of another query to the form of this one, with other aggregates.

    state       count, min          a: 3, 1         b: 7, 2
    new form    sum, count          a: ?, 3         b: ?, 7        both are marked: their sum is unknown
    input a     with 5              a: ?, 4         b: ?, 7        it stays unknown while a is stored
    input c     with 5                              c: 5, 1        a complete sum

The first step of a shard converts it. A shard records its form; without a record it has the form from before the first
upgrade. If numbers have become wider, columns are stored with the wider type from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from engine.plan.tree import ROW_ID
from engine.schema import to_arrow
from engine.updating.accumulators import accumulator_for
from engine.updating.aggregate_spec import AggregateSpec
from engine.updating.bucket_state import BucketState
from engine.updating.chunks import Chunks
from engine.updating.groups import Flags, Longs, group_rows, longs
from engine.updating.state_columns import LAST, UNKNOWN, WEIGHT


def in_form(spec: AggregateSpec, state: BucketState) -> BucketState:
    """Convert a shard's state to the form that `spec` needs."""
    if spec.began_as is None or state.form == spec.form:
        return state
    kept_types = _types_of_values(spec)
    old = spec.began_as if state.form is None else state.form
    tables: dict[str, Chunks] = {}
    if (rows := state.tables.get("rows")) is not None:
        tables["rows"] = replace(rows, tables=tuple(_rows_in_form(spec, old, table) for table in rows.tables))
    for index in spec.kept_values:
        place = spec.place_in(old, index)
        if place is not None and (values := state.tables.get(f"m{place}")) is not None:
            tables[f"m{index}"] = values.in_types_of(kept_types[index])
    return replace(state, tables=tables, form=spec.form)


def _types_of_values(spec: AggregateSpec) -> Mapping[int, pa.Schema]:
    """Return the types of the values that are kept for each measure."""
    return {
        index: pa.schema(
            [(f"a{place}", to_arrow(kind)) for place, kind in enumerate(spec.measures[index].arguments)]
            + [(f"o{place}", to_arrow(sorting.type)) for place, sorting in enumerate(spec.measures[index].order)]
        )
        for index in spec.kept_values
    }


def _rows_in_form(spec: AggregateSpec, old: Sequence[str], rows: pa.Table) -> pa.Table:
    places = [spec.place_in(old, index) for index in range(len(spec.measures))]
    keys = zip(spec.keys, spec.schema, strict=False)
    columns = {name: rows[name] for name in (ROW_ID, WEIGHT, LAST)}
    columns[UNKNOWN] = pa.array(_unknown(rows, places))
    columns |= {name: rows[name].cast(to_arrow(field.type)) for name, field in keys}
    for index, place in enumerate(places):
        if index not in spec.kept_values:
            summed = _nothing(spec, index, rows.num_rows) if place is None else _widened(spec, index, rows, place)
            columns |= {f"m{index}.{part}": column for part, column in enumerate(summed)}
    return pa.table(columns).combine_chunks()


def _unknown(rows: pa.Table, places: Sequence[int | None]) -> Longs:
    """Return, for each row, which aggregates are unknown, as bits by their positions."""
    before = longs(rows[UNKNOWN]) if UNKNOWN in rows.column_names else np.zeros(rows.num_rows, np.int64)
    unknown = np.zeros(rows.num_rows, np.int64)
    for index, place in enumerate(places):
        unknown |= (np.int64(1) if place is None else (before >> place) & 1) << index
    return unknown


def _widened(spec: AggregateSpec, index: int, rows: pa.Table, place: int) -> Iterator[pa.ChunkedArray]:
    """Return the state columns of the aggregate at `place`, cast to the types of the aggregate that continues with
    them."""
    if spec.measures[index].udf is not None:
        yield from _columns_of(rows, place)
        return
    for column, wanted in zip(_columns_of(rows, place), _nothing(spec, index, 0), strict=True):
        yield column if column.type == wanted.type else column.cast(wanted.type)


def _columns_of(rows: pa.Table, place: int) -> Iterator[pa.ChunkedArray]:
    """Return the state columns of the aggregate at `place`."""
    names = [name for name in rows.column_names if name.startswith(f"m{place}.")]
    return (rows[f"m{place}.{part}"] for part in range(len(names)))


def _nothing(spec: AggregateSpec, index: int, rows: int) -> Sequence[pa.Array]:
    """Return the state of an aggregate over no rows, repeated for `rows` groups."""
    measure = spec.measures[index]
    arguments = [pa.nulls(rows, to_arrow(kind)) for kind in measure.arguments]
    return accumulator_for(measure).start(arguments, np.zeros(rows, np.int64), group_rows(np.arange(rows)))


def known_only(result: pa.Array, unknown: Longs, index: int) -> pa.Array:
    """Return a result for each row: NULL where the aggregate at a place is not known."""
    return result.take(pa.array(np.arange(len(unknown)), mask=is_unknown(unknown, index)))


def is_unknown(unknown: Longs, index: int) -> Flags:
    """Whether the aggregate at a position is unknown, for each row."""
    flags: Flags = (unknown >> index) & 1 != 0
    return flags


def ids_not_known(spec: AggregateSpec, rows: pa.Table) -> Longs | None:
    """Return the keys whose state is incomplete. What a reader has of them may be of a query before, also
    where none of what is known has changed."""
    return None if spec.began_as is None else longs(rows[ROW_ID])[longs(rows[UNKNOWN]) != 0]
