"""Functions of numbers over Arrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pyarrow as pa

from engine.arrow.functions.kernel import Kernel, by_row

_MOST = 2**63 - 1


def _held(function: Callable[..., int]) -> Kernel:
    """NULL where the number does not fit into a BIGINT."""

    def compute(*numbers: int) -> int | None:
        result = function(*numbers)
        return result if -_MOST - 1 <= result <= _MOST else None

    return by_row(compute, pa.int64())


def _power(base: int, exponent: int) -> int:
    if exponent < 0 or (exponent > 63 and abs(base) > 1):
        raise ValueError(exponent)
    return int(base**exponent)


MATH_KERNELS: Mapping[str, Kernel] = {"gcd": _held(math.gcd), "lcm": _held(math.lcm), "power": _held(_power)}
