"""Time functions. All times are UTC, and weeks start on Monday. Functions that read a clock use the time of the epoch,
so that a repeated epoch gives the same result, except above a closed window."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from engine.functions.base import (
    ANY_CONSTANT,
    Function,
    Resolve,
    first_of,
    instant,
    never,
    only_number,
    takes,
    takes_many,
    whole,
)
from engine.functions.parsers.strftime import can_read, is_format
from engine.functions.parsers.time_patterns import in_strftime
from engine.types import BIGINT, DOUBLE, INT, TEXT, TIMESTAMP, Date, Interval, Type

TRUNCATED_TO = frozenset(
    {"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}
)
_UNITS = TRUNCATED_TO | {f"{unit}s" for unit in TRUNCATED_TO}
PARTS = TRUNCATED_TO | {f"{unit}s" for unit in TRUNCATED_TO} | {"dow", "isodow", "doy", "isoyear", "epoch"}
_OFFSET = re.compile("[+-][01][0-9]:[0-5][0-9]")
_FORMAT = takes_many(TEXT, first=(TEXT,), least=0, result=TIMESTAMP)


def _time(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "time", usage, doc, resolve, aliases)


def _has_no_width(constants: Sequence[object]) -> str | None:
    """Return why a constant width cannot divide time; None if it can."""
    width = constants[0]
    return "the width must be more than 0" if isinstance(width, timedelta) and width <= timedelta(0) else None


def _read(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(
        name,
        "time",
        usage,
        f"{doc}; {_FAILS}",
        resolve,
        aliases,
        checks=dict.fromkeys(range(1, _MOST_CHECKED), can_read),
        advice=_in_strftime,
        is_computed=True,
    )


def _unix_time(name: str, unit: str, *aliases: str) -> Function:
    doc = f"The instant that many {unit} after the epoch, or that a text stands for, cut to whole {unit}"
    resolve = first_of(takes(whole, result=TIMESTAMP), takes(instant, result=TIMESTAMP), _FORMAT)
    return _read(name, f"{name}(value [, format, ...])", doc, resolve, *aliases)


def _clock(name: str, doc: str, result: Type, *aliases: str) -> Function:
    return Function(name, "time", f"{name}()", doc, takes(result=result), aliases, nullable=never, deterministic=False)


def _is_zone(name: str) -> bool:
    """Whether it is the name of a time zone, or an offset such as +02:00."""
    if _OFFSET.fullmatch(name):
        return True
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return False
    return True


def _in_strftime(pattern: str) -> str | None:
    spelled = in_strftime(pattern)
    return None if spelled is None else f"write {spelled!r}"


_MOST_CHECKED = 10
"""Number of formats in one call that are checked at compile time; the run checks the rest."""
_FAILS = "a text that fits none of the formats fails the run; NULL when an argument is."

TIME_FUNCTIONS = (
    Function(
        "date_trunc",
        "time",
        "date_trunc(unit, timestamp)",
        "The start of the second, minute, hour, day, week, month, quarter or year of the instant; NULL for NULL.",
        takes(TEXT, instant, result=TIMESTAMP),
        ("datetrunc",),
        choices={0: TRUNCATED_TO},
    ),
    Function(
        "date_part",
        "time",
        "date_part(part, timestamp)",
        "That part of the instant as INT (dow: Sunday is 0, week: ISO), or its epoch seconds as DOUBLE; NULL for NULL.",
        takes(TEXT, instant, result=INT),
        ("datepart", "extract"),
        choices={0: PARTS},
        variants={"epoch": "epoch"},
    ),
    _time(
        "epoch",
        "epoch(timestamp)",
        "The seconds between 1970 and the instant, or in the interval, as DOUBLE; NULL for NULL.",
        first_of(takes(instant, result=DOUBLE), takes(Interval(), result=DOUBLE)),
    ),
    Function(
        "date_bin",
        "time",
        "date_bin(width, timestamp [, origin])",
        "The instant rounded down to a constant width, counted from the origin or 1970; NULL when an argument is.",
        takes(Interval(), instant, instant, result=TIMESTAMP, optional=1),
        choices={0: ANY_CONSTANT},
        refuses=_has_no_width,
    ),
    _read(
        "to_timestamp",
        "to_timestamp(value [, format, ...])",
        "The instant that a text, or a number of seconds after the epoch, stands for; formats as in '%Y-%m-%d %H:%M'",
        first_of(
            takes(instant, result=TIMESTAMP),
            takes(whole, result=TIMESTAMP),
            takes(only_number, result=TIMESTAMP),
            _FORMAT,
        ),
    ),
    _unix_time("to_timestamp_seconds", "seconds"),
    _unix_time("to_timestamp_millis", "milliseconds"),
    _unix_time("to_timestamp_micros", "microseconds"),
    _unix_time("to_timestamp_nanos", "nanoseconds"),
    _time(
        "from_unixtime",
        "from_unixtime(seconds)",
        "The instant that many seconds after the epoch; NULL for NULL.",
        takes(whole, result=TIMESTAMP),
    ),
    _read(
        "to_unixtime",
        "to_unixtime(value [, format, ...])",
        "The whole seconds between 1970 and the instant, rounded down",
        first_of(takes(instant, result=BIGINT), takes_many(TEXT, first=(TEXT,), least=0, result=BIGINT)),
    ),
    _read(
        "to_date",
        "to_date(value [, format, ...])",
        "The day of an instant or a text, or that many days after the epoch",
        first_of(
            takes(instant, result=Date()),
            takes(whole, result=Date()),
            takes_many(TEXT, first=(TEXT,), least=0, result=Date()),
        ),
    ),
    _time(
        "to_local_time",
        "to_local_time(timestamp)",
        "The instant as the clock of its time zone shows it, which is always UTC; NULL for NULL.",
        takes(instant, result=TIMESTAMP),
    ),
    Function(
        "to_char",
        "time",
        "to_char(timestamp, format)",
        "The instant as text in a format such as '%Y-%m-%d %H:%M' or 'YYYY-MM-DD HH24:MI'; NULL when either is.",
        takes(instant, TEXT, result=TEXT),
        ("date_format",),
        checks={1: is_format},
        advice=_in_strftime,
        is_computed=True,
    ),
    _clock("now", "The time of the epoch; never NULL.", TIMESTAMP, "current_timestamp"),
    _clock("current_date", "The day of now(); never NULL.", Date(), "today"),
    _clock("current_time", "The time of day of now(), as text; never NULL.", TEXT),
    _clock("row_time", "The event time of the row; never NULL.", TIMESTAMP),
    _time(
        "add_months",
        "timestamp + INTERVAL '1 month'",
        "The same day and time that many months later, or the month's last day where it is shorter; NULL when "
        "either is.",
        takes(instant, whole, result=TIMESTAMP),
    ),
    Function(
        "timestampadd",
        "time",
        "timestampadd(unit, count, timestamp)",
        "The instant that many units later; of months and years as with an INTERVAL; NULL when an argument is.",
        takes(TEXT, whole, instant, result=TIMESTAMP),
        choices={0: _UNITS},
    ),
    Function(
        "timestampdiff",
        "time",
        "timestampdiff(unit, start, end)",
        "How many whole units lie between both instants, negative if the end is first; NULL when an argument is.",
        takes(TEXT, instant, instant, result=BIGINT),
        choices={0: _UNITS},
    ),
    Function(
        "date_diff",
        "time",
        "date_diff(unit, start, end)",
        "How many units begin after the start and up to the end, such as midnights; NULL when an argument is.",
        takes(TEXT, instant, instant, result=BIGINT),
        choices={0: _UNITS},
    ),
    Function(
        "from_utc_timestamp",
        "time",
        "from_utc_timestamp(timestamp, zone)",
        "What the clocks of a zone such as 'Europe/Berlin' show at the instant; NULL when either is.",
        takes(instant, TEXT, result=TIMESTAMP),
        choices={1: ANY_CONSTANT},
        checks={1: _is_zone},
    ),
    Function(
        "to_utc_timestamp",
        "time",
        "to_utc_timestamp(timestamp, zone)",
        "The instant at which the clocks of a zone show this time; the first of two, and later by the gap for a time "
        "that is skipped; NULL when either is.",
        takes(instant, TEXT, result=TIMESTAMP),
        choices={1: ANY_CONSTANT},
        checks={1: _is_zone},
    ),
    _time(
        "make_date",
        "make_date(year, month, day)",
        "That day; one that does not exist fails the run; NULL when an argument is.",
        takes(whole, whole, whole, result=Date()),
    ),
)
