"""Which expressions can be computed over Arrow batches, where Spark is not: event times and watermarks in a source, and
conditions of updating joins. `engine.arrow.evaluate` computes them."""

from __future__ import annotations

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member

_ORDERED = types.Integer | types.Float | types.Text | types.Timestamp | types.Interval | types.Boolean
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from", "between", "in"})
_CHOICES = frozenset({"coalesce", "nvl", "nvl2", "nullif", "greatest", "least"})
_LOGIC = frozenset({"and", "or", "not", "is_null", "is_not_null", "is_true", "is_not_true", "is_false", "is_not_false"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "negate"})
_INSTANTS = frozenset(
    {"from_unixtime", "to_timestamp_seconds", "to_timestamp_millis", "to_timestamp_micros", "to_timestamp_nanos"}
)
_TIME = _INSTANTS | {"to_timestamp", "date_trunc", "epoch", "to_unixtime"}

EVALUATED = _COMPARISONS | _CHOICES | _LOGIC | _ARITHMETIC | _TIME
"""The functions that `evaluate` knows, beside those that have a kernel in `engine.arrow.functions`."""


def can_evaluate(expr: Expr) -> bool:
    """Whether `evaluate` knows the expression and everything inside it."""
    match expr:
        case Column():
            return True
        case Literal(value, kind):
            return value is None or isinstance(kind, _ORDERED | types.Date)
        case Call(function, arguments):
            is_known = is_left_to_kernel(expr) or _knows(function, arguments)
            return is_known and all(map(can_evaluate, arguments))
        case Cast(inner, kind, lenient):
            return _casts(inner.type, kind, lenient=lenient) and can_evaluate(inner)
        case Case(branches, default):
            inside = [part for branch in branches for part in branch] + ([] if default is None else [default])
            return all(map(can_evaluate, inside))
        case Member(inner):
            return can_evaluate(inner)


def is_left_to_kernel(call: Call) -> bool:
    """Whether a kernel of `engine.arrow.functions` computes the call."""
    plain = call.function in EVALUATED and _is_plain(call.function, call.arguments)
    return not plain and _has_kernel(call.function, call.arguments)


def _knows(function: str, arguments: tuple[Expr, ...]) -> bool:
    if function not in EVALUATED or not _is_plain(function, arguments):
        return False
    if function in ("*", "/") and not _is_exact(function, arguments):
        return False
    if function in _LOGIC or function in ("coalesce", "nvl", "nvl2"):
        return True
    return all(isinstance(argument.type, _ORDERED) for argument in arguments)


def _is_exact(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether there is nothing to round, as there is when an interval is divided or multiplied by a fraction."""
    kinds = [type(argument.type) for argument in arguments]
    return types.Interval not in kinds or (function == "*" and types.Float not in kinds)


def _is_plain(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether a time is made of one value, and not read in a format."""
    if function not in _INSTANTS | {"to_timestamp", "to_unixtime"}:
        return True
    argument_type = {"to_timestamp": types.Type, "to_unixtime": types.Timestamp}.get(function, types.Integer)
    return len(arguments) == 1 and isinstance(arguments[0].type, argument_type)


def _has_kernel(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether the call is one that Spark leaves to a kernel as well: powers of whole numbers, and times that are read
    in a format."""
    declared = FUNCTIONS.get(function)
    if declared is None or not declared.is_computed:
        return False
    if function == "power":
        return all(isinstance(argument.type, types.Integer) for argument in arguments)
    return declared.family != "time" or function == "to_char" or len(arguments) > 1


def _casts(source: types.Type, target: types.Type, *, lenient: bool) -> bool:
    match source, target:
        case types.Text() | types.Json(), types.Timestamp() | types.Text() | types.Json():
            return True
        case types.Timestamp() | types.Date(), types.Timestamp() | types.Date():
            return True
        case types.Timestamp() | types.Boolean() | types.Integer(), types.Text():
            return True
        case types.Boolean() | types.Integer(), types.Float():
            return True
        case types.Float(), types.Float():
            return True
    if lenient:
        return False
    match source, target:
        case types.Integer() | types.Float() | types.Boolean() | types.Text(), types.Integer():
            return True
        case (
            (types.Text(), types.Float()) | (types.Timestamp(), types.Integer()) | (types.Integer(), types.Timestamp())
        ):
            return True
    return isinstance(source, types.Integer) and isinstance(target, types.Boolean)
