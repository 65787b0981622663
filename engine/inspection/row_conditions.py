"""Parse row filters of the command line: `COLUMN=VALUE`, where both may contain `=`.

user=7              the column user
note=a=b            the column note with the value a=b, or the column note=a with the value b: whichever exists
(kind = 'a')=true   the column (kind = 'a'), which is the name of an expression
tags=["a", 1]       the column tags, compared as JSON values: also tags=["a",1]
"""

from __future__ import annotations

import json
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


def is_met(condition: str, values: Mapping[str, object]) -> bool:
    """Whether a row with these plain values, by column, has the value in the column that the condition is about."""
    return any(
        column in values and _is_spelled(values[column], condition[len(column) + 1 :])
        for column in columns_meant(condition)
    )


def _is_spelled(value: object, text: str) -> bool:
    """Whether a text is one of those that a value is shown as."""
    if isinstance(value, str):
        return text == value
    if value is None and text == "NULL":
        return True
    try:
        return _canonical(text) == _canonical(json.dumps(value))
    except (ValueError, RecursionError):
        return False


def _canonical(text: str) -> str:
    """The one spelling of a JSON value; JavaScript says 2 for 2.0."""
    return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value
