"""Time windows in GROUP BY."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.durations import read_duration
from engine.errors import EngineError, WindowArgumentError, WindowMismatchError
from engine.plan.expr import Call, Column, Literal, Named
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Carried, Hop, Project, Session, Tumble, Window, pass_through, window_of
from engine.plan.tree import Node
from engine.sql.scalar.expressions import WINDOWS, make_call, read_interval
from engine.sql.text.parse import Script


def is_window_call(node: exp.Expr) -> bool:
    """Whether it is a call of tumble, hop or session."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOWS


def translate_window(node: exp.Expr, script: Script) -> Window:
    """The window that a call describes."""
    name = node.name.lower()
    try:
        lengths = [_length(argument) for argument in node.expressions]
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
    return Hop(slide, width)


def _length(node: exp.Expr) -> timedelta:
    match node:
        case exp.Interval():
            found = read_interval(node)
        case exp.Literal() if node.args.get("is_string"):
            found = read_duration(node.name)
        case _:
            shown = node.sql(dialect="postgres", normalize_functions=False)
            raise WindowArgumentError(
                f"unsupported Duration expression, expect duration literal, not {shown}",
                hint="write INTERVAL '1 minute'",
            )
    if found <= timedelta(0):
        raise WindowArgumentError("a window must be longer than nothing", hint="write INTERVAL '1 minute'")
    return found


def window_over(window: Window, source: Node) -> Window:
    """The window to aggregate by, over an input that may already be windowed: then it must be the same one."""
    carried = window_of(source)
    if carried is None:
        return window
    inner, column = carried
    if isinstance(window, Session):
        raise WindowMismatchError(
            "can't reinvoke session window in nested aggregates", hint="group by the window column of the input"
        )
    if window != inner:
        raise WindowMismatchError(
            "window in group by does not match input window: "
            f"can't window by both {describe(window)} and {describe(inner)}",
            hint="group by the window column of the input",
        )
    return Carried(column or AGAIN)


AGAIN = "__again"
"""The column that holds the window of rows which do not carry it themselves."""


def held_window(source: Node) -> tuple[Window, str | None] | None:
    """The window of a relation's rows, and the column that holds it once `with_window` has made it. A session is known
    only by what the rows carry."""
    found = window_of(source)
    if found is None or found[1] is not None or isinstance(found[0], Session):
        return found
    return found[0], AGAIN


def with_window(source: Node) -> Node:
    """The relation with a column for its window, worked out from the event time, which is just before its end, unless
    it carries the window itself."""
    found = window_of(source)
    if found is None or found[1] is not None or not isinstance(found[0], Tumble | Hop) or source.schema.find(AGAIN):
        return source
    time, tick = Column(EVENT_TIME, types.TIMESTAMP, nullable=False), timedelta(microseconds=1)
    start = make_call("-", [time, Literal(found[0].width - tick, types.Interval())])
    end = make_call("+", [time, Literal(tick, types.Interval())])
    names = [Literal(member.name, types.TEXT) for member in types.WINDOW.members]
    window = Call("named_struct", (names[0], start, names[1], end), types.WINDOW, nullable=False)
    return Project(source, (*pass_through(source.schema), Named(AGAIN, window)))


def describe(window: Window) -> str:
    """The window as a user would write it."""
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
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count = length / timedelta(seconds=size)
        if count >= 1 and count == int(count):
            return f"{int(count)} {unit}{'' if count == 1 else 's'}"
    return f"{length / timedelta(milliseconds=1):g} milliseconds"
