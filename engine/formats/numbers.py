"""Rules for numbers in text formats: finite, in range, and decimals rounded like CAST.

1e999, 1e39      too large for DOUBLE, for FLOAT: OverflowError
"inf", "NaN"     not a number: ValueError
1.005            1.01 as DECIMAL(10, 2)
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext

from engine import types

NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
"""Spellings of non-finite numbers in Protobuf and Java."""
_TOO_LARGE = float.fromhex("0x1.ffffffp+127")
"""Smallest double that becomes infinity in 32 bits."""


def finite(value: float | str, kind: types.Float) -> float:
    """Return a number, or that of a text. Raises OverflowError if it is out of range, ValueError if it is none."""
    if isinstance(value, str) and not any(letter.isdecimal() for letter in value):
        raise ValueError(value)
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    number = float(value)
    if not math.isfinite(number) or (kind.bits == 32 and abs(number) >= _TOO_LARGE):
        raise OverflowError(value)
    return number


def fitting(number: Decimal, kind: types.Decimal) -> Decimal:
    """Return the number with the places of the type, rounded half away from zero. Raises InvalidOperation if it has
    too many digits before the point."""
    with localcontext(prec=kind.precision):
        return number.quantize(Decimal(1).scaleb(-kind.scale), rounding=ROUND_HALF_UP)
