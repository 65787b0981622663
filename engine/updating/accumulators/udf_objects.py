"""User-defined aggregate that gets rows one by one: its object is stored instead of the rows.

epoch 1, in tasks      rows 1, 2 | rows 3       an object each, if the class can merge; else the rows wait at the key
merge, then settle     the object of 1, 2, 3; no row waits
epoch 2                row 2 is retracted       it waits; settling passes it to the object (`retract`)
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from engine.udf.declared import Udf
from engine.udf.incremental import Objects, Rows
from engine.updating.groups import Flags, Groups, Longs

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Incremental:
    """Two columns: the object, and the rows that no object has got yet. One of them is NULL. A task creates objects
    only if they can be merged and there are no retractions, since a row may be retracted before the object has it."""

    function: Udf

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return an object, or the rows, of each group; rows without a weight are left out."""
        objects, values = Objects(self.function), Objects(self.function).rows(arguments)
        states: list[bytes | None] = []
        waiting: list[bytes | None] = []
        for places in _each(range(len(values)), groups):
            rows: Rows = [
                (row, weight)
                for place in places
                if (row := values[place]) is not None and (weight := int(weights[place]))
            ]
            is_taken = "merge" in self.function.methods and all(weight > 0 for _, weight in rows)
            states.append(objects.take(None, rows) if rows and is_taken else None)
            waiting.append(pickle.dumps(rows) if rows and not is_taken else None)
        return _columns(states, waiting)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return one object for each group, and all pending rows."""
        objects = Objects(self.function)
        merged: list[bytes | None] = []
        waiting: list[bytes | None] = []
        for states, rows in zip(*(_each(column.to_pylist(), groups) for column in columns), strict=True):
            some = [state for state in states if state is not None]
            merged.append(objects.merge(some) if len(some) > 1 else some[0] if some else None)
            parts = [row for content in rows if content is not None for row in objects.rows_of(content)]
            waiting.append(pickle.dumps(parts) if parts else None)
        return _columns(merged, waiting)

    def settle(self, columns: Sequence[pa.Array], is_there: Flags) -> list[pa.Array]:
        """Let the objects of whole groups take the pending rows; a group whose last row was retracted has no object."""
        objects = Objects(self.function)
        groups = zip(*(column.to_pylist() for column in columns), is_there.tolist(), strict=True)
        settled = [_with_rows(objects, state, rows) if exists else None for state, rows, exists in groups]
        return _columns(settled, [None] * len(settled))

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the result of each object."""
        return Objects(self.function).results(columns[0].to_pylist())


def _with_rows(objects: Objects, state: bytes | None, rows: bytes | None) -> bytes | None:
    return state if rows is None else objects.take(state, objects.rows_of(rows))


def _each(parts: Sequence[_Part], groups: Groups) -> Iterator[list[_Part]]:
    for start, end in zip(groups.starts.tolist(), groups.ends.tolist(), strict=True):
        yield [parts[place] for place in groups.order[start:end].tolist()]


def _columns(states: Sequence[bytes | None], waiting: Sequence[bytes | None]) -> list[pa.Array]:
    return [pa.array(states, pa.binary()), pa.array(waiting, pa.binary())]
