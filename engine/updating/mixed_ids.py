"""Ids of rows that are made of others: equal parts give equal ids.

They are kept in the state of the operators above, and known to sinks: how they are made must never change.
"""

from __future__ import annotations

import numpy as np

from engine.updating.groups import Longs

_SPREAD = np.int64(-0x61C8864680B583EB)
"""2**64 divided by the golden ratio, made odd: what is multiplied by it falls far from its neighbours."""


def mixed(numbers: Longs) -> Longs:
    """The numbers with every bit spread over all others."""
    with np.errstate(over="ignore"):
        multiplied: Longs = (numbers ^ (numbers >> 31)) * _SPREAD
        return multiplied ^ (multiplied >> 29)


def combined(first: Longs, second: Longs) -> Longs:
    """A number for each pair of numbers, another one when they are swapped."""
    with np.errstate(over="ignore"):
        return mixed(mixed(first) * np.int64(31) + second)
