"""Parse durations in DAG arguments.

timedelta(minutes=5)
300                              300 seconds; also 300.0
"300"                            the same, from a template such as "{{ params.seconds }}"
"5 minutes"                      the same
"soon", True, float("nan")       refused, with the name of the parameter

Range of event time of a run, from its data interval or its schedule.

schedule                                 data interval          range of the run of 06:00
CronDataIntervalTimetable("@hourly")     05:00 to 06:00         05:00 to 06:00, the data interval
"@hourly" in Airflow 3                   06:00 to 06:00, empty  05:00 to 06:00, from the previous run to this one
"@hourly", started by hand at 06:17      06:17 to 06:17, empty  05:00 to 06:00, the last complete one
timedelta(hours=1)                       06:00 to 06:00, empty  05:00 to 06:00
None, "@once", assets                    none, or empty         none: set start and end
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_arroyo.errors import EmptyIntervalError, NoDataIntervalError

if TYPE_CHECKING:
    from airflow.sdk import Context

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


def past_or_end_of_interval(past: datetime | str | None, context: Context, asker: str) -> datetime:
    """Return the instant `past`, or the end of the run's data interval; raise for a run without one."""
    if past is not None:
        return to_instant(past, "past")
    end: datetime | None = context.get("data_interval_end")
    if end is None:
        task = context["ti"]
        raise NoDataIntervalError(
            f"run {task.run_id!r} of DAG {task.dag_id!r} has no data interval, so there is no end of it to wait for",
            hint=f"Give {asker} the instant: past=...",
        )
    return to_instant(end, "data_interval_end")


def to_instant(value: datetime | str, name: str) -> datetime:
    """Return the value as an aware instant; without a zone it is in UTC."""
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f"{name} is a time like 2026-01-31T05:00:00Z, not {value!r}") from None
    return to_plain(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def to_plain(instant: datetime) -> datetime:
    """Return the instant as a datetime of Python's own. Those of Airflow's runs are pendulum's: the difference between
    two of them cannot be divided by a timedelta."""
    if type(instant) is datetime:
        return instant
    return datetime.combine(instant.date(), instant.time(), instant.tzinfo)


HINT = (
    "Give both start and end; or a schedule whose runs have intervals: "
    "CronDataIntervalTimetable('@hourly', timezone='UTC') or DeltaDataIntervalTimetable, of airflow.sdk. "
    "Since Airflow 3 a plain schedule='@hourly' has none (scheduler.create_cron_data_intervals is False)."
)
"""Hint for a run without a range."""


class Interval(NamedTuple):
    """A half-open range of event time."""

    start: datetime
    end: datetime


def interval_of(start: datetime, end: datetime, timetable: object) -> Interval:
    """Return the data interval of a run, or, where it is empty, the last whole period of its schedule.

    Raise EmptyIntervalError where the schedule has no period.
    """
    if start < end:
        return Interval(start, end)
    periods = [*_periods(timetable, end)]
    if not periods:
        raise EmptyIntervalError(
            f"the data interval of the run is empty: it begins and ends at {end.isoformat()}", hint=HINT
        )
    # Of several crons the newest instant ends the range, and the newest before that one begins it.
    last = max(period.end for period in periods)
    earlier = [instant for period in periods for instant in period if instant < last]
    return Interval(max(earlier), last)


def _periods(timetable: Any, until: datetime) -> Iterator[Interval]:
    """Yield the last whole period of each cron or length of a timetable; names differ between Airflow's versions."""
    for each in _either(timetable, "timetables") or [timetable]:
        expression, delta = _either(each, "expression"), _either(each, "delta")
        if isinstance(expression, str):
            yield _cron_period(expression, _either(each, "timezone") or UTC, until)
        elif delta is not None:
            yield Interval(until - delta, until)


def _cron_period(expression: str, timezone: Any, until: datetime) -> Interval:
    import pendulum  # noqa: PLC0415 - few tasks need it, and Airflow's timetables take no other instants
    from airflow.timetables.interval import CronDataIntervalTimetable  # noqa: PLC0415 - the same

    period = CronDataIntervalTimetable(expression, timezone).infer_manual_data_interval(
        run_after=pendulum.instance(until)
    )
    return Interval(period.start, period.end)


def _either(holder: object, name: str) -> Any:
    return getattr(holder, name, None) or getattr(holder, f"_{name}", None)
