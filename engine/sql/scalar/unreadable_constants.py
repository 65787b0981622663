"""Text constants that stand for values of other types: what can never be read is refused before anything runs.

    at > '2024-02-30'     refused: there is no such day
    n = 'seven'           refused: no integer is written so
    TRY_CAST('seven' AS INT)   is NULL, as its user wants

The test is as wide as Spark's own reading, so that a script which runs is never refused: '7 ' and 'yes' are read, and
what follows a day is left to Spark.
"""

from __future__ import annotations

import re
from datetime import date

from engine import types
from engine.errors import TypeMismatchError
from engine.plan.expressions.expr import Call, Cast, Expr, Literal

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(
    r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?|nan|inf|infinity)\s*",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"\s*(t|true|y|yes|on|1|f|false|n|no|off|0)\s*", re.IGNORECASE)
_DAY = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?![0-9]).*)?)?\s*", re.DOTALL)


def check_constants(expr: Expr) -> Expr:
    """The expression; refused when it, or an argument of it, is a text constant that its type cannot be read from."""
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
