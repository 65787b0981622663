"""Event times of a plan: delays of watermarks, ends of windows, and how far output is complete.

Compute `complete_until` of a sink from its plan and the watermark of an epoch.

    INSERT INTO counts SELECT ... GROUP BY tumble(INTERVAL '1 minute')     path: clicks, (Tumble(1 min))

    the epoch has closed windows up to 05:29:51     so the newest written window is 05:28 to 05:29
    complete until                                  05:29:00: a row of 05:29:10 is in a window that is still open

Rows pass from a source through windows to the sink. A window gives its rows an event time just before its end, so
windows over windows are undone one after the other, beginning at the sink. With hop(1 minute, 5 minutes) instead of
tumble: the windows of a row of 05:25:10 end up to 05:30, after 05:29:51; those of a row before 05:25 do not, so
complete until 05:25:00. For sessions the start of the oldest open one is unknown. Rows that pass no window are in the
output as soon as they are read: their limit is the watermark of their source. Instants are microseconds since 1970. See
docs/decisions/complete-until-is-worked-out-from-the-plan.md.

Find windows that a range of event time cuts through, so that only a part of their rows is in it. Pure.

    range from 00:00 to 24:00
    tumble of an hour              none: each is inside or outside of the range
    tumble of 7 hours              21:00 to 04:00 is cut, and so is 22:00 to 05:00 of the previous day
    hop of an hour, every 5 min    23:05 to 00:05 is cut, wherever the range begins
    session                        any of them may extend beyond the range

Instants at which windows can end, so that other epochs need not scan for ended windows.

    tumble(10 seconds)                every 10 s
    hop(2 seconds, 5 seconds)         every 2 s, 1 s after each
    session(10 seconds)               unknown
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from math import gcd
from typing import TypeAlias, assert_never

from engine import types
from engine.plan.calendar import oldest_open, whole_start
from engine.plan.expressions.expr import Call, Column, Expr, Literal
from engine.plan.nodes import (
    Calendar,
    Carried,
    Cumulate,
    EventTimeOver,
    Hop,
    LateRows,
    Scan,
    Session,
    Tumble,
    Window,
    WindowAggregate,
    Write,
)
from engine.plan.state.retained_state import spell
from engine.plan.tree import EVENT_TIME, Node, inputs_of, walk, walk_once
from engine.values.instants import FAR_FUTURE, to_micros

END = to_micros(FAR_FUTURE)
"""Watermark of an ended input: every window is closed, sessions too."""
OPEN_SESSIONS = "it is made of sessions, and one that is still open may have begun at any time"


@dataclass(frozen=True, slots=True)
class Wait:
    """Rows that come out with their own event time, at the latest when the watermark is `delay` after it."""

    delay: timedelta


ClosingWindow: TypeAlias = Tumble | Hop | Session | Calendar | Cumulate | Wait
_TICK = timedelta(microseconds=1)
MOMENT = Tumble(_TICK)
"""The window of a row that is emitted when the watermark has passed it: it contains the rows of one event time."""


@dataclass(frozen=True, slots=True)
class RowPath:
    """Path from a source table to a sink: through these windows, beginning at the sink."""

    table: str
    windows: tuple[ClosingWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class Completeness:
    """Completeness of a sink's output: it contains every input row before `until`, and every output row whose own event
    time is before `output_until`. None means not known yet; `unknown` is the reason if it never will be."""

    until: int | None = None
    output_until: int | None = None
    unknown: str | None = None


def row_paths(node: Node) -> frozenset[RowPath]:
    """Return all paths on which rows reach a relation."""
    return frozenset(_paths(node, ()))


def has_late_rows(node: Node) -> bool:
    """Whether rows of a relation may be older than the watermark when they arrive."""
    return any(isinstance(below, LateRows) for below in walk(node))


def complete_until(
    paths: Iterable[RowPath],
    settled: int | None,
    marks: Mapping[str, int | None],
    held_from: Collection[int | None] = (),
) -> Completeness:
    """Compute `complete_until` of a sink after an epoch that closed windows up to `settled`, with the source watermarks
    in `marks`. `held_from` has, for each file that cannot be read yet, a time that none of its rows is older than."""
    bases = {path: _least([settled if path.windows else marks.get(path.table), *held_from]) for path in paths}
    output_until = _least(_output_until(path, base) for path, base in bases.items())
    if any(base != END and _has_sessions(path) for path, base in bases.items()):
        return Completeness(None, output_until, OPEN_SESSIONS)
    return Completeness(_least(_through(path.windows, base) for path, base in bases.items()), output_until)


def _output_until(path: RowPath, base: int | None) -> int | None:
    match path.windows:
        case (Wait() as wait, *_) if base is not None:
            return closed_before(wait, base)
    return base


def _has_sessions(path: RowPath) -> bool:
    return any(isinstance(window, Session) for window in path.windows)


def _through(windows: Iterable[ClosingWindow], base: int | None) -> int | None:
    """Return the instant before which output is complete at the first of the windows, if it is complete up to `base`
    after the last one."""
    return None if base is None else reduce(lambda until, window: closed_before(window, until), windows, base)


def closed_before(window: ClosingWindow, until: int) -> int:
    """Return the latest instant before which rows are only in windows that end at `until` or earlier: the start of the
    oldest open window. For sessions only the end of everything is known."""
    if until >= END:
        return END
    match window:
        case Tumble(width):
            return _floor(until, width)
        case Hop(slide, width):
            return _floor(until - _micros(width), slide) + _micros(slide)
        case Calendar():
            return oldest_open(window, until)
        case Cumulate(_, whole):
            return whole_start(whole, until)
        case Wait(delay):
            return until - _micros(delay)
        case Session():
            raise AssertionError("where an open session begins is not known")
        case never:
            assert_never(never)


def _paths(node: Node, windows: tuple[ClosingWindow, ...]) -> Iterable[RowPath]:
    match node:
        case Scan(table):
            yield RowPath(table, windows)
            return
        case WindowAggregate(window=window) if not isinstance(window, Carried):
            windows = (*windows, window)
        case EventTimeOver():
            windows = (*windows, _wait_of(node))
    for below in inputs_of(node):
        yield from _paths(below, windows)


def _wait_of(node: EventTimeOver) -> ClosingWindow:
    """Return how long rows wait: a frame that ends in a later row ends with the partition at the latest."""
    frames = [function.frame for function in node.functions if function.frame is not None]
    rows = max((frame.end or 0 for frame in frames if frame.unit == "rows"), default=0)
    micros = max((frame.end or 0 for frame in frames if frame.unit == "range"), default=0)
    if rows <= 0:
        return Wait(timedelta(microseconds=micros)) if micros else MOMENT
    return Wait(max(rows * node.partition_ends_after, timedelta(microseconds=micros)))


def _least(instants: Iterable[int | None]) -> int | None:
    """Return the earliest; None if one is unknown, or if there are none."""
    known = list(instants)
    present = [instant for instant in known if instant is not None]
    return min(present) if present and len(present) == len(known) else None


def _floor(instant: int, step: timedelta) -> int:
    return instant - instant % _micros(step)


def _micros(length: timedelta) -> int:
    return length // _TICK


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def cut_windows(writes: Sequence[Write], edges: Sequence[datetime]) -> list[str]:
    """Return, in words, the windows of a plan that one of the edges may cut through."""
    windows = dict.fromkeys(
        node.window for write in writes for node in walk(write) if isinstance(node, WindowAggregate)
    )
    return [cut for window in windows for cut in _cuts(window, edges)]


def _cuts(window: Window, edges: Sequence[datetime]) -> Iterator[str]:
    for edge in edges:
        match window:
            case Tumble(width) if (edge - _EPOCH) % width:
                yield f"a tumble of {spell(width)} at {edge.isoformat()}"
            case Hop(slide, width) if slide != width or (edge - _EPOCH) % width != timedelta(0):
                yield f"hops of {spell(width)} at {edge.isoformat()}"
            case Session():
                yield f"sessions at {edge.isoformat()}"
            case Calendar() if oldest_open(window, to_micros(edge)) != to_micros(edge):
                yield f"windows of a calendar at {edge.isoformat()}"
            case Cumulate(_, whole) if whole_start(whole, to_micros(edge)) != to_micros(edge):
                yield f"windows that add up at {edge.isoformat()}"


@dataclass(frozen=True, slots=True, order=True)
class Ends:
    """Instants at equal distances, and the offset of the first one after 1970."""

    every: timedelta
    since: timedelta


def window_ends(branches: Iterable[Node]) -> tuple[Ends, ...] | None:
    """Return the instants at which windows of a plan may end; None if they depend on the rows."""
    ends = set[Ends]()
    nodes = [node for branch in branches for node in walk_once(branch)]
    if any(isinstance(node, EventTimeOver) for node in nodes):
        return None
    for window in (node.window for node in nodes if isinstance(node, WindowAggregate)):
        match window:
            case Tumble(width):
                ends.add(Ends(width, timedelta(0)))
            case Hop(slide, width):
                ends.add(Ends(slide, width % slide))
            case Calendar():
                ends.add(_ends_of_calendar(window))
            case Cumulate(step, Tumble()):
                ends.add(Ends(step, timedelta(0)))
            case Session() | Cumulate():
                return None
    return tuple(sorted(ends)) or None


def _ends_of_calendar(window: Calendar) -> Ends:
    """Return instants that contain all ends of a calendar's windows. Clocks of zones are whole seconds from UTC."""
    slide = window.slide.length or timedelta(days=1)
    every = timedelta(microseconds=gcd(_micros(slide), _micros(window.width.length or timedelta(days=1))))
    if window.zone != "UTC":
        every = timedelta(seconds=1) if not every % timedelta(seconds=1) else _TICK
    return Ends(every, window.offset % every)


def fixed_delay(event_time: Expr | None, watermark: Expr) -> timedelta | None:
    """Return the constant delay of the watermark behind the event time, None if it differs between rows; without an
    event time, that is the time of reading."""
    base = Column(EVENT_TIME, types.TIMESTAMP, nullable=False) if event_time is None else event_time
    match watermark:
        case Call("-", (minuend, Literal(timedelta() as delay))) if minuend == base:
            return delay
    return timedelta() if watermark == base else None
