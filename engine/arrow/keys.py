"""Group rows by equal keys, and sort rows, as numbers.

keys       (a, 1) (b, 1) (a, 1) (a, NULL)
groups     0      2      0      1             equal keys have equal numbers; NULL is a value
pairs with ("a", 1) and (NULL, 1)             rows 0 and 2 with row 0, and none with NULL
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.arrow.evaluate import evaluate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.plan.nodes import Order

    Numbers = NDArray[np.int64]


class TooManyPairs(Exception):  # noqa: N818 - it is no error: whoever meets it goes another way
    """A join has more row pairs than the limit."""


def groups_of(columns: Sequence[pa.Array], rows: int) -> Numbers:
    """Return a number for each row, the same for rows that have the same values in all columns, and only for them."""
    groups = np.zeros(rows, np.int64)
    for column in flat(columns):
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        groups = np.unique(groups * max(len(encoded.dictionary), 1) + codes, return_inverse=True)[1].astype(np.int64)
    return groups


def flat(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Return the columns, and in the place of a struct its members, which are NULL where it is, and whether it is
    there."""
    found: list[pa.Array] = []
    for column in columns:
        if pa.types.is_struct(column.type):
            found += [*flat(column.flatten()), column.is_valid().cast(pa.int8())]
        else:
            found.append(column)
    return found


def pairs_of(
    left: Sequence[pa.Array], right: Sequence[pa.Array], rows: tuple[int, int], most: int
) -> tuple[Numbers, Numbers]:
    """Return the places of each pair of rows whose keys are equal and not NULL, on the left and on the right, in the
    order of the left. With more than `most` of them nothing is made."""
    both = [pa.concat_arrays([ours, theirs]) for ours, theirs in zip(left, right, strict=True)]
    groups = groups_of(both, sum(rows))
    for column in both:
        groups[column.is_null().to_numpy(zero_copy_only=False)] = -1
    ours, theirs = groups[: rows[0]], groups[rows[0] :]
    sorted_places = np.argsort(theirs, kind="stable")
    sorted_groups = theirs[sorted_places]
    first = np.searchsorted(sorted_groups, ours, "left")
    counts = np.where(ours < 0, 0, np.searchsorted(sorted_groups, ours, "right") - first)
    count = int(counts.sum())
    if count > most:
        raise TooManyPairs(count)
    places = np.repeat(np.arange(rows[0]), counts)
    within = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, sorted_places[np.repeat(first, counts) + within]


def orders_of(order: Sequence[Order], rows: pa.RecordBatch) -> list[Numbers]:
    """Return, for each part of an order, numbers in that order, with NULL on its declared side."""
    return [_numbers_of(part, evaluate(part.expr, rows)) for part in order]


def _numbers_of(part: Order, values: pa.Array) -> Numbers:
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    # NaN is behind all other numbers, as it is in Spark
    ranks = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False)
    numbers: Numbers = ranks.astype(np.int64) * (-1 if part.descending else 1)
    beyond = np.int64(len(values) + 1)
    numbers[values.is_null().to_numpy(zero_copy_only=False)] = -beyond if part.nulls_first else beyond
    return numbers
