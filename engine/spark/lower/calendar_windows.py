"""Windows that Spark has no function for: windows of calendars, and cumulating windows.

A row gets an array with the starts and ends of its windows in microseconds, and is repeated for each of them.
"""

from __future__ import annotations

from datetime import timedelta

from engine.plan.nodes import Calendar, Cumulate, Period, Tumble
from engine.plan.tree import EVENT_TIME

_TICK = timedelta(microseconds=1)
_DAY = 86_400_000_000
_TIME = f"unix_micros({EVENT_TIME})"


def windows_of_row(window: Calendar | Cumulate) -> str:
    """Return an array of structs with the start and the end of each window of a row, as timestamps."""
    micros = _of_calendar(window) if isinstance(window, Calendar) else _that_add_up(window)
    members = (f"'{name}', timestamp_micros(w.{name})" for name in ("start", "end"))
    return f"transform({micros}, w -> named_struct({', '.join(members)}))"


def last_end_of_row(window: Calendar | Cumulate) -> str:
    """Return the end of the last window of a row, in microseconds."""
    if isinstance(window, Cumulate) and isinstance(window.whole, Tumble):
        return f"{_whole(window.whole)}.end"
    calendar = window if isinstance(window, Calendar) else window.whole
    assert isinstance(calendar, Calendar)
    return f"array_max(transform({_of_calendar(calendar)}, w -> w.end))"


def _that_add_up(window: Cumulate) -> str:
    """Return windows from the start of the whole one to each step after the row."""
    step = f"{window.step // _TICK}L"
    numbers = f"sequence(({_TIME} - v.start) div {step} + 1, (v.end - v.start - 1) div {step} + 1)"
    each = f"transform({numbers}, k -> named_struct('start', v.start, 'end', least(v.start + k * {step}, v.end)))"
    return f"flatten(transform(array({_whole(window.whole)}), v -> {each}))"


def _whole(window: Tumble | Calendar) -> str:
    if isinstance(window, Calendar):
        return f"({_of_calendar(window)})[0]"
    width = f"{window.width // _TICK}L"
    start = f"({_TIME} - pmod({_TIME}, {width}))"
    return f"named_struct('start', {start}, 'end', {start} + {width})"


def _of_calendar(window: Calendar) -> str:
    """Return the windows of a row among those whose numbers are near: a boundary that clocks show twice, or skip, may
    be on another side of the row than by its clock."""
    offset = f"{window.offset // _TICK}L"
    local = f"(unix_micros(from_utc_timestamp({EVENT_TIME}, '{window.zone}')) - {offset})"
    slide, width = window.slide, window.width
    if slide.months:
        shown = f"timestamp_micros({local})"
        months = f"((year({shown}) - 1970) * 12 + month({shown}) - 1)"
        number, count = f"CAST(floor({months} / {slide.months}) AS INT)", -(-width.months // slide.months)
    else:
        number, count = f"CAST(floor({local} / {slide.length // _TICK}) AS INT)", -(-width.length // slide.length)
    number = _exact(number, local, slide)
    start, end = (_instant(_moved(slide, more), offset, window.zone) for more in (Period(), width))
    near = f"transform(sequence({number} - {count}, {number} + 1), i -> named_struct('start', {start}, 'end', {end}))"
    return f"filter({near}, w -> w.start <= {_TIME} AND {_TIME} < w.end)"


def _exact(number: str, local: str, slide: Period) -> str:
    """Return the number of a slide without a division of floating-point numbers."""
    if slide.months:
        return number
    length = f"{slide.length // _TICK}L"
    return f"CAST(({local} - pmod({local}, {length})) div {length} AS INT)"


def _moved(slide: Period, more: Period) -> str:
    """Return the first moment of the slide number `i`, moved by a period, in microseconds of clocks."""
    if slide.months:
        return f"unix_date(add_months(DATE'1970-01-01', i * {slide.months} + {more.months})) * {_DAY}L"
    return f"(i * {slide.length // _TICK}L + {more.length // _TICK}L)"


def _instant(shown: str, offset: str, zone: str) -> str:
    return f"unix_micros(to_utc_timestamp(timestamp_micros({shown} + {offset}), '{zone}'))"
