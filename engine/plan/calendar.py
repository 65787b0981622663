"""Windows of calendars: local days, weeks and months, with their starts as instants.

    Calendar of a day in Europe/Berlin      2024-03-31 begins at 2024-03-30T23:00Z and is 23 hours long
    of a day, offset 6 hours                begins at 06:00 by the clocks of the zone
    of three months, slide of one           begins on the first of every month

Instants are microseconds since 1970. A window has a number: that of its slide since 1970 by the clocks of its zone. A
boundary that clocks show twice is the first of the two; one that they skip is the instant of the skip.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from engine.plan.nodes.windowed import Calendar, Period, Tumble

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def start_of(window: Calendar, number: int) -> int:
    """Return the start of a window."""
    return _instant(window, _moved(window.slide, number, Period()))


def end_of(window: Calendar, number: int) -> int:
    """Return the end of a window, exclusive."""
    return _instant(window, _moved(window.slide, number, window.width))


def oldest_open(window: Calendar, until: int) -> int:
    """Return the start of the oldest window that ends after an instant."""
    number = _number_at(window, until)
    while end_of(window, number - 1) > until:
        number -= 1
    while end_of(window, number) <= until:
        number += 1
    return start_of(window, number)


def whole_start(whole: Tumble | Calendar, until: int) -> int:
    """Return the start of the window that contains an instant, of windows that do not overlap."""
    if isinstance(whole, Calendar):
        return oldest_open(whole, until)
    return until - until % (whole.width // _TICK)


def _number_at(window: Calendar, instant: int) -> int:
    local = (_EPOCH + instant * _TICK).astimezone(ZoneInfo(window.zone)).replace(tzinfo=UTC) - window.offset
    if window.slide.months:
        return ((local.year - 1970) * 12 + local.month - 1) // window.slide.months
    return (local - _EPOCH) // window.slide.length


def _moved(slide: Period, number: int, more: Period) -> datetime:
    """Return the first moment of a slide, moved by a period, as clocks show it."""
    if slide.months:
        months = 1970 * 12 + number * slide.months + more.months
        return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    return _EPOCH + number * slide.length + more.length


def _instant(window: Calendar, shown: datetime) -> int:
    local = (shown + window.offset).replace(tzinfo=ZoneInfo(window.zone))
    return (local.astimezone(UTC) - _EPOCH) // _TICK
