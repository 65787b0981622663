"""Rows of values that are compared part by part.

(a, b) = (1, 2)               a = 1 and b = 2
(a, b) IN ((1, 2), (3, 4))    (a = 1 and b = 2) or (a = 3 and b = 4)
(a, b, c) <= (1, 2, 3)        a < 1 or (a = 1 and (b < 2 or (b = 2 and c <= 3)))
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.errors import ColumnCountError
from engine.plan.expressions.expr import Expr
from engine.sql.scalar.calls import MakeCall, Translate
from engine.sql.scalar.unreadable_constants import check_constants

_STRICT: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<", exp.GT: ">", exp.GTE: ">"}
_LAST: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def translate_rows(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """The comparison of rows of values, part by part; None for every other expression."""
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
    """The values of a row that is written out; none when it is something else."""
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
