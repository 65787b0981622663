"""Call user-defined aggregates over groups of rows, in a task."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from engine.udf.calling import to_array, values_of
from engine.udf.declared import Udf
from engine.udf.loading import explain, load

if TYPE_CHECKING:
    import pyarrow as pa


def aggregate_lists(function: Udf, groups: pa.Array) -> pa.Array:
    """The aggregate of each group. A group is a list of rows, a row a struct with a member for each parameter; a row
    with NULL for a parameter that takes none is left out."""
    target = load(function)
    needed = [index for index, (_, hint) in enumerate(function.parameters) if not hint.optional]
    answers: list[Any] = []
    for group in _groups(function, groups):
        columns = _without_null(group, needed)
        try:
            answers.append(_by_rows(target, columns) if function.is_class else target(*columns))
        except (Exception, SystemExit) as error:
            raise explain(function, error) from error
    return to_array(function, answers)


def _without_null(columns: list[list[Any]], needed: list[int]) -> list[list[Any]]:
    """The columns without the rows that have None in one of those needed."""
    positions = [index for index in needed if index < len(columns)]
    if not any(None in columns[index] for index in positions):
        return columns
    rows = [row for row in zip(*columns, strict=True) if all(row[index] is not None for index in positions)]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]


def _by_rows(target: Any, columns: list[list[Any]]) -> Any:
    state = target()
    for row in zip(*columns, strict=True):
        state.add(*row)
    return state.finish()


def _groups(function: Udf, groups: pa.Array) -> Iterator[list[list[Any]]]:
    """The columns of each group. A group that is NULL has no rows."""
    offsets = groups.offsets.to_pylist()
    rows = groups.values
    columns = list(zip(rows.flatten(), (hint for _, hint in function.parameters), strict=False))
    for start, end in pairwise(offsets):
        yield [values_of(function, column.slice(start, end - start), hint) for column, hint in columns]
