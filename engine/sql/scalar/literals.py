"""Literals: numbers, texts, bytes, true, false and NULL.

7          BIGINT, or refused if it does not fit
7.0, 7e0   DOUBLE; 1e999 is refused instead of becoming infinity
x'0aff'    BYTEA
-7         one literal, so that the smallest BIGINT can be written

INTERVAL literals, and arithmetic with months.

A month has no fixed length, so an interval with months is not a value; it is split where it is added:

    at + INTERVAL '1 month 2 days'   add_months(at, 1) + 2 days
    at - INTERVAL '1 year'           add_months(at, -12)

Refuse text constants that can never be converted to the required type, at compile time.

    at > '2024-02-30'     refused: there is no such day
    n = 'seven'           refused: not an integer
    TRY_CAST('seven' AS INT)   is NULL, as intended

The check accepts everything that Spark accepts, so that no valid script is refused: '7 ' and 'yes' are accepted, and so
is any text after a date.

Row values that are compared member by member.

    (a, b) = (1, 2)                  a = 1 and b = 2
    (a, b) IN ((1, 2), (3, 4))       (a = 1 and b = 2) or (a = 3 and b = 4)
    (a, b, c) <= (1, 2, 3)           a < 1 or (a = 1 and (b < 2 or (b = 2 and c <= 3)))
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, FunctionArgumentsError, TypeMismatchError
from engine.plan.expressions.calls import call
from engine.plan.expressions.expr import Call, Cast, Expr, Literal
from engine.sql.scalar.comparisons import MakeCall, Translate, clipped, make_call
from engine.values.durations import read_duration, read_months

MOST_MONTHS = 12 * 10_000
"""A TIMESTAMP has a year of four digits."""


def translate_literal(node: exp.Expr) -> Expr | None:
    """Return the value of a literal; None for every other expression."""
    match node:
        case exp.Null():
            return Literal(None, types.Null())
        case exp.Boolean():
            return Literal(bool(node.this), types.BOOLEAN)
        case exp.HexString():
            return Literal(_bytes(node.name), types.Bytes())
        case exp.ByteString():
            return Literal(node.name, types.TEXT)
        case exp.Literal():
            return Literal(node.name, types.TEXT) if node.is_string else _number(node.name)
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return _number("-" + number.name)
    return None


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise TypeMismatchError(
            f"x'{clipped(digits)}' is not a valid BYTEA literal", hint="write two hexadecimal digits per byte"
        ) from None


def _number(text: str) -> Expr:
    try:
        if not any(mark in text for mark in ".eE"):
            return _integer(int(text))
        value = float(Decimal(text))
    except (ValueError, InvalidOperation):
        value = math.inf
    if math.isinf(value):
        raise TypeMismatchError(f"{clipped(text)} is out of range for numbers")
    return Literal(value, types.DOUBLE)


def _integer(value: int) -> Expr:
    if not types.BIGINT.holds(value):
        raise TypeMismatchError(
            f"{clipped(str(value))} is out of range for BIGINT", hint="write it with a decimal point"
        )
    return Literal(value, types.BIGINT)


def read_interval(node: exp.Interval) -> timedelta:
    """Return the length of an INTERVAL literal."""
    return read_duration(_written(node))


def read_interval_of_months(node: exp.Interval) -> tuple[int, timedelta] | None:
    """Return the months of an INTERVAL literal and its rest; None without months."""
    return read_months(_written(node))


def translate_moved_by_months(node: exp.Expr, translate: Translate) -> Expr | None:
    """Return a time plus or minus an interval with months in it; None for every other expression."""
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    start, interval = node.this, node.expression
    if isinstance(node, exp.Add) and isinstance(start, exp.Interval):
        start, interval = interval, start
    parts = read_months(_written(interval)) if isinstance(interval, exp.Interval) else None
    if parts is None or isinstance(start, exp.Interval):
        return None
    sign = -1 if isinstance(node, exp.Sub) else 1
    months, length = parts
    if abs(months) > MOST_MONTHS:
        raise FunctionArgumentsError(
            f"an interval of {abs(months) // 12:,} years is longer than the time that a TIMESTAMP can have",
            hint="write an interval of at most 10,000 years",
        )
    time = translate(start)
    moved = call("add_months", [time, Literal(sign * months, types.BIGINT)])
    if moved is None:
        raise FunctionArgumentsError(
            f"an interval of months cannot be added to a value of type {time.type}",
            hint="add it to a TIMESTAMP or a DATE",
        )
    return make_call("+", [moved, Literal(sign * length, types.Interval())]) if length else moved


def _written(node: exp.Interval) -> str:
    """Return the text of the interval: as written in the script (see `sql/text/dialect.py`), else number and unit."""
    written = str(node.meta.get("written", ""))
    if any(mark.isalpha() or mark == ":" for mark in written):
        return written
    unit = node.args.get("unit")
    amount = node.this.name if node.this is not None else ""
    return f"{amount} {unit.name}" if unit is not None else amount


_STRICT: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<", exp.GT: ">", exp.GTE: ">"}
_LAST: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def translate_rows(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """Return the comparison of rows of values, part by part; None for every other expression."""
    return _compared(node, translate, lambda name, arguments: check_constants(make_call(name, arguments)))


def _compared(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    if isinstance(node, exp.In) and node.args.get("query") is None and parts_of_row(node.this):
        tests = [_equal(_pairs(node.this, row, translate), make_call) for row in node.expressions]
        return _chained(tests, "or", make_call)
    if not isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE) or not parts_of_row(node.this):
        return None
    pairs = _pairs(node.this, node.expression, translate)
    if isinstance(node, exp.EQ):
        return _equal(pairs, make_call)
    if isinstance(node, exp.NEQ):
        return make_call("not", [_equal(pairs, make_call)])
    comparison = make_call(_LAST[type(node)], pairs[-1])
    for pair in reversed(pairs[:-1]):
        tie = make_call("and", [make_call("=", pair), comparison])
        comparison = make_call("or", [make_call(_STRICT[type(node)], pair), tie])
    return comparison


def parts_of_row(node: exp.Expr) -> list[exp.Expr]:
    """Return the values of a row constructor; none for anything else."""
    if isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row"):
        return list(node.expressions)
    return []


def _pairs(left: exp.Expr, right: exp.Expr, translate: Translate) -> list[tuple[Expr, Expr]]:
    left_parts, right_parts = parts_of_row(left), parts_of_row(right)
    if len(left_parts) != len(right_parts):
        raise ColumnCountError(
            f"a row of {len(left_parts)} values cannot be compared with one of {len(right_parts) or 1}",
            hint="write (a, b) = (1, 2)",
        )
    return [(translate(left), translate(right)) for left, right in zip(left_parts, right_parts, strict=True)]


def _equal(pairs: Sequence[tuple[Expr, Expr]], make_call: MakeCall) -> Expr:
    return _chained([make_call("=", pair) for pair in pairs], "and", make_call)


def _chained(tests: list[Expr], word: str, make_call: MakeCall) -> Expr:
    return tests[0] if len(tests) == 1 else make_call(word, tests)


_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(
    r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?|nan|inf|infinity)\s*",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"\s*(t|true|y|yes|on|1|f|false|n|no|off|0)\s*", re.IGNORECASE)
_DAY = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?![0-9]).*)?)?\s*", re.DOTALL)


def check_constants(expr: Expr) -> Expr:
    """Return the expression; raise if it, or one of its arguments, is a text constant that cannot be parsed as its
    type."""
    for part in expr.arguments if isinstance(expr, Call) else (expr,):
        match part:
            case Cast(Literal(str(text)), kind, lenient=False) if not _reads(text, kind):
                shown = text if len(text) <= 40 else text[:37] + "..."
                raise TypeMismatchError(f"{shown!r} is not a {kind}", hint=_HINTS.get(type(kind)))
    return expr


_HINTS: dict[type[types.Type], str] = {
    types.Timestamp: "write it as '2024-01-31 23:59:59' or '2024-01-31T23:59:59Z'",
    types.Date: "write it as '2024-01-31'",
    types.Boolean: "write true or false",
}


def _reads(text: str, kind: types.Type) -> bool:
    match kind:
        case types.Integer():
            return _WHOLE.fullmatch(text) is not None
        case types.Float() | types.Decimal():
            return _NUMBER.fullmatch(text) is not None
        case types.Boolean():
            return _TRUTH.fullmatch(text) is not None
        case types.Timestamp() | types.Date():
            match = _DAY.fullmatch(text)
            return match is not None and _is_day(*(int(part or 1) for part in match.groups()))
    return True


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
