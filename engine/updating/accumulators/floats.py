"""Sums and means of floating-point numbers that may be retracted.

    add 1e16 and 1.0       sum 1e16, error 1.0, 2 numbers
    retract 1e16           sum 1.0, error 0.0, 1 number          with plain floats the sum would be 0.0

A sum is stored as two numbers with twice the precision, so that retractions leave no residue; infinities and NaN are
only counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.updating.groups import Doubles, Flags, Groups, Longs, valid


@dataclass(frozen=True, slots=True)
class Floats:
    """Sum or mean of numbers. The columns are the sum, its error, the numbers of infinite, negative infinite and NaN
    values, and the number of all values."""

    mean: bool

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """The sum of each group."""
        is_valid = valid(arguments[0])
        values = arguments[0].fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        odd: list[Flags] = [np.isposinf(values), np.isneginf(values), np.isnan(values)]
        finite: Doubles = np.where(np.isfinite(values), values, 0.0) * weights
        counts: list[Longs] = [groups.sum_of(weights * (is_odd & is_valid)) for is_odd in odd] + [
            groups.sum_of(weights * is_valid)
        ]
        return [*_exact([finite], groups), *map(pa.array, counts)]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The sums of the sums."""
        sums, lacking, *counts = (column.to_numpy(zero_copy_only=False) for column in columns)
        return [*_exact([sums, lacking], groups), *(pa.array(groups.sum_of(count)) for count in counts)]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """NULL when there is no number."""
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
