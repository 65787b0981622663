"""Functions of numbers over Arrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pyarrow as pa

from engine.functions.arrow.kernel import Kernel, by_row

_MOST = 2**63 - 1


def _held(function: Callable[..., int]) -> Kernel:
    """NULL where the number does not fit into a BIGINT."""

    def compute(*numbers: int) -> int | None:
        result = function(*numbers)
        return result if result <= _MOST else None

    return by_row(compute, pa.int64())


MATH_KERNELS: Mapping[str, Kernel] = {"gcd": _held(math.gcd), "lcm": _held(math.lcm)}
