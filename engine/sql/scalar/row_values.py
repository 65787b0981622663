"""Several values at once: `(a, b) = (1, 2)`, `(a, b) IN ((1, 2), (3, 4))`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from engine.errors import ColumnCountError
from engine.plan.expr import Expr
from engine.sql.scalar.text_constants import check_constants

Translate = Callable[[exp.Expr], Expr]
MakeCall = Callable[[str, list[Expr]], Expr]

_STRICT: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<", exp.GT: ">", exp.GTE: ">"}
_LAST: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def translate_rows(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """The comparison of rows of values, part by part; None for every other expression."""
    return _compared(node, translate, lambda name, arguments: check_constants(make_call(name, arguments)))


def _compared(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    if isinstance(node, exp.In) and node.args.get("query") is None and parts_of_row(node.this):
        tests = [_same(_pairs(node.this, one, translate), make_call) for one in node.expressions]
        return _all(tests, "or", make_call)
    if not isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE) or not parts_of_row(node.this):
        return None
    pairs = _pairs(node.this, node.expression, translate)
    if isinstance(node, exp.EQ):
        return _same(pairs, make_call)
    if isinstance(node, exp.NEQ):
        return make_call("not", [_same(pairs, make_call)])
    found = make_call(_LAST[type(node)], list(pairs[-1]))
    for pair in reversed(pairs[:-1]):
        tie = make_call("and", [make_call("=", list(pair)), found])
        found = make_call("or", [make_call(_STRICT[type(node)], list(pair)), tie])
    return found


def parts_of_row(node: exp.Expr) -> list[exp.Expr]:
    """The values of a row that is written out; none when it is something else."""
    if isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row"):
        return list(node.expressions)
    return []


def _pairs(left: exp.Expr, right: exp.Expr, translate: Translate) -> list[tuple[Expr, Expr]]:
    ours, theirs = parts_of_row(left), parts_of_row(right)
    if len(ours) != len(theirs):
        raise ColumnCountError(
            f"a row of {len(ours)} values is compared with one of {len(theirs) or 1}", hint="write (a, b) = (1, 2)"
        )
    return [(translate(one), translate(other)) for one, other in zip(ours, theirs, strict=True)]


def _same(pairs: Sequence[tuple[Expr, Expr]], make_call: MakeCall) -> Expr:
    return _all([make_call("=", list(pair)) for pair in pairs], "and", make_call)


def _all(tests: list[Expr], word: str, make_call: MakeCall) -> Expr:
    return tests[0] if len(tests) == 1 else make_call(word, tests)
