"""Calls of the user's functions over Arrow arrays, in a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import UdfResultError
from engine.schema import to_arrow
from engine.types import Array, Struct, Type
from engine.udf.async_calls import call_async
from engine.udf.declared import Hint, Udf
from engine.udf.loading import explain, load, load_class, shorten

if TYPE_CHECKING:
    import pyarrow as pa


def call_udf(function: Udf, columns: Sequence[pa.Array], when: pa.Array | None = None) -> pa.Array:
    """The function's value for each row. It is NULL without a call where `when` is not true, and where NULL comes for a
    parameter that takes none."""
    import pyarrow as pa  # noqa: PLC0415 - only tasks need Arrow
    import pyarrow.compute as pc  # noqa: PLC0415

    called = _called(function, columns, when)
    if called is None:
        return _compute(function, columns)
    rows = pc.indices_nonzero(called)
    if not len(rows):
        return pa.nulls(len(called), to_arrow(function.type))
    found = _compute(function, [column.take(rows) for column in columns])
    # row i of the answer is at the number of calls up to i, where there was one
    places = pc.subtract(pc.cumulative_sum(called.cast(pa.int64())), 1)
    return found.take(pc.if_else(called, places, None))


def _called(function: Udf, columns: Sequence[pa.Array], when: pa.Array | None) -> pa.Array | None:
    """For which rows the function is called; None is for all."""
    import pyarrow.compute as pc  # noqa: PLC0415 - see `call_udf`

    called = None if when is None else pc.fill_null(when, False)
    for column, (_, hint) in zip(columns, function.parameters, strict=False):
        if column.null_count and not hint.optional:
            there = column.is_valid()
            called = there if called is None else pc.and_(called, there)
    return called


def _compute(function: Udf, columns: Sequence[pa.Array]) -> pa.Array:
    if function.kind == "vectorized":
        return _vectorized(function, columns)
    target = load(function)
    hints = [hint for _, hint in function.parameters]
    rows = zip(*(values_of(function, column, hint) for column, hint in zip(columns, hints, strict=False)), strict=True)
    if function.kind == "async":
        return to_array(function, call_async(function, target, rows))
    if function.kind == "table":
        return to_array(function, _attempt(function, lambda: [list(_some(target(*row))) for row in rows]))
    return to_array(function, _attempt(function, lambda: [target(*row) for row in rows]))


def _some(rows: Any) -> Any:
    return () if rows is None else rows


def _attempt(function: Udf, work: Callable[[], list[Any]]) -> list[Any]:
    try:
        return work()
    except (Exception, SystemExit) as error:
        raise explain(function, error) from error


def _vectorized(function: Udf, columns: Sequence[pa.Array]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    target = load(function)
    try:
        found = target(*columns)
    except (Exception, SystemExit) as error:
        raise explain(function, error) from error
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array):
        raise _wrong(function, f"gave {type(found).__name__}, which is no pyarrow Array")
    if len(found) != len(columns[0]):
        raise _wrong(function, f"gave {len(found)} values for {len(columns[0])} rows")
    try:
        found = found.cast(to_arrow(function.type))
    except pa.ArrowException:
        raise _wrong(function, f"gave {found.type}, which does not become {function.result.type}") from None
    return _without_null(function, found)


def to_array(function: Udf, values: list[Any]) -> pa.Array:
    """What the function gave as an array of its type. Raises UdfResultError when it is something else."""
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    kind = to_arrow(function.type)
    if _has_struct(function.type):
        values = [_plain(value) for value in values]
    try:
        found = pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise _wrong(function, _offence(values, kind, error)) from None
    return _without_null(function, found)


def _has_struct(kind: Type) -> bool:
    return isinstance(kind, Struct) or (isinstance(kind, Array) and _has_struct(kind.element))


def _plain(value: Any) -> Any:
    """The value with whatever is of a class of fields as a dict, however deep it lies."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    match value:
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    return value


def values_of(function: Udf, column: pa.Array, hint: Hint) -> list[Any]:
    """The values of a column as the function takes them."""
    values: list[Any] = column.to_pylist()
    if hint.class_name is None:
        return values
    kind = load_class(function, hint.class_name)
    return [None if value is None else kind(**value) for value in values]


def _without_null(function: Udf, found: pa.Array) -> pa.Array:
    may = function.result.optional or function.kind == "table"
    if found.null_count and not may and not (function.waiting and function.waiting.gives_null):
        raise _wrong(function, "gave None, and its result is not Optional")
    return found


def _offence(values: list[Any], kind: pa.DataType, error: Exception) -> str:
    """The first value that is not of the type, by its own type: values themselves stay out of errors."""
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    for value in values:
        try:
            pa.array([value], kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return f"gave a value of type {type(value).__name__} that does not become {kind}"
    return f"gave what does not become {kind}: {shorten(error)}"


def _wrong(function: Udf, what: str) -> UdfResultError:
    return UdfResultError(
        f"{function.name}, {function.file.name}:{function.line}: it {what}", hint="mend the type hint or the function"
    )
