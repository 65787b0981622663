"""Functions of the user's, and what they are to the oracle."""

from __future__ import annotations

from engine.udf.declared import UdfFile

FILE = UdfFile(
    "own.py",
    """
from engine.udf import udaf, udf

@udf
def own_next(number: int) -> int:
    return number + 1

@udf
def own_either(text: str | None, other: str | None) -> str | None:
    return other if text is None else text

@udaf
def own_span(values: list[int]) -> int | None:
    return max(values) - min(values) if values else None

@udaf
class own_total:
    def __init__(self) -> None:
        self.sum = self.count = 0

    def add(self, value: int) -> None:
        self.sum, self.count = self.sum + value, self.count + 1

    def merge(self, other: "own_total") -> None:
        self.sum, self.count = self.sum + other.sum, self.count + other.count

    def retract(self, value: int) -> None:
        self.sum, self.count = self.sum - value, self.count - 1

    def finish(self) -> int | None:
        return self.sum if self.count else None
""",
)
MACROS = ("own_next(n) AS (n + 1)", "own_either(one, other) AS coalesce(one, other)")
"""The functions of rows; the aggregate is written out where it is called."""
