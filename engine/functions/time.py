"""Functions of time; everything is in UTC, weeks start on Monday, and no function reads a clock."""

from __future__ import annotations

from engine.functions.base import ANY_CONSTANT, Function, Resolve, first_of, takes
from engine.functions.formats import to_java_pattern
from engine.functions.parameters import instant, only_number, whole
from engine.types import BIGINT, DOUBLE, INT, TEXT, TIMESTAMP, Date, Interval

TRUNCATED_TO = frozenset(
    {"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}
)
PARTS = TRUNCATED_TO | {"dow", "isodow", "doy", "isoyear", "epoch"}


def _is_pattern(text: str) -> bool:
    return to_java_pattern(text) is not None


def _time(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "time", usage, doc, resolve, aliases)


def _counted(name: str, unit: str, *aliases: str) -> Function:
    doc = f"The instant so many {unit} after the epoch; NULL for NULL."
    return _time(name, f"{name}(number)", doc, takes(whole, result=TIMESTAMP), *aliases)


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
    ),
    _time(
        "to_timestamp",
        "to_timestamp(value)",
        "The instant that a text or a number of seconds after the epoch stands for; NULL for NULL.",
        first_of(
            takes(instant, result=TIMESTAMP),
            takes(whole, result=TIMESTAMP),
            takes(only_number, result=TIMESTAMP),
            takes(TEXT, result=TIMESTAMP),
        ),
    ),
    _counted("to_timestamp_seconds", "seconds", "from_unixtime"),
    _counted("to_timestamp_millis", "milliseconds"),
    _counted("to_timestamp_micros", "microseconds"),
    _counted("to_timestamp_nanos", "nanoseconds"),
    _time(
        "to_unixtime",
        "to_unixtime(timestamp)",
        "The whole seconds between 1970 and the instant, rounded down; NULL for NULL.",
        takes(instant, result=BIGINT),
    ),
    Function(
        "to_char",
        "time",
        "to_char(timestamp, format)",
        "The instant as text in a constant format such as '%Y-%m-%d %H:%M' or 'YYYY-MM-DD HH24:MI'; NULL for NULL.",
        takes(instant, TEXT, result=TEXT),
        choices={1: ANY_CONSTANT},
        checks={1: _is_pattern},
    ),
    _time(
        "make_date",
        "make_date(year, month, day)",
        "That day; one that does not exist fails the run; NULL when an argument is.",
        takes(whole, whole, whole, result=Date()),
    ),
)
