"""Objects of user-defined aggregate classes, in a task: they get rows, are merged, and are serialised."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.udf.calling import explain, is_user_module, load, load_class, to_array, values_of
from engine.udf.declared import Udf

if TYPE_CHECKING:
    import pyarrow as pa

Rows: TypeAlias = list[tuple[tuple[Any, ...], int]]
"""Argument values of rows, each with its multiplicity; negative for retractions."""


@dataclass(frozen=True, slots=True)
class Objects:
    """Operations on objects of one class; exceptions of the user's code are reported as such."""

    function: Udf

    def rows(self, arguments: Sequence[pa.Array]) -> list[tuple[Any, ...] | None]:
        """Return the values of each row, as the class takes them; None for one with NULL for a parameter that takes
        none."""
        hints = [hint for _, hint in self.function.parameters]
        columns = [values_of(self.function, column, hint) for column, hint in zip(arguments, hints, strict=False)]
        needed = [index for index in range(len(columns)) if not hints[index].optional]
        return [None if any(row[index] is None for index in needed) else row for row in zip(*columns, strict=True)]

    def take(self, content: bytes | None, rows: Rows) -> bytes:
        """Return an object with further rows: first all that come, then all that go."""
        with self._errors_explained():
            state = self._load(content)
            for row, weight in rows:
                for _ in range(weight):
                    state.add(*row)
            for row, weight in rows:
                for _ in range(-weight):
                    state.retract(*row)
            return pickle.dumps(state)

    def merge(self, contents: Sequence[bytes]) -> bytes:
        """Return the object of the rows of all of them."""
        with self._errors_explained():
            total, *parts = map(self._load, contents)
            for part in parts:
                total.merge(part)
            return pickle.dumps(total)

    def rows_of(self, content: bytes) -> Rows:
        """Return rows that were kept as bytes."""
        with self._errors_explained():
            rows: Rows = _Unpickler(self.function, content).load()
        return rows

    def results(self, contents: Sequence[bytes | None]) -> pa.Array:
        """Return the result of each object; an object that never got a row is a new one."""
        with self._errors_explained():
            values = [self._load(content).finish() for content in contents]
        return to_array(self.function, values)

    def _load(self, content: bytes | None) -> Any:
        factory = load(self.function)
        return factory() if content is None else _Unpickler(self.function, content).load()

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:
            raise explain(self.function, error) from error


class _Unpickler(pickle.Unpickler):
    """Resolves classes of the user's file in its current version."""

    def __init__(self, function: Udf, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._function = function

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return the class, or the function, that an object refers to."""
        if is_user_module(module_name):
            return load_class(self._function, global_name)
        return super().find_class(module_name, global_name)
