"""When a pipeline's savepoints are taken by themselves: decided from the clock and what is in the way, not done here.

Every hour, not on working days from 9 to 17; the control plane was away from 06:30 to 08:20.

    06:00  taken
    07:00  left out: there is a later one that is due
    08:00  taken at 08:20, since at most one is caught up
    09:00  left out: it lies in a window in which none is taken
    17:00  taken; at a pipeline that rests it would be left out, and while it recovers it waits until 18:00
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from engine.errors import RetentionError
from engine.jobs.schedules.cron import Cron, read_cron, read_weekdays
from engine.jobs.schedules.retention import zone_of

_WINDOW = re.compile(r"(?:(?P<days>\S+)\s+)?(?P<begin>\d\d?:\d\d)\s*-\s*(?P<end>\d\d?:\d\d)\Z", re.ASCII)
_DAY = 24 * 60
_LATE = timedelta(minutes=1)
"""What is taken later than this was not taken in time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When savepoints are taken: instants of a time zone, but for those in a window of `blackout`."""

    cron: str
    time_zone: str = "UTC"
    blackout: tuple[str, ...] = ()
    drill: bool = False
    """Whether each is restored in a scratch directory afterwards, and read."""
    paused: bool = False
    """Whether none is taken until it goes on; what is due meanwhile is not caught up."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some minutes of some days of the week, Sunday being 0; one that ends before it begins ends on the next day."""

    text: str
    days: frozenset[int]
    begin: int
    end: int

    def holds(self, instant: datetime, zone: tzinfo) -> bool:
        """Whether the clocks of the zone show a time in it."""
        local = instant.astimezone(zone)
        minute, day = local.hour * 60 + local.minute, local.isoweekday() % 7
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        return (day in self.days and minute >= self.begin) or ((day - 1) % 7 in self.days and minute < self.end)


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule that was read."""

    cron: Cron
    windows: tuple[Window, ...]
    zone: tzinfo

    def window_at(self, instant: datetime) -> Window | None:
        """The window in which an instant lies, if there is one."""
        return next((window for window in self.windows if window.holds(instant, self.zone)), None)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why none can be taken now, and whether that passes by itself."""

    reason: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due, or what is due waits."""


@dataclass(frozen=True, slots=True)
class Take:
    """Take the savepoint of an instant. `left_out_since` is the first instant that is not caught up."""

    due_at: datetime
    is_late: bool = False
    left_out_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Take none for an instant, nor for those before it."""

    due_at: datetime
    reason: str
    next_at: datetime | None = None
    """The instant that is due instead; None for the first after now."""


Step = Wait | Take | LeaveOut


def read_timetable(schedule: Schedule) -> Timetable:
    """Parse a schedule; refuse one that makes no sense."""
    zone = zone_of(schedule.time_zone)
    return Timetable(read_cron(schedule.cron, zone), tuple(_read_window(text) for text in schedule.blackout), zone)


def decide(timetable: Timetable, due_at: datetime, now: datetime, hindrance: Hindrance | None) -> Step:
    """Decide the next step of a schedule whose next instant is `due_at`."""
    if now < due_at:
        return Wait()
    latest: datetime | None = None
    wanted: datetime | None = None
    for instant in timetable.cron.until(due_at, now):
        latest = latest or instant
        if timetable.window_at(instant) is None:
            wanted = instant
            break
    if wanted is None:
        last = latest or due_at
        window = timetable.window_at(last)
        return LeaveOut(last, "it is not in the schedule" if window is None else f"none is taken in {window.text}")
    if timetable.window_at(now) is not None:
        return Wait()
    if hindrance is None:
        return Take(wanted, now - wanted > _LATE, due_at if due_at < wanted else None)
    if not hindrance.passes:
        return LeaveOut(wanted, hindrance.reason)
    return LeaveOut(due_at, hindrance.reason, wanted) if due_at < wanted else Wait()


def _read_window(text: str) -> Window:
    match = _WINDOW.match(text.strip())
    if match is None:
        raise _unreadable(text)
    begin, end = (_minute(match[edge], text) for edge in ("begin", "end"))
    if begin in (end, _DAY):
        raise _unreadable(text)
    days = frozenset(range(7)) if match["days"] is None else read_weekdays(match["days"])
    return Window(text.strip(), days, begin, end)


def _minute(clock: str, text: str) -> int:
    hour, minute = map(int, clock.split(":"))
    if minute > 59 or hour * 60 + minute > _DAY:
        raise _unreadable(text)
    return hour * 60 + minute


def _unreadable(text: str) -> RetentionError:
    return RetentionError(
        f"{text!r} is not a window of time",
        hint="write for example '09:00-17:00', 'mon-fri 09:00-17:00' or 'sat,sun 00:00-24:00'",
    )


def words_of(schedule: Schedule) -> str:
    """A schedule in one line."""
    windows: Sequence[str] = [f"not in {window}" for window in schedule.blackout]
    more = [*["with a drill"] * schedule.drill, *["paused"] * schedule.paused]
    return ", ".join((f"{schedule.cron} in {schedule.time_zone}", *windows, *more))
