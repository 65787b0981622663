"""Specification of a changelog aggregate, and the conversion of a shard from another specification to this one.

Convert a shard of another query to the form of this one, with other aggregates.

    state       count, min          a: 3, 1         b: 7, 2
    new form    sum, count          a: ?, 3         b: ?, 7        both are marked: their sum is unknown
    input a     with 5              a: ?, 4         b: ?, 7        it stays unknown while a is stored
    input c     with 5                              c: 5, 1        a complete sum

The first step of a shard converts it. A shard records its form; without a record it has the form from before the
first upgrade. If numbers have become wider, columns are stored with the wider type from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from engine.plan.tree import ROW_ID
from engine.schema import Schema, to_arrow
from engine.updating.accumulators import Measure, accumulator_for, keeps_values
from engine.updating.bucket_state import BucketState
from engine.updating.chunks import Chunks
from engine.updating.groups import Flags, Longs, group_rows, longs
from engine.updating.state_columns import LAST, UNKNOWN, WEIGHT


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """Keys and results are in `schema`, keys first. Input rows have the columns `_id`, `k0`..., for each measure its
    arguments `a0_0`..., its order `o0_0`..., its condition `c0`, and the hash `v0` if values are stored. Pre-aggregated
    rows have their number in `n`, and the merged values of each measure in `a0_0`... After an upgrade, `form` has a
    text per measure, and `began_as` the form of shards that do not record theirs; the state knows the unknown measures
    of each key. `formerly` are the texts of a measure with narrower numbers. With the id of a `retelling`, each shard
    once re-emits all its rows, and the output has the mark `BEFORE`: whether a retraction has to pass the previous
    filter."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    only_appends: bool
    ttl: int
    is_merged: bool = False
    form: tuple[str, ...] = ()
    began_as: tuple[str, ...] | None = None
    formerly: tuple[tuple[str, ...], ...] = ()
    retelling: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    def place_in(self, form: Sequence[str], index: int) -> int | None:
        """Return the position of a measure in another form."""
        texts = (self.form[index], *(self.formerly[index] if self.formerly else ()))
        return next((form.index(text) for text in texts if text in form), None)

    @property
    def kept_values(self) -> tuple[int, ...]:
        """The measures whose values are kept."""
        return tuple(
            index
            for index, measure in enumerate(self.measures)
            if keeps_values(measure, only_appends=self.only_appends)
        )


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
