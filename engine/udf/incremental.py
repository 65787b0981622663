"""Objects of the user's aggregate classes: they take rows, are put together, and are kept as bytes. In a task."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.udf.calling import to_array, values_of
from engine.udf.declared import Udf
from engine.udf.loading import explain, load, load_class, made_here

if TYPE_CHECKING:
    import pyarrow as pa

Rows: TypeAlias = list[tuple[tuple[Any, ...], int]]
"""The values of rows, each with how often it comes; a negative number is for one that is taken back."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What can be done with objects of one class; whatever the user's code raises is told as its fault."""

    function: Udf

    def rows(self, arguments: Sequence[pa.Array]) -> list[tuple[Any, ...] | None]:
        """The values of each row, as the class takes them; None for one with NULL for a parameter that takes none."""
        hints = [hint for _, hint in self.function.parameters]
        columns = [values_of(self.function, one, hint) for one, hint in zip(arguments, hints, strict=False)]
        needed = [index for index in range(len(columns)) if not hints[index].optional]
        return [None if any(row[index] is None for index in needed) else row for row in zip(*columns, strict=True)]

    def take(self, kept: bytes | None, rows: Rows) -> bytes:
        """An object with further rows: first all that come, then all that go."""
        with self._told():
            one = self._opened(kept)
            for row, weight in rows:
                for _ in range(weight):
                    one.add(*row)
            for row, weight in rows:
                for _ in range(-weight):
                    one.retract(*row)
            return pickle.dumps(one)

    def merge(self, kept: Sequence[bytes]) -> bytes:
        """The object of the rows of all of them."""
        with self._told():
            first, *others = map(self._opened, kept)
            for other in others:
                first.merge(other)
            return pickle.dumps(first)

    def rows_of(self, content: bytes) -> Rows:
        """Rows that were kept as bytes."""
        with self._told():
            rows: Rows = _Opener(self.function, content).load()
        return rows

    def results(self, kept: Sequence[bytes | None]) -> pa.Array:
        """What each object gives; one that has never got a row is a new one."""
        with self._told():
            found = [self._opened(one).finish() for one in kept]
        return to_array(self.function, found)

    def _opened(self, kept: bytes | None) -> Any:
        made = load(self.function)
        return made() if kept is None else _Opener(self.function, kept).load()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:
            raise explain(self.function, error) from error


class _Opener(pickle.Unpickler):
    """Finds classes of the user's file in the file as it is now."""

    def __init__(self, function: Udf, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._function = function

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """The class, or the function, that an object refers to."""
        if made_here(module_name):
            return load_class(self._function, global_name)
        return super().find_class(module_name, global_name)
