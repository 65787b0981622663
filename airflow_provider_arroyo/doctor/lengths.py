"""Evaluate literal durations; None if a duration is computed elsewhere, or the value is not a duration.

timedelta(hours=1, minutes=30)
2 * timedelta(days=1)
60 * 60 * 8, in seconds
8 * HOUR, with HOUR = 3600
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from airflow_provider_arroyo.doctor.files import DagFile

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
    """The length; a number is one of seconds."""
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
