"""What is retained of the values of a group while rows may still come, or be taken back.

    retention   values that come     retained                then 4 is taken back
    TOTAL       3, 4, 4              total 11, 3 values      total 7, 2 values
    GREATEST    3, 4, 4              4                       not known: what was below 4 is gone
    VALUES      3, 4, 4              3 once, 4 twice         3 once, 4 once

So a greatest value needs all values as soon as rows may be taken back, and so does everything of different values
for which it matters how often one comes.
"""

from __future__ import annotations

from enum import Enum, auto


class Retention(Enum):
    """What the values of a group are summed up in. `engine.updating.accumulators` has the columns of each."""

    COUNT = auto()
    TOTAL = auto()
    MEAN = auto()
    EVERY_TRUE = auto()
    ANY_TRUE = auto()
    PARITY = auto()
    LEAST = auto()
    GREATEST = auto()
    MOMENTS = auto()
    VALUES = auto()

    @property
    def is_invertible(self) -> bool:
        """Whether a value that is taken back can be taken off again exactly. The squares of moments cannot: about
        another centre they have lost digits."""
        return self not in (Retention.LEAST, Retention.GREATEST, Retention.MOMENTS, Retention.VALUES)
