"""Frames of OVER: ROWS BETWEEN 5 PRECEDING AND CURRENT ROW."""

from __future__ import annotations

from sqlglot import exp

from engine.errors import OverError
from engine.plan.nodes import Frame

UNBOUNDED = 2**31 - 1
"""As far away as Spark can count rows."""


def read_frame(spec: exp.Expr | None) -> Frame | None:
    """The frame of an OVER; None when it says nothing."""
    if spec is None:
        return None
    unit = str(spec.args.get("kind") or "").lower()
    if unit not in ("rows", "range") or spec.args.get("exclude") is not None:
        raise OverError("only frames of ROWS or RANGE are supported", hint="write ROWS BETWEEN ... AND ...")
    start, end = _ends_of(spec)
    first, last = (None if start == -UNBOUNDED else start), (None if end == UNBOUNDED else end)
    if unit == "range" and not {first, last} <= {None, 0}:
        raise OverError("RANGE goes from or to the current row, or without an end", hint="use ROWS to count rows")
    return Frame("rows" if unit == "rows" else "range", first, last)


def _ends_of(spec: exp.Expr) -> tuple[int, int]:
    """Return the distance in rows of a frame's first and last row; without AND it ends at the current row."""
    start = _offset_of(spec.args.get("start"), spec.args.get("start_side"))
    end = _offset_of(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if start == UNBOUNDED or end == -UNBOUNDED or start > end:
        raise OverError("the frame ends before it starts", hint="write the earlier end first")
    return start, end


def _offset_of(bound: object, side: object) -> int:
    """Return the distance of a bound in rows; an unbounded one has the largest distance."""
    sign = -1 if str(side or "").upper() == "PRECEDING" else 1
    match bound:
        case "CURRENT ROW":
            return 0
        case "UNBOUNDED":
            return sign * UNBOUNDED
        case exp.Literal() if bound.name.isdecimal() and bound.name.isascii() and len(bound.name) < 10:
            return sign * int(bound.name)
    raise OverError("a frame is counted in whole rows", hint="write 5 PRECEDING")
