"""Time windows: calls of tumble, hop, session and cumulate, and windows that rows already have.

SELECT tumble(INTERVAL '1 minute') AS window, key, count(*) AS n FROM events GROUP BY 1, 2      rows have `window`
SELECT window, max(n) FROM (that) GROUP BY window                                         a `Carried` window
SELECT tumble(INTERVAL '1 minute'), max(n) FROM (that) GROUP BY 1                         the same, called again
SELECT tumble(INTERVAL '1 minute'), max(n) FROM (SELECT n FROM (that)) GROUP BY 1         the same: `window` was
                                                  dropped, and is computed from the event time of the rows
"""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from sqlglot import exp

from engine import types
from engine.errors import EngineError, WindowArgumentError, WindowMismatchError
from engine.plan.explain import describe_calendar
from engine.plan.expressions.expr import Call, Column, Literal, Named
from engine.plan.nodes import (
    Calendar,
    Carried,
    Cumulate,
    Hop,
    Period,
    Project,
    Session,
    Tumble,
    Window,
    pass_through,
    window_of,
)
from engine.plan.tree import EVENT_TIME, Node
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import WINDOWS
from engine.sql.scalar.literals import read_interval, read_interval_of_months
from engine.sql.text.parse import Script
from engine.values.durations import read_duration, read_months

WINDOW_NAME = "window"
"""Column name of a window without an alias."""

MOST_WINDOWS = 100_000
"""Largest number of windows in which a row may be; each of them is a row of output."""
COMPUTED_WINDOW = "__again"
"""Column that `with_window` adds."""


def is_window_call(node: exp.Expr) -> bool:
    """Whether the expression is a call of tumble, hop, session or cumulate."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOWS


def translate_window(node: exp.Expr, script: Script) -> Window:
    """Return the window of a call."""
    name = node.name.lower()
    try:
        zone, periods = _read_arguments(node)
        match name, periods:
            case "session", [Period(0, gap)] if zone is None:
                return Session(gap)
            case "tumble", [width, *offset] if len(offset) < 2:
                return _tumble(width, zone, offset)
            case "hop", [slide, width, *offset] if len(offset) < 2:
                return _tumble(width, zone, offset) if slide == width else _hop(slide, width, zone, offset)
            case "cumulate", [step, width, *offset] if len(offset) < 2:
                return _cumulate(step, _tumble(width, zone, offset))
    except EngineError as error:
        error.at = error.at or script.position(node)
        raise
    raise WindowArgumentError(
        f"{name} does not take {len(node.expressions)} arguments",
        hint=f"use it as {_USAGE[name]}",
        at=script.position(node),
    )


_USAGE = {
    "tumble": "tumble(width [, zone] [, offset])",
    "hop": "hop(slide, width [, zone] [, offset])",
    "session": "session(gap)",
    "cumulate": "cumulate(step, width [, zone] [, offset])",
}
_DAY = timedelta(days=1)


def _read_arguments(node: exp.Expr) -> tuple[str | None, list[Period]]:
    """Return the time zone of a call, if it has one, and its lengths; an offset is the last of them."""
    zones = [part.name for part in node.expressions if _is_zone(part)]
    if len(zones) > 1:
        raise WindowArgumentError("a window has one time zone", hint=f"use it as {_USAGE[node.name.lower()]}")
    lengths = [part for part in node.expressions if not _is_zone(part)]
    first = 1 if node.name.lower() in ("tumble", "session") else 2
    periods = [_read_period(part, is_offset=place >= first) for place, part in enumerate(lengths)]
    return (zones[0] if zones else None), periods


def _is_zone(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Literal) or not node.args.get("is_string") or not node.name[:1].isalpha():
        return False
    try:
        ZoneInfo(node.name)
    except (ValueError, KeyError, OSError):
        raise WindowArgumentError(
            f"there is no time zone {node.name!r}", hint="write its name as in 'Europe/Berlin', or 'UTC'"
        ) from None
    return True


def _tumble(width: Period, zone: str | None, offset: list[Period]) -> Tumble | Calendar:
    if not width.months and zone in (None, "UTC") and all(part == Period() for part in offset):
        return Tumble(width.length)
    return _calendar(width, width, zone, offset)


def _calendar(slide: Period, width: Period, zone: str | None, offset: list[Period]) -> Calendar:
    shift = offset[0] if offset else Period()
    if shift.months:
        raise WindowArgumentError("an offset of months has no fixed length", hint="write it in days or smaller units")
    if bool(slide.months) != bool(width.months):
        raise WindowArgumentError(
            "a window of months cannot be counted in days", hint="write both in months, or neither"
        )
    if zone not in (None, "UTC") and any(period.length % _DAY for period in (slide, width)):
        raise WindowArgumentError(
            "a window in a time zone is a number of days or months",
            hint="leave out the zone: hours are the same in nearly all zones; or shift them by an offset",
        )
    return Calendar(slide, width, zone or "UTC", shift.length)


def _cumulate(step: Period, whole: Tumble | Calendar) -> Cumulate:
    if step.months:
        raise WindowArgumentError("a step of months has no fixed length", hint="write it in days or smaller units")
    width = whole.width if isinstance(whole, Tumble) else whole.width.length or timedelta(days=31 * whole.width.months)
    if width / step.length > MOST_WINDOWS:
        raise WindowArgumentError(
            f"each row would be in {width // step.length:,} windows of cumulate(), and at most {MOST_WINDOWS:,} are"
            " supported",
            hint="choose a longer step or a shorter width",
        )
    if isinstance(whole, Tumble) and (step.length > whole.width or whole.width % step.length):
        raise WindowArgumentError("the width of cumulate() is a multiple of its step", hint="the step comes first")
    return Cumulate(step.length, whole)


def _hop(slide: Period, width: Period, zone: str | None, offset: list[Period]) -> Hop | Calendar:
    if (slide.months, slide.length) > (width.months, width.length):
        by, over = _described_period(slide), _described_period(width)
        raise WindowArgumentError(
            f"hop() slides by {by} over a width of {over}, so rows between the windows would be lost",
            hint="the slide comes first and is at most the width",
        )
    count = width.months / slide.months if slide.months else width.length / max(slide.length, timedelta(microseconds=1))
    if count > MOST_WINDOWS:
        raise WindowArgumentError(
            f"each row would be in {int(count):,} windows of hop(), and at most {MOST_WINDOWS:,} are supported",
            hint="choose a longer slide or a shorter width",
        )
    if not width.months and zone in (None, "UTC") and all(part == Period() for part in offset):
        return Hop(slide.length, width.length)
    return _calendar(slide, width, zone, offset)


def _described_period(period: Period) -> str:
    return f"{period.months} month{'s' * (period.months > 1)}" if period.months else str(period.length)


def _read_period(node: exp.Expr, *, is_offset: bool) -> Period:
    match node:
        case exp.Interval():
            months = read_interval_of_months(node)
        case exp.Literal() if node.args.get("is_string"):
            months = read_months(node.name)
        case _:
            months = None
    if months is None:
        return Period(0, _read_length(node, least=timedelta.min if is_offset else timedelta(microseconds=1)))
    if months[1] or months[0] <= 0:
        raise WindowArgumentError("a window is months or days, not both", hint="write INTERVAL '1 month'")
    return Period(months[0])


def _read_length(node: exp.Expr, least: timedelta) -> timedelta:
    match node:
        case exp.Interval():
            length = read_interval(node)
        case exp.Literal() if node.args.get("is_string"):
            length = read_duration(node.name)
        case _:
            text = node.sql(dialect="postgres", normalize_functions=False)
            hint = "write INTERVAL '1 minute'"
            if isinstance(node, exp.Column):
                hint = f"windows go by the event time of the table, so leave out {text}, and read window.start"
            raise WindowArgumentError(f"{text} is not a constant length of time", hint=hint)
    if length < least:
        raise WindowArgumentError("the length of a window must be greater than zero", hint="write INTERVAL '1 minute'")
    return length


def window_over(window: Window, source: Node) -> Window:
    """Return the window to aggregate by, over an input that may be windowed already: then both must be the same."""
    source_window = window_of(source)
    if source_window is None:
        return window
    inner_window, column = source_window
    if isinstance(window, Session):
        raise WindowMismatchError(
            "a session cannot be called over rows that have a window", hint="group by the window column of the input"
        )
    if window != inner_window:
        raise WindowMismatchError(
            f"{describe(window)} is not the window that the input has: {describe(inner_window)}",
            hint="group by the window column of the input",
        )
    if column is None and not isinstance(window, Tumble | Hop):
        raise WindowMismatchError(
            "the input has a window and does not pass it on", hint="select the window in the inner query"
        )
    return Carried(column or COMPUTED_WINDOW)


def recoverable_window(source: Node) -> tuple[Window, str | None] | None:
    """Return the window of a relation's rows, and the column with it after `with_window`. Sessions, windows of
    calendars and cumulating windows can only be read from a column of the rows."""
    source_window = window_of(source)
    if source_window is None:
        return None
    window, column = source_window
    is_known = column is not None or not isinstance(window, Tumble | Hop)
    return source_window if is_known else (window, COMPUTED_WINDOW)


def with_window(source: Node) -> Node:
    """Return the relation with a column for its window, which is computed from the event time, just before the window's
    end, unless a column has it already."""
    match window_of(source):
        case (Tumble(width) | Hop(_, width), None) if not source.schema.find(COMPUTED_WINDOW):
            time, tick = Column(EVENT_TIME, types.TIMESTAMP, nullable=False), timedelta(microseconds=1)
            start = make_call("-", [time, Literal(width - tick, types.Interval())])
            end = make_call("+", [time, Literal(tick, types.Interval())])
            names = [Literal(member.name, types.TEXT) for member in types.WINDOW.members]
            window = Call("named_struct", (names[0], start, names[1], end), types.WINDOW, nullable=False)
            return Project(source, (*pass_through(source.schema), Named(COMPUTED_WINDOW, window)))
    return source


def describe(window: Window) -> str:
    """Return the window as a user would write it."""
    match window:
        case Tumble(width):
            return f"tumble({_spell(width)})"
        case Hop(slide, width):
            return f"hop({_spell(slide)}, {_spell(width)})"
        case Session(gap):
            return f"session({_spell(gap)})"
        case Calendar() | Cumulate():
            return describe_calendar(window)
        case Carried(column):
            return f"the window in {column}"


def _spell(length: timedelta) -> str:
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count = length / timedelta(seconds=seconds)
        if count >= 1 and count == int(count):
            return f"{int(count)} {unit}{'' if count == 1 else 's'}"
    return f"{length / timedelta(milliseconds=1):g} milliseconds"
