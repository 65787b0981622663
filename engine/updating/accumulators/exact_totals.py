"""Exact sums and means of whole numbers and decimals.

    5_000_000_000                      limbs (705_032_704, 1)        705_032_704 + 1 * 2**32
    -1                                 limbs (4_294_967_295, -1)
    sum                                (4_999_999_999, 0)
    with carry                         (705_032_703, 1)              4_999_999_999

A number is stored as 32-bit limbs in 64-bit columns, so that no partial sum overflows: only a final result can, and
then the run fails with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa

from engine.errors import SumOverflowError
from engine.updating.groups import Groups, Longs, valid

_BITS = 32
"""Half of a column's width: 2**31 limbs can be added before an overflow."""
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class Whole:
    """Sum of numbers, or mean of decimals. The columns are the limbs, lowest first, then the number of values."""

    type: pa.DataType
    limbs: int
    mean: bool = False
    scale: int = 0

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """The limbs of each group's sum, and how many numbers are in it."""
        numbers = arguments[0]
        parts = _limbs_of_decimals(numbers) if self.limbs == 4 else _limbs_of_integers(numbers)
        summed = _carry([groups.sum_of(part * weights) for part in parts])
        return [*map(pa.array, summed), pa.array(groups.sum_of(weights * valid(numbers)))]

    def of_totals(self, totals: pa.Array, counts: pa.Array) -> list[pa.Array]:
        """The columns for sums of whole numbers that somebody has made, and how many numbers are in each."""
        return [*map(pa.array, _limbs_of_integers(totals)), counts]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The sums of the limbs, carried over."""
        *limbs, counts = (groups.sum_of(column.to_numpy(zero_copy_only=False)) for column in columns)
        return [*map(pa.array, _carry(limbs)), pa.array(counts)]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """NULL when there is no number. Raises SumOverflowError when the sum does not fit."""
        *limbs, counts = (column.to_numpy(zero_copy_only=False) for column in columns)
        if self.mean:
            return self._means(limbs, counts)
        return self._decimals(limbs, counts) if self.limbs == 4 else self._integers(limbs, counts)

    def _integers(self, limbs: Sequence[Longs], counts: Longs) -> pa.Array:
        low, high = limbs
        if len(high) and (high.max() >= 1 << 31 or high.min() < -(1 << 31)):
            raise SumOverflowError("a sum is out of the range of BIGINT", hint=_HINT)
        return pa.array((high << _BITS) + low, mask=counts == 0).cast(self.type)

    def _decimals(self, limbs: Sequence[Longs], counts: Longs) -> pa.Array:
        sums = _whole_numbers(limbs)
        bound = 10**self.type.precision
        if any(abs(number) >= bound for number in sums):
            raise SumOverflowError(f"a sum is out of the range of {self.type}", hint=_HINT)
        pairs = zip(sums, counts, strict=True)
        return pa.array([_scale(number, self.scale) if count else None for number, count in pairs], self.type)

    def _means(self, limbs: Sequence[Longs], counts: Longs) -> pa.Array:
        pairs = zip(_whole_numbers(limbs), counts, strict=True)
        unit = Decimal(1).scaleb(-self.type.scale)
        with localcontext(prec=80, rounding=ROUND_HALF_UP):
            means = [(_scale(total, self.scale) / int(n)).quantize(unit) if n else None for total, n in pairs]
        return pa.array(means, self.type)


_HINT = "sum a wider type: cast the number to DECIMAL(38, 0) or to DOUBLE inside the sum"


def _limbs_of_integers(numbers: pa.Array) -> list[Longs]:
    values = numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return [values & _MASK, values >> _BITS]


def _limbs_of_decimals(numbers: pa.Array) -> list[Longs]:
    filled = numbers.fill_null(pa.scalar(Decimal(0), numbers.type)) if numbers.null_count else numbers
    halves = np.frombuffer(filled.buffers()[1], np.int64).reshape(-1, 2)[filled.offset : filled.offset + len(filled)]
    low, high = halves[:, 0], halves[:, 1]
    return [low & _MASK, (low >> _BITS) & _MASK, high & _MASK, high >> _BITS]


def _carry(limbs: Sequence[Longs]) -> list[Longs]:
    """The limbs with all but the highest within their 32 bits."""
    carried = []
    carry = np.zeros_like(limbs[0])
    for limb in limbs[:-1]:
        total = limb + carry
        carried.append(total & _MASK)
        carry = total >> _BITS
    return [*carried, limbs[-1] + carry]


def _whole_numbers(limbs: Sequence[Longs]) -> list[int]:
    columns = [limb.tolist() for limb in limbs]
    return [sum(part << (_BITS * place) for place, part in enumerate(row)) for row in zip(*columns, strict=True)]


def _scale(number: int, scale: int) -> Decimal:
    with localcontext(prec=80):
        return Decimal(number).scaleb(-scale)
