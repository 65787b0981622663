"""Exact sums and means of whole numbers and decimals.

    5_000_000_000                      limbs (705_032_704, 1)        705_032_704 + 1 * 2**32
    -1                                 limbs (4_294_967_295, -1)
    sum                                (4_999_999_999, 0)
    with carry                         (705_032_703, 1)              4_999_999_999

A number is stored as 32-bit limbs in 64-bit columns, so that no partial sum overflows: only a final result can, and
then the run fails with an error.

Sums and means of floating-point numbers that may be retracted.

    add 1e16 and 1.0       sum 1e16, error 1.0, 2 numbers
    retract 1e16           sum 1.0, error 0.0, 1 number          with plain floats the sum would be 0.0

A sum is stored as two numbers with twice the precision, so that retractions leave no residue; infinities and NaN are
only counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import SumOverflowError
from engine.updating.groups import Doubles, Flags, Groups, Longs, valid

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
        """Return the limbs of each group's sum, and how many numbers are in it."""
        numbers = arguments[0]
        parts = _limbs_of_decimals(numbers) if self.limbs == 4 else _limbs_of_integers(numbers)
        summed = _carry([groups.sum_of(part * weights) for part in parts])
        return [*map(pa.array, summed), pa.array(groups.sum_of(weights * valid(numbers)))]

    def of_totals(self, totals: pa.Array, counts: pa.Array) -> list[pa.Array]:
        """Return the columns for existing sums of whole numbers, and how many numbers are in each."""
        return [*map(pa.array, _limbs_of_integers(totals)), counts]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the sums of the limbs, carried over."""
        *limbs, counts = (groups.sum_of(column.to_numpy(zero_copy_only=False)) for column in columns)
        return [*map(pa.array, _carry(limbs)), pa.array(counts)]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the results; NULL if there is no number. Raise SumOverflowError if the sum does not fit."""
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
    """Return the limbs with all but the highest within their 32 bits."""
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


@dataclass(frozen=True, slots=True)
class Extreme:
    """Minimum or maximum; NaN is greater than all numbers. One column: the value."""

    greatest: bool

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return the extreme of each group; rows without a weight are left out."""
        values = arguments[0]
        if (weights == 0).any():
            values = pc.if_else(pa.array(weights != 0), values, pa.scalar(None, values.type))
        return self.merge([values], groups)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the extreme of the extremes."""
        values = columns[0].take(pa.array(groups.order))
        if groups.count == len(values):
            return [values]
        sortable = _sortable(values)
        order = pc.sort_indices(
            pa.table({"group": groups.numbers, "value": sortable}),
            sort_keys=[("group", "ascending"), ("value", "ascending")],
        ).to_numpy()
        # NULLs come last in their group, so the values of a group are its first ones
        counts = np.add.reduceat(valid(values).astype(np.int64), groups.starts)
        place = np.where(counts > 0, groups.starts + (counts - 1 if self.greatest else 0), groups.starts)
        return [values.take(pa.array(order[place]))]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the value itself, NULL if there is none."""
        return columns[0]


def _sortable(values: pa.Array) -> pa.Array:
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    if pa.types.is_duration(values.type):
        return values.cast(pa.int64())
    return values


@dataclass(frozen=True, slots=True)
class Floats:
    """Sum or mean of numbers. The columns are the sum, its error, the numbers of infinite, negative infinite and NaN
    values, and the number of all values."""

    mean: bool

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return the sum of each group."""
        is_valid = valid(arguments[0])
        values = arguments[0].fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        odd: list[Flags] = [np.isposinf(values), np.isneginf(values), np.isnan(values)]
        finite: Doubles = np.where(np.isfinite(values), values, 0.0) * weights
        counts: list[Longs] = [groups.sum_of(weights * (is_odd & is_valid)) for is_odd in odd] + [
            groups.sum_of(weights * is_valid)
        ]
        return [*_exact([finite], groups), *map(pa.array, counts)]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the sums of the sums."""
        sums, lacking, *counts = (column.to_numpy(zero_copy_only=False) for column in columns)
        return [*_exact([sums, lacking], groups), *(pa.array(groups.sum_of(count)) for count in counts)]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the results; NULL if there is no number."""
        sums, lacking, plus, minus, none, counts = (column.to_numpy(zero_copy_only=False) for column in columns)
        result = sums + lacking
        result = np.where(plus > 0, np.inf, np.where(minus > 0, -np.inf, result))
        result = np.where((none > 0) | ((plus > 0) & (minus > 0)), np.nan, result)
        if self.mean:
            result = result / np.where(counts == 0, 1, counts)
        return pa.array(result, mask=counts == 0)


def _exact(parts: Sequence[Doubles], groups: Groups) -> list[pa.Array]:
    ordered = [part[groups.order].tolist() for part in parts]
    sums, lacking = np.zeros(groups.count), np.zeros(groups.count)
    for index, (start, end) in enumerate(zip(groups.starts.tolist(), groups.ends.tolist(), strict=True)):
        numbers = [number for part in ordered for number in part[start:end]]
        if len(numbers) == 1:
            sums[index] = numbers[0]
            continue
        total = _sum(numbers)
        sums[index] = total
        if math.isfinite(total):
            lacking[index] = math.fsum([*numbers, -total])
    return [pa.array(sums), pa.array(lacking)]


def _sum(numbers: list[float]) -> float:
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf if sum(1 if number > 0 else -1 for number in numbers) > 0 else -math.inf
