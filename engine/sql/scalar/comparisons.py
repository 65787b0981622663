"""Tests that have a syntax of their own: IS, IN, BETWEEN, = ANY and <> ALL."""

from __future__ import annotations

from sqlglot import exp

from engine.errors import UnsupportedClauseError
from engine.plan.expressions.expr import Expr
from engine.sql.scalar.calls import TranslateCall, make_call, negated

USE_IN_WHERE = "use it in WHERE, alone or beside other conditions with AND"


def translate_comparison(node: exp.Expr, translate_call: TranslateCall) -> Expr | None:
    """The value of such a test; None for every other expression."""
    match node:
        case exp.Is():
            return _is(node, translate_call)
        case exp.In():
            if node.args.get("query") or node.args.get("unnest"):
                raise UnsupportedClauseError("IN with a sub-query is not supported here", hint=USE_IN_WHERE)
            return translate_call("in", [node.this, *node.expressions])
        case exp.Between():
            return _between(node, translate_call)
        case exp.EQ() | exp.NEQ():
            return _among_elements(node, translate_call)
    return None


def _is(node: exp.Is, translate_call: TranslateCall) -> Expr:
    match node.expression:
        case exp.Null():
            return negated(node, translate_call("is_null", [node.this]))
        case exp.Boolean(this=value):
            return negated(node, translate_call("is_true" if value else "is_false", [node.this]))
    raise UnsupportedClauseError(f"IS {node.expression.sql()} is not supported", hint="use IS NULL or =")


def _between(node: exp.Between, translate_call: TranslateCall) -> Expr:
    low, high = node.args["low"], node.args["high"]
    between = translate_call("between", [node.this, low, high])
    if not node.args.get("symmetric"):
        return between
    return make_call("or", [between, translate_call("between", [node.this, high, low])])


def _among_elements(node: exp.EQ | exp.NEQ, translate_call: TranslateCall) -> Expr | None:
    """Whether a value is among the elements of an array, `= ANY(array)`, or is none of them, `<> ALL(array)`."""
    word = "any" if isinstance(node, exp.EQ) else "all"
    array = _array_behind(word, node.expression)
    if array is None:
        return None
    if isinstance(array, exp.Query):
        raise UnsupportedClauseError(f"{word.upper()} with a sub-query is not supported here", hint=USE_IN_WHERE)
    if isinstance(array, exp.Array):
        is_among = translate_call("in", [node.this, *array.expressions])
    elif word == "all":
        raise UnsupportedClauseError("ALL takes an array literal", hint="use NOT array_has(array, value)")
    else:
        is_among = translate_call("array_has", [array, node.this])
    return is_among if word == "any" else make_call("not", [is_among])


def _array_behind(word: str, node: exp.Expr) -> exp.Expr | None:
    """Return the array in the parentheses of ANY or ALL; the parser knows ANY, and takes ALL for a function."""
    array: exp.Expr | None = None
    if isinstance(node, exp.Any) and word == "any":
        array = node.this.unnest()
    elif isinstance(node, exp.Anonymous) and node.name.lower() == word and len(node.expressions) == 1:
        array = node.expressions[0]
    return array
