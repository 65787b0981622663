"""Conditions on rows as people type them: `COLUMN=VALUE`, where both may have a `=` in them.

user=7              the column user
note=a=b            the column note with the value a=b, or the column note=a with the value b: whichever there is
(kind = 'a')=true   the column (kind = 'a'), which an expression is called by
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import RequestError


def refuse_without_value(conditions: Sequence[str]) -> None:
    """Refuse conditions that name a column only."""
    for condition in conditions:
        if "=" not in condition:
            raise RequestError(f"key {condition!r} names no value", hint="write it as COLUMN=VALUE")


def columns_meant(condition: str) -> Sequence[str]:
    """The columns that a condition may be about, however they are called."""
    return [condition[:at] for at, letter in enumerate(condition) if letter == "="]


def is_met(condition: str, values: Mapping[str, str]) -> bool:
    """Whether a row with these values, by column, has the value in the column that the condition is about."""
    return any(
        column in values and values[column] == condition[len(column) + 1 :] for column in columns_meant(condition)
    )
