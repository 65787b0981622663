"""Ids of rows that are combined from other ids: equal parts give equal ids.

Operators store them, and sinks know them, so the computation must never change.
"""

from __future__ import annotations

import numpy as np

from engine.updating.groups import Longs

_SPREAD = np.int64(-0x61C8864680B583EB)
"""2**64 divided by the golden ratio, made odd: multiplication by it spreads neighbouring numbers."""


def mixed(numbers: Longs) -> Longs:
    """The numbers with every bit spread over all others."""
    with np.errstate(over="ignore"):
        multiplied: Longs = (numbers ^ (numbers >> 31)) * _SPREAD
        return multiplied ^ (multiplied >> 29)


def combined(first: Longs, second: Longs) -> Longs:
    """A number for each pair of numbers, another one when they are swapped."""
    with np.errstate(over="ignore"):
        return mixed(mixed(first) * np.int64(31) + second)
