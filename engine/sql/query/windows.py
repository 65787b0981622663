"""Time windows: calls of tumble, hop and session, and windows that rows already have.

SELECT tumble(INTERVAL '1 minute') AS window, key, count(*) AS n FROM events GROUP BY 1, 2      rows have `window`
SELECT window, max(n) FROM (that) GROUP BY window                                         a `Carried` window
SELECT tumble(INTERVAL '1 minute'), max(n) FROM (that) GROUP BY 1                         the same, called again
SELECT tumble(INTERVAL '1 minute'), max(n) FROM (SELECT n FROM (that)) GROUP BY 1         the same: `window` was
                                                  dropped, and is computed from the event time of the rows
"""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import EngineError, WindowArgumentError, WindowMismatchError
from engine.plan.expressions.expr import Call, Column, Literal, Named
from engine.plan.nodes import Carried, Hop, Project, Session, Tumble, Window, pass_through, window_of
from engine.plan.tree import EVENT_TIME, Node
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import WINDOWS
from engine.sql.scalar.literals import read_interval
from engine.sql.text.parse import Script
from engine.values.durations import read_duration

WINDOW_NAME = "window"
"""Column name of a window without an alias."""

MOST_WINDOWS = 100_000
"""Largest number of windows in which a row may be; each of them is a row of output."""
COMPUTED_WINDOW = "__again"
"""Column that `with_window` adds."""


def is_window_call(node: exp.Expr) -> bool:
    """Whether the expression is a call of tumble, hop or session."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOWS


def translate_window(node: exp.Expr, script: Script) -> Window:
    """Return the window of a call."""
    name = node.name.lower()
    try:
        lengths = [_read_length(argument) for argument in node.expressions]
        match name, lengths:
            case "tumble", [width]:
                return Tumble(width)
            case "hop", [slide, width]:
                return Tumble(width) if slide == width else _hop(slide, width)
            case "session", [gap]:
                return Session(gap)
    except EngineError as error:
        error.at = error.at or script.position(node)
        raise
    usage = {"tumble": "tumble(width)", "hop": "hop(slide, width)", "session": "session(gap)"}[name]
    raise WindowArgumentError(
        f"{name} does not take {len(node.expressions)} arguments", hint=f"use it as {usage}", at=script.position(node)
    )


def _hop(slide: timedelta, width: timedelta) -> Hop:
    if slide > width:
        raise WindowArgumentError(
            f"hop() slides by {slide} over a width of {width}, so rows between the windows would be lost",
            hint="the slide comes first and is at most the width",
        )
    if width / slide > MOST_WINDOWS:
        raise WindowArgumentError(
            f"each row would be in {width // slide:,} windows of hop(), and at most {MOST_WINDOWS:,} are supported",
            hint="choose a longer slide or a shorter width",
        )
    return Hop(slide, width)


def _read_length(node: exp.Expr) -> timedelta:
    match node:
        case exp.Interval():
            length = read_interval(node)
        case exp.Literal() if node.args.get("is_string"):
            length = read_duration(node.name)
        case _:
            text = node.sql(dialect="postgres", normalize_functions=False)
            raise WindowArgumentError(f"{text} is not a constant length of time", hint="write INTERVAL '1 minute'")
    if length <= timedelta(0):
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
    return Carried(column or COMPUTED_WINDOW)


def recoverable_window(source: Node) -> tuple[Window, str | None] | None:
    """Return the window of a relation's rows, and the column with it after `with_window`. A session can only be read
    from a column of the rows."""
    source_window = window_of(source)
    if source_window is None:
        return None
    window, column = source_window
    return source_window if column is not None or isinstance(window, Session) else (window, COMPUTED_WINDOW)


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
        case Carried(column):
            return f"the window in {column}"


def _spell(length: timedelta) -> str:
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count = length / timedelta(seconds=seconds)
        if count >= 1 and count == int(count):
            return f"{int(count)} {unit}{'' if count == 1 else 's'}"
    return f"{length / timedelta(milliseconds=1):g} milliseconds"
