"""Range of event time of a run, from its data interval or its schedule.

schedule                                 data interval          range of the run of 06:00
CronDataIntervalTimetable("@hourly")     05:00 to 06:00         05:00 to 06:00, the data interval
"@hourly" in Airflow 3                   06:00 to 06:00, empty  05:00 to 06:00, from the previous run to this one
"@hourly", started by hand at 06:17      06:17 to 06:17, empty  05:00 to 06:00, the last complete one
timedelta(hours=1)                       06:00 to 06:00, empty  05:00 to 06:00
None, "@once", assets                    none, or empty         none: set start and end
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from airflow_provider_arroyo.errors import EmptyIntervalError

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
