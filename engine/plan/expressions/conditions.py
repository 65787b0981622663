"""Conditions: the tests they consist of, what one side of a join can compute, and what Arrow can evaluate.

Split join conditions, so that the parts about one side are computed before the join.

    upper(a.s) = 'X' AND a.n + 1 < b.m * 2
    left                                      xl0 = upper(a.s) = 'X', xl1 = a.n + 1
    right                                     xr0 = b.m * 2
    per pair of rows, without Spark           xl0 AND xl1 < xr0

Normalise the sides of comparisons, so that equivalent ones in two scripts are equal.

    3 < n      n > 3       3 < n
    n = user   user = n    n = user

Plans run as their scripts are written, and operators are identified by that. This is only used to compare two scripts.

Decide which expressions can be evaluated over Arrow batches outside of Spark: event times and watermarks in a source,
and conditions of changelog joins. `engine.arrow.evaluate` evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine import types
from engine.functions import FUNCTIONS
from engine.functions.parsers.regex import is_regex
from engine.plan.expressions.expr import (
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    Member,
    Named,
    columns_of,
    replace_parts,
    rewrite,
    walk,
)
from engine.plan.nodes import Filter
from engine.plan.tree import Node
from engine.schema import Schema


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A condition over columns that are computed on the left and on the right side."""

    condition: Expr
    left: tuple[Named, ...]
    right: tuple[Named, ...]


def split_condition(condition: Expr, left: Schema, right: Schema) -> SplitCondition | None:
    """Return the condition with every expression over one side as a column of that side; None if the rest cannot be
    evaluated without Spark. The new columns are `xl0`, ... and `xr0`, ..."""
    columns: tuple[list[Named], list[Named]] = ([], [])

    def column(part: Expr) -> Expr | None:
        if isinstance(part, Literal) and can_evaluate(part):
            return None
        read = columns_of(part)
        number = 0 if read <= set(left.names) else 1 if read <= set(right.names) else None
        if number is None:
            return None
        named = next((named for named in columns[number] if named.expr == part), None)
        if named is None:
            named = Named(f"x{'lr'[number]}{len(columns[number])}", part)
            columns[number].append(named)
        return Column(named.name, part.type)

    both_sides = replace_parts(condition, column)
    return SplitCondition(both_sides, tuple(columns[0]), tuple(columns[1])) if can_evaluate(both_sides) else None


def conjuncts_of(condition: Expr) -> list[Expr]:
    """Return the tests of a condition, in their order."""
    if isinstance(condition, Call) and condition.function == "and":
        return [test for argument in condition.arguments for test in conjuncts_of(argument)]
    return [condition]


def all_of(tests: Sequence[Expr]) -> Expr | None:
    """Return the condition that all tests are true; None without any."""
    if len(tests) < 2:
        return tests[0] if tests else None
    return Call("and", tuple(tests), types.BOOLEAN)


def with_filter(rows: Node, tests: Sequence[Expr]) -> Node:
    """Return the rows for which all tests are true."""
    condition = all_of(tests)
    return rows if condition is None else Filter(rows, condition)


def cannot_fail(test: Expr) -> bool:
    """Whether the test may be evaluated for rows for which the script would not evaluate it."""
    return all(map(_is_harmless, walk(test)))


def _is_harmless(part: Expr) -> bool:
    match part:
        case Call(function):
            return function in FUNCTIONS and FUNCTIONS[function].cannot_fail
        case Cast(inner, types.Integer(bits, signed), lenient):
            widened = isinstance(inner.type, types.Integer) and inner.type.bits <= bits and inner.type.signed == signed
            return lenient or widened
        case Cast(Literal()):
            return True  # a constant that cannot be converted has been refused
        case Cast(lenient=lenient):
            return lenient
        case Column() | Literal() | Member() | Case():
            return True


_TURNED = {">": "<", ">=": "<="}
_SYMMETRIC = {"=", "<>", "is_distinct_from", "is_not_distinct_from"}


def turned(expr: Expr, text: Callable[[Expr], str]) -> Expr:
    """Return the expression with all comparisons in a canonical order; sides of the same kind are ordered by their
    texts."""

    def turn(part: Expr) -> Expr:
        match part:
            case Call(function, (left, right)) if function in _TURNED:
                return replace(part, function=_TURNED[function], arguments=(right, left))
            case Call(function, arguments) if function in _SYMMETRIC:
                return replace(part, arguments=tuple(sorted(arguments, key=text)))
        return part

    return rewrite(expr, turn)


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
"""Functions that `evaluate` supports, besides those with a kernel in `engine.arrow.functions`."""


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


def is_left_to_python(call: Call) -> bool:
    """Whether Spark needs Python for the call: it is the user's, a kernel computes it, or one translates its regular
    expression, which is no constant."""
    declared = FUNCTIONS.get(call.function)
    return declared is None or declared.is_computed or has_unknown_regex(call)


def has_unknown_regex(call: Call) -> bool:
    """Whether the call takes a regular expression that is known only when it runs."""
    declared = FUNCTIONS.get(call.function)
    takes_one = declared is not None and declared.checks.get(1) is is_regex
    return takes_one and not isinstance(call.arguments[1], Literal)


def _knows(function: str, arguments: tuple[Expr, ...]) -> bool:
    if function not in EVALUATED or not _is_plain(function, arguments):
        return False
    if function in ("*", "/") and not _is_exact(function, arguments):
        return False
    if function in _LOGIC or function in ("coalesce", "nvl", "nvl2"):
        return True
    return all(isinstance(argument.type, _ORDERED) for argument in arguments)


def _is_exact(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether nothing is rounded, unlike an interval that is divided or multiplied by a fraction."""
    kinds = [type(argument.type) for argument in arguments]
    return types.Interval not in kinds or (function == "*" and types.Float not in kinds)


def _is_plain(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether a time is a cast of one value, not parsed by a format."""
    if function not in _INSTANTS | {"to_timestamp", "to_unixtime"}:
        return True
    argument_type = {"to_timestamp": types.Type, "to_unixtime": types.Timestamp}.get(function, types.Integer)
    return len(arguments) == 1 and isinstance(arguments[0].type, argument_type)


def _has_kernel(function: str, arguments: tuple[Expr, ...]) -> bool:
    """Whether the call is one that Spark leaves to a kernel as well: powers of whole numbers, and times that are parsed
    by a format."""
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
