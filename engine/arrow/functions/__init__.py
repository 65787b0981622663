"""The functions that Spark has no expression for, computed in its Python workers over whole columns of Arrow.

A kernel is given a column for each argument, of the types the function's declaration asks for, and gives a column as
long. It never raises: Spark computes it for every row, also for those where a CASE takes another branch. Where there is
no answer it gives NULL, which fails the run when the declaration allows no NULL there and the value is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.arrow.functions.arrays import ARRAY_KERNELS
from engine.arrow.functions.hashing import HASH_KERNELS
from engine.arrow.functions.json import JSON_KERNELS
from engine.arrow.functions.kernel import Kernel
from engine.arrow.functions.math import MATH_KERNELS
from engine.arrow.functions.time import TIME_KERNELS

__all__ = ["FUNCTION_KERNELS", "Kernel"]

FUNCTION_KERNELS: Mapping[str, Kernel] = {
    **MATH_KERNELS,
    **HASH_KERNELS,
    **TIME_KERNELS,
    **JSON_KERNELS,
    **ARRAY_KERNELS,
}
