"""Functions of the user's, and what they are to the oracle."""

from __future__ import annotations

from engine.udf.declared import UdfFile

_FUNCTIONS = """
from collections import Counter
from engine.udf import udaf, udf

@udf
def own_next(number: int) -> int:
    return number + 1

@udf
def own_either(text: str | None, other: str | None) -> str | None:
    return other if text is None else text

"""
_AGGREGATE_OF_LISTS = """
@udaf
def own_span(values: list[int]) -> int | None:
    return max(values) - min(values) if values else None
"""
_AGGREGATE_CLASS = """
@udaf
class own_span:
    def __init__(self) -> None:
        self.seen = Counter()

    def add(self, number: int) -> None:
        self.seen[number] += 1

    def retract(self, number: int) -> None:
        assert self.seen[number] > 0, "goes before it came"
        self.seen[number] -= 1

    def finish(self) -> int | None:
        there = +self.seen
        return max(there) - min(there) if there else None
"""
_MERGE = """
    def merge(self, other: "own_span") -> None:
        self.seen.update(other.seen)
"""


def own_functions(seed: int) -> UdfFile:
    """The functions of a case; its aggregate takes lists, or rows one by one, in turn."""
    return UdfFile("own.py", _FUNCTIONS + (_AGGREGATE_OF_LISTS, _AGGREGATE_CLASS, _AGGREGATE_CLASS + _MERGE)[seed % 3])


MACROS = ("own_next(n) AS (n + 1)", "own_either(one, other) AS coalesce(one, other)")
"""The functions of rows; the aggregate is written out where it is called."""
