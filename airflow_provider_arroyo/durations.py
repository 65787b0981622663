"""Parse durations in DAG arguments.

timedelta(minutes=5)
300                              300 seconds; also 300.0
"300"                            the same, from a template such as "{{ params.seconds }}"
"5 minutes"                      the same
"soon", True, float("nan")       refused, with the name of the parameter
"""

from __future__ import annotations

import math
import re
from datetime import timedelta

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:(second|minute|hour|day)s?)?\s*")


def to_duration(value: timedelta | float | str, name: str) -> timedelta:
    """Return a duration; a number means seconds. Raise ValueError for anything else."""
    match value:
        case timedelta():
            return value
        case str() as text if found := _TEXT.fullmatch(text):
            return _seconds(float(found[1]) * _UNITS.get(found[2], 1), name)
        case int() | float() if not isinstance(value, bool) and math.isfinite(value):
            return _seconds(value, name)
    raise ValueError(f"{name} is a timedelta, a number of seconds, or a text such as '10 minutes', not {value!r}")


def to_optional_duration(value: timedelta | float | str | None, name: str) -> timedelta | None:
    """Return the length of time; None stays None."""
    return None if value is None else to_duration(value, name)


def _seconds(number: float, name: str) -> timedelta:
    try:
        return timedelta(seconds=number)
    except OverflowError:
        raise ValueError(f"{name} is too long: {number} seconds") from None
