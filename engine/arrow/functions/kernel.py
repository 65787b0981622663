"""The type of a kernel, and a wrapper that makes one from a function of single values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

Kernel: TypeAlias = Callable[..., pa.Array]


def by_row(function: Callable[..., object], kind: pa.DataType) -> Kernel:
    """Return a kernel that goes row by row: NULL where an argument is NULL, or where the function raises a
    ValueError."""

    def compute(*columns: pa.Array) -> pa.Array:
        return pa.array(
            [_value(function, row) for row in zip(*(column.to_pylist() for column in columns), strict=True)], kind
        )

    return compute


def _value(function: Callable[..., object], arguments: tuple[object, ...]) -> object:
    if None in arguments:
        return None
    try:
        return function(*arguments)
    except ValueError:
        return None
