"""Decide when to take scheduled savepoints, from the clock and current obstacles. Takes nothing.

Every hour, except on working days from 9 to 17; the control plane was down from 06:30 to 08:20.

    06:00  taken
    07:00  skipped: a later one is due
    08:00  taken at 08:20, since at most one is caught up
    09:00  skipped: it is in a blackout window
    17:00  taken; skipped if the pipeline is stopped, and delayed up to 18:00 while it recovers

Cron expressions of five fields: minute, hour, day of the month, month, day of the week.

    30 2 * * *  in Europe/Berlin, where 02:30 is skipped on 2026-03-29 and occurs twice on 2026-10-25

    2026-03-28  01:30 UTC
    2026-03-29  01:30 UTC   03:30 local time: a skipped time is moved by the length of the gap
    2026-10-25  00:30 UTC   the first of the two
    2026-10-26  01:30 UTC

If all hours are included, as in `30 * * * *` and `30 */2 * * *`, both of two equal local times count. If neither day
field begins with `*`, either suffices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from engine.errors import RetentionError
from engine.jobs.schedules.retention import zone_of

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""Names of the days of the week."""
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_PART = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?\Z", re.ASCII)
_MOST_DAYS = 366 * 9
"""Longest distance of two matching days: leap days are at most eight years apart."""
_MOST_TEXT = 256


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: its name, its range, and the names of its numbers."""

    name: str
    least: int
    most: int
    words: Mapping[str, int]


_FIELDS = (
    Field("minute", 0, 59, {}),
    Field("hour", 0, 23, {}),
    Field("day of the month", 1, 31, {}),
    Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    Field("day of the week", 0, 7, {name: number for number, name in enumerate(DAYS)}),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed cron expression, in a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_either_day: bool
    """Whether one of the two day fields suffices, because both are restricted."""
    is_every_hour: bool
    zone: tzinfo

    def after(self, instant: datetime) -> datetime | None:
        """Return the first instant after this one; None if there is none, as on the 30th of February."""
        day = instant.astimezone(self.zone).date() - timedelta(days=1)
        for _ in range(_MOST_DAYS):
            # times that are left out around midnight may come after the first of the next day
            later = [at for at in (*self._instants(day), *self._instants(day + timedelta(days=1))) if at > instant]
            if later:
                return min(later)
            day += timedelta(days=1)
        return None

    def until(self, first: datetime, last: datetime) -> Iterator[datetime]:
        """Yield the instants from `last` back to `first`, both included."""
        day = last.astimezone(self.zone).date() + timedelta(days=1)
        found: set[datetime] = set()
        end = first.astimezone(self.zone).date() - timedelta(days=1)
        while day >= end:
            instants = {at for at in self._instants(day) if first <= at <= last} - found
            yield from sorted(instants, reverse=True)
            found = instants
            day -= timedelta(days=1)

    def _instants(self, day: date) -> list[datetime]:
        """Return the instants of a local day, in UTC."""
        if not self._has(day):
            return []
        instants: set[datetime] = set()
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime.combine(day, time(hour, minute), self.zone)
                instants.add(local.astimezone(UTC))
                if self.is_every_hour and _is_shown_twice(local):
                    instants.add(local.replace(fold=1).astimezone(UTC))
        return sorted(instants)

    def _has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        is_day, is_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return is_day or is_weekday if self.is_either_day else is_day and is_weekday


def read_cron(text: str, zone: tzinfo) -> Cron:
    """Parse a cron expression; raise if it is invalid, or if it names no instant at all."""
    if len(text) > _MOST_TEXT:
        raise RetentionError("the cron expression is too long", hint=f"write one of at most {_MOST_TEXT} characters")
    fields = _NICKNAMES.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise RetentionError(
            f"{text!r} is not a cron expression: it has {len(fields)} fields",
            hint="write minute, hour, day of the month, month, day of the week: '30 2 * * *' is 02:30 every day",
        )
    minutes, hours, days, months = map(_values, fields[:4], _FIELDS[:4])
    cron = Cron(
        minutes,
        hours,
        days,
        months,
        read_weekdays(fields[4]),
        not any(field.startswith("*") for field in (fields[2], fields[4])),
        fields[1].startswith("*"),
        zone,
    )
    if cron.after(datetime(2026, 1, 1, tzinfo=UTC)) is None:
        raise RetentionError(f"there is no day of the cron expression {text!r}", hint="choose a day that comes")
    return cron


def read_weekdays(text: str) -> frozenset[int]:
    """Return the days of the week in a field, Sunday being 0."""
    return frozenset(number % 7 for number in _values(text, _FIELDS[-1]))


def _values(text: str, field: Field) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.match(part)
        if match is None:
            raise _unreadable_cron(part, field)
        values |= _part_values(part, match, field)
    return frozenset(values)


def _part_values(part: str, match: re.Match[str], field: Field) -> set[int]:
    first, last, step = match["first"], match["last"], match["step"]
    if first == "*":
        if last is not None:
            raise _unreadable_cron(part, field)
        low, high = field.least, field.most
    else:
        low = _number(first, part, field)
        high = _number(last, part, field) if last is not None else field.most if step is not None else low
    if low > high or (step is not None and int(step) < 1):
        raise _unreadable_cron(part, field)
    return set(range(low, high + 1, int(step or 1)))


def _number(text: str, part: str, field: Field) -> int:
    number = field.words.get(text.lower())
    if number is None and text.isdecimal():
        number = int(text)
    if number is None or not field.least <= number <= field.most:
        raise _unreadable_cron(part, field)
    return number


def _unreadable_cron(part: str, field: Field) -> RetentionError:
    words = f", or names such as {next(iter(field.words))}" if field.words else ""
    return RetentionError(
        f"{part!r} is not a {field.name} of a cron expression",
        hint=f"write numbers from {field.least} to {field.most}{words}, ranges such as 1-5, steps such as */10, or *",
    )


def _is_shown_twice(local: datetime) -> bool:
    """Whether clocks that are set back show this time a second time. For a skipped time, the other instant is
    earlier."""
    return local.replace(fold=1).astimezone(UTC) > local.replace(fold=0).astimezone(UTC)


_WINDOW = re.compile(r"(?:(?P<days>\S+)\s+)?(?P<begin>\d\d?:\d\d)\s*-\s*(?P<end>\d\d?:\d\d)\Z", re.ASCII)
_DAY = 24 * 60
_LATE = timedelta(minutes=1)
"""Delay after which a savepoint was not taken in time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Schedule of savepoints: instants in a time zone, except in a window of `blackout`."""

    cron: str
    time_zone: str = "UTC"
    blackout: tuple[str, ...] = ()
    drill: bool = False
    """Whether each is followed by a restore test."""
    paused: bool = False
    """Whether the schedule is paused; savepoints that are due meanwhile are not caught up."""


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes on some days of the week, Sunday being 0; a window that ends before it begins ends on the next day."""

    text: str
    days: frozenset[int]
    begin: int
    end: int

    def holds(self, instant: datetime, zone: tzinfo) -> bool:
        """Whether the local time is within the window."""
        local = instant.astimezone(zone)
        minute, day = local.hour * 60 + local.minute, local.isoweekday() % 7
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        return (day in self.days and minute >= self.begin) or ((day - 1) % 7 in self.days and minute < self.end)


@dataclass(frozen=True, slots=True)
class Timetable:
    """A parsed schedule."""

    cron: Cron
    windows: tuple[Window, ...]
    zone: tzinfo

    def window_at(self, instant: datetime) -> Window | None:
        """Return the window that contains an instant, if there is one."""
        return next((window for window in self.windows if window.holds(instant, self.zone)), None)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Reason why no savepoint can be taken now, and whether it is temporary."""

    reason: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due, or the due savepoint is delayed."""


@dataclass(frozen=True, slots=True)
class Take:
    """Take the savepoint of an instant. `left_out_since` is the first skipped instant."""

    due_at: datetime
    is_late: bool = False
    left_out_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Skip an instant, and those before it."""

    due_at: datetime
    reason: str
    next_at: datetime | None = None
    """The instant that is due instead; None for the first after now."""


Step = Wait | Take | LeaveOut


def read_timetable(schedule: Schedule) -> Timetable:
    """Parse a schedule; raise if it is invalid."""
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
    """Return a schedule in one line."""
    windows: Sequence[str] = [f"not in {window}" for window in schedule.blackout]
    more = [*["with a drill"] * schedule.drill, *["paused"] * schedule.paused]
    return ", ".join((f"{schedule.cron} in {schedule.time_zone}", *windows, *more))
