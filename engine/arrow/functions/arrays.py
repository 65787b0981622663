"""Array functions over Arrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

import pyarrow as pa

from engine import types
from engine.arrow.functions.kernel import Kernel, by_row

_LONGEST = 10_000_000
"""Largest length of a resulting array: one longer row would fill a worker's memory."""


def _rows(columns: tuple[pa.Array, ...]) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _edit(change: Callable[..., list[Any] | None]) -> Kernel:
    """Return a kernel that computes an array from its first argument; NULL for NULL."""

    def compute(*columns: pa.Array) -> pa.Array:
        return pa.array([None if row[0] is None else change(*row) for row in _rows(columns)], columns[0].type)

    return compute


def _slice(values: list[Any], first: int | None, last: int | None, step: int | None = 1) -> list[Any] | None:
    if first is None or last is None or step is None or step == 0:
        return None
    size = len(values)
    start = max(first - 1, 0) if first >= 0 else size + first
    end = last - 1 if last >= 0 else size + last
    if step > 0:
        return values[max(start, 0) : min(end, size - 1) + 1 : step] if end >= 0 else []
    start = min(start, size - 1)
    return [values[index] for index in range(start, max(end, 0) - 1, step)] if size else []


def _resize(values: list[Any], size: int | None, fill: Any = None) -> list[Any] | None:
    if size is None or not 0 <= size <= _LONGEST:
        return None
    return [*values[:size], *[fill] * (size - len(values))]


def _replace(values: list[Any], old: Any, new: list[Any], most: int) -> list[Any]:
    elements: list[Any] = []
    for value in values:
        hit = most > 0 and value == old
        most -= hit
        elements.extend(new if hit else (value,))
    return elements


def _remove_n(values: list[Any], old: Any, most: int | None) -> list[Any] | None:
    return None if most is None else _replace(values, old, [], most)


def _replace_n(values: list[Any], old: Any, new: Any, most: int | None) -> list[Any] | None:
    return None if most is None else _replace(values, old, [new], most)


def _position(arrays: pa.Array, values: pa.Array, starts: pa.Array | None = None) -> pa.Array:
    froms = [1] * len(arrays) if starts is None else starts.to_pylist()
    rows = zip(arrays.to_pylist(), values.to_pylist(), froms, strict=True)
    return pa.array([_first(array, value, start) for array, value, start in rows], pa.int64())


def _first(array: list[Any] | None, value: Any, start: int | None) -> int | None:
    if array is None or start is None or start < 1:
        return None
    return next((index for index, element in enumerate(array, 1) if index >= start and element == value), None)


def _positions(arrays: pa.Array, values: pa.Array) -> pa.Array:
    lists = [
        None if array is None else [index for index, element in enumerate(array, 1) if element == value]
        for array, value in _rows((arrays, values))
    ]
    return pa.array(lists, pa.list_(pa.int64()))


def _split(texts: pa.Array, separators: pa.Array, nulls: pa.Array | None = None) -> pa.Array:
    missing = [None] * len(texts) if nulls is None else nulls.to_pylist()
    rows = zip(texts.to_pylist(), separators.to_pylist(), missing, strict=True)
    return pa.array([_parts(*row) for row in rows], pa.list_(pa.string()))


def _parts(text: str | None, separator: str | None, null: str | None) -> list[str | None] | None:
    if text is None:
        return None
    parts = list(text) if separator is None else text.split(separator) if separator else [text]
    return [None if null is not None and part == null else part for part in parts]


def _series(with_end: bool) -> Kernel:
    def compute(*columns: pa.Array) -> pa.Array:
        kind = columns[0].type
        rows = ((0, *row) if len(row) == 1 else row for row in _rows(columns))
        return pa.array([_steps(with_end, *row) for row in rows], pa.list_(kind))

    return compute


def _steps(with_end: bool, first: Any, last: Any, step: Any = 1) -> list[Any] | None:
    if first is None or last is None or not step:
        return None
    if isinstance(first, date) and not isinstance(first, datetime) and step % timedelta(days=1):
        return None
    steps = list(islice(_walk(first, last, step, with_end), _LONGEST + 1))
    return steps if len(steps) <= _LONGEST else None


def _walk(value: Any, last: Any, step: Any, with_end: bool) -> Iterator[Any]:
    forward = step > type(step)()
    while (value < last if forward else value > last) or (with_end and value == last):
        yield value
        try:
            value += step
        except OverflowError:
            return


ARRAY_KERNELS: Mapping[str, Kernel] = {
    "array_slice": _edit(_slice),
    "array_resize": _edit(_resize),
    "array_remove": _edit(lambda values, old: _replace(values, old, [], 1)),
    "array_remove_n": _edit(_remove_n),
    "array_remove_all": _edit(lambda values, old: _replace(values, old, [], len(values))),
    "array_replace": _edit(lambda values, old, new: _replace(values, old, [new], 1)),
    "array_replace_n": _edit(_replace_n),
    "array_replace_all": _edit(lambda values, old, new: _replace(values, old, [new], len(values))),
    "array_position": _position,
    "array_positions": _positions,
    "string_to_array": _split,
    "generate_series": _series(with_end=True),
    "range": _series(with_end=False),
}


def _within_bigint(function: Callable[..., int]) -> Kernel:
    """Return a kernel that gives NULL if the number does not fit a BIGINT."""

    def compute(*numbers: int) -> int | None:
        result = function(*numbers)
        return result if types.BIGINT.holds(result) else None

    return by_row(compute, pa.int64())


def _power(base: int, exponent: int) -> int:
    # above 63 only the powers of -1, 0 and 1 fit; others are not even computed, since they could take all memory
    if exponent < 0 or (exponent > 63 and abs(base) > 1):
        raise ValueError(exponent)
    return int(base**exponent)


MATH_KERNELS: Mapping[str, Kernel] = {
    "gcd": _within_bigint(math.gcd),
    "lcm": _within_bigint(math.lcm),
    "power": _within_bigint(_power),
}
