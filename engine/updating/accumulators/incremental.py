"""An aggregate of the user's that takes rows one by one: its object is kept, and not the rows."""

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
    """Two columns, one of which is NULL: the object, and the rows that no object has taken yet. A task makes objects
    only where they can be merged and nothing is taken back, since a row may go before the object has it."""

    function: Udf

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """An object, or the rows, of each group; rows without a weight are left out."""
        objects, found = Objects(self.function), Objects(self.function).rows(arguments)
        kept: list[bytes | None] = []
        waiting: list[bytes | None] = []
        for places in _each(range(len(found)), groups):
            rows: Rows = [
                (row, weight)
                for place in places
                if (row := found[place]) is not None and (weight := int(weights[place]))
            ]
            is_taken = "merge" in self.function.methods and all(weight > 0 for _, weight in rows)
            kept.append(objects.take(None, rows) if rows and is_taken else None)
            waiting.append(pickle.dumps(rows) if rows and not is_taken else None)
        return _columns(kept, waiting)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """One object of those of each group, and all rows that wait."""
        objects = Objects(self.function)
        kept: list[bytes | None] = []
        waiting: list[bytes | None] = []
        for made, rows in zip(*(_each(column.to_pylist(), groups) for column in columns), strict=True):
            some = [one for one in made if one is not None]
            kept.append(objects.merge(some) if len(some) > 1 else some[0] if some else None)
            parts = [row for one in rows if one is not None for row in objects.rows_of(one)]
            waiting.append(pickle.dumps(parts) if parts else None)
        return _columns(kept, waiting)

    def settle(self, columns: Sequence[pa.Array], is_there: Flags) -> list[pa.Array]:
        """Let the objects of whole groups take the rows that wait; a group whose last row went has no object."""
        objects = Objects(self.function)
        groups = zip(*(column.to_pylist() for column in columns), is_there.tolist(), strict=True)
        kept = [_with_rows(objects, made, rows) if there else None for made, rows, there in groups]
        return _columns(kept, [None] * len(kept))

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """What each object gives."""
        return Objects(self.function).results(columns[0].to_pylist())


def _with_rows(objects: Objects, made: bytes | None, rows: bytes | None) -> bytes | None:
    return made if rows is None else objects.take(made, objects.rows_of(rows))


def _each(parts: Sequence[_Part], groups: Groups) -> Iterator[list[_Part]]:
    for start, end in zip(groups.starts.tolist(), groups.ends.tolist(), strict=True):
        yield [parts[place] for place in groups.order[start:end].tolist()]


def _columns(kept: Sequence[bytes | None], waiting: Sequence[bytes | None]) -> list[pa.Array]:
    return [pa.array(kept, pa.binary()), pa.array(waiting, pa.binary())]
