"""Compute when a schedule's data intervals end, and the length of a script's windows; None if the file does not show
it.

    "@hourly", "0 * * * *"         every hour, at minute 0
    "30 2 * * *"                   every day, at 2:30
    timedelta(minutes=90)          every 90 minutes

Evaluate literal durations; None if a duration is computed elsewhere, or the value is not a duration.

timedelta(hours=1, minutes=30)
2 * timedelta(days=1)
60 * 60 * 8, in seconds
8 * HOUR, with HOUR = 3600
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from airflow_provider_arroyo.doctor.files import DagFile

PRESETS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *"}
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
Runs = Literal["none", "once", "assets", "instants", "intervals"]
"""Data intervals of the runs: none, empty (once, assets, instants), or with a length."""
_ASSETS = frozenset({"Asset", "AssetAll", "AssetAny", "AssetAlias", "AssetRef", "PartitionedAssetTimetable"})
_DIGITS = 8
"""Largest number of digits in a window's length; a deployment refuses longer ones."""
_MINUTE, _HOUR = re.compile(r"[0-5]?[0-9]"), re.compile(r"[01]?[0-9]|2[0-3]")
_WINDOW = re.compile(r"\b(?:tumble|hop)\s*\(\s*INTERVAL\s+'(\d+)\s*([a-z]+?)s?'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ends:
    """Data intervals that end every `period`, `offset` after midnight."""

    period: timedelta
    offset: timedelta = timedelta(0)

    def cut(self, window: timedelta) -> bool:
        """Whether one of the instants is within a window of this length."""
        return bool(self.period % window or self.offset % window)


def read_schedule(file: DagFile, node: ast.expr | None) -> Ends | None:
    """Return when the intervals of a DAG with this schedule end."""
    match file.value(node):
        case ast.Constant(value=str() as text):
            return _read_cron(PRESETS.get(text, text))
        case ast.Call() | ast.BinOp():
            length = read_length(file, node)
            return Ends(length) if length else None
    return None


def read_runs(file: DagFile, node: ast.expr | None) -> Runs | None:
    """Return the kind of data intervals of a DAG with this schedule; None if the text does not show it."""
    match file.value(node):
        case None | ast.Constant(value=None):
            return "none"
        case ast.Constant(value="@once"):
            return "once"
        case ast.Constant(value="@continuous"):
            return "intervals"
        case ast.Constant(value=str()):
            return "instants"
        case ast.List() | ast.Tuple() | ast.Set() | ast.BinOp(op=ast.BitOr() | ast.BitAnd()):
            return "assets"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=keywords):
            return _runs_of_call(name, {keyword.arg for keyword in keywords})
        case ast.BinOp() if read_length(file, node):
            return "instants"
    return None


def _runs_of_call(name: str, keywords: set[str | None]) -> Runs | None:
    if name in _ASSETS:
        return "assets"
    if name.endswith("DataIntervalTimetable") or (name.endswith("TriggerTimetable") and "interval" in keywords):
        return "intervals"
    return "instants" if name.endswith("TriggerTimetable") or name in ("timedelta", "relativedelta") else None


def window_lengths(sql: str) -> Iterator[timedelta]:
    """Yield the lengths after which windows of a script end; for hopping windows this is the hop."""
    for length, unit in _WINDOW.findall(sql):
        if unit.lower() in UNITS and int(length) and len(length) <= _DIGITS:
            yield timedelta(seconds=int(length) * UNITS[unit.lower()])


def _read_cron(text: str) -> Ends | None:
    fields = text.split()
    if len(fields) != 5 or fields[2:] != ["*", "*", "*"]:
        return None
    minute, hour = fields[:2]
    if step := re.fullmatch(r"\*/(\d+)", minute):
        count = int(step[1])
        return Ends(timedelta(minutes=count)) if hour == "*" and count and 60 % count == 0 else None
    if minute == "*":
        return Ends(timedelta(minutes=1)) if hour == "*" else None
    if not _MINUTE.fullmatch(minute):
        return None
    offset = timedelta(minutes=int(minute))
    if hour == "*":
        return Ends(timedelta(hours=1), offset)
    if step := re.fullmatch(r"\*/(\d+)", hour):
        count = int(step[1])
        return Ends(timedelta(hours=count), offset) if count and 24 % count == 0 else None
    return Ends(timedelta(days=1), timedelta(hours=int(hour)) + offset) if _HOUR.fullmatch(hour) else None


_DEEPEST = 20
"""Deepest nesting of an expression; a name could refer to itself."""
_STEPS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def read_length(file: DagFile, node: ast.expr | None) -> timedelta | None:
    """Return a duration; a number means seconds."""
    try:
        match _worked_out(file, node, _DEEPEST):
            case timedelta() as length:
                return length
            case int() | float() as seconds:
                return timedelta(seconds=seconds)
    except (TypeError, ValueError, ArithmeticError):
        pass  # it is no length, as Python will say when the file runs
    return None


def _worked_out(file: DagFile, node: ast.expr | None, left: int) -> Any:
    if not left:
        return None
    match file.value(node):
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Call(func=ast.Name(id="timedelta") | ast.Attribute(attr="timedelta"), args=[], keywords=keywords):
            return timedelta(**{str(each.arg): _worked_out(file, each.value, left - 1) for each in keywords})
        case ast.BinOp(left=one, op=step, right=other) if type(step) in _STEPS:
            return _STEPS[type(step)](_worked_out(file, one, left - 1), _worked_out(file, other, left - 1))
    return None
