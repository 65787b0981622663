"""Casts as Spark SQL text, with the spellings and units of the reference engine."""

from __future__ import annotations

from engine import types
from engine.spark.literals import type_to_sql

_MOMENT = "date_format({0}, \"yyyy-MM-dd'T'HH:mm:ss\")"


def cast_to_sql(value: str, source: types.Type, target: types.Type, *, lenient: bool = False) -> str:
    """The text `value`, which is of type `source`, as a `target`; a value that does not fit fails, or is NULL."""
    return f"{'TRY_CAST' if lenient else 'CAST'}({value} AS {type_to_sql(target)})"
