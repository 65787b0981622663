"""Kernels of functions that Spark lacks. Spark's Python workers run them over Arrow columns.

A kernel gets a column per argument, of the declared types, and returns a column of the same length. It never raises,
because Spark evaluates it for all rows, including those where a CASE takes another branch. If there is no result it
returns NULL; if the declaration forbids NULL and the value is used, the run fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.arrow.functions.arrays import ARRAY_KERNELS, MATH_KERNELS
from engine.arrow.functions.hashing import HASH_KERNELS
from engine.arrow.functions.json import JSON_KERNELS
from engine.arrow.functions.kernel import Kernel
from engine.arrow.functions.regex import REGEX_KERNELS
from engine.arrow.functions.time import TIME_KERNELS

__all__ = ["FUNCTION_KERNELS", "HELPER_KERNELS", "Kernel"]

FUNCTION_KERNELS: Mapping[str, Kernel] = {
    **MATH_KERNELS,
    **HASH_KERNELS,
    **TIME_KERNELS,
    **JSON_KERNELS,
    **ARRAY_KERNELS,
}
HELPER_KERNELS: Mapping[str, Kernel] = {**REGEX_KERNELS}
"""Kernels of parts of functions, which no script can call."""
