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
""",
)
MACROS = ("own_next(n) AS (n + 1)", "own_either(one, other) AS coalesce(one, other)")
"""The functions of rows; the aggregate is written out where it is called."""
