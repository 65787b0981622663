"""Numeric functions over Arrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pyarrow as pa

from engine import types
from engine.arrow.functions.kernel import Kernel, by_row


def _within_bigint(function: Callable[..., int]) -> Kernel:
    """NULL where the number does not fit into a BIGINT."""

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
