"""Functions that are written with words between their arguments, such as `substring(text FROM 2 FOR 3)`.

extract(hour FROM at)              date_part('hour', at)
overlay(text PLACING x FROM 2)     overlay(text, x, 2)
position(x IN text)                strpos(text, x)
trim(LEADING '0' FROM text)        ltrim(text, '0')
"""

from __future__ import annotations

from sqlglot import exp

from engine import types
from engine.plan.expressions.expr import Expr, Literal
from engine.sql.scalar.calls import Translate, TranslateCall, make_call

_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def translate_function(node: exp.Expr, translate: Translate, translate_call: TranslateCall) -> Expr | None:
    """The call of a function, however it is written; None for every other expression."""
    match node:
        case exp.Anonymous():
            return translate_call(node.name.lower(), node.expressions)
        case exp.Extract():
            return make_call("date_part", [Literal(node.name.lower(), types.TEXT), translate(node.expression)])
        case exp.Substring():
            return translate_call("substr", _present(node.this, node.args.get("start"), node.args.get("length")))
        case exp.Overlay():
            parts = _present(node.this, node.expression, node.args.get("from_"), node.args.get("for_"))
            return translate_call("overlay", parts)
        case exp.StrPosition():
            return translate_call("strpos", [node.this, node.args["substr"]])
        case exp.Trim():
            name = _TRIMS.get(str(node.args.get("position") or "").upper(), "btrim")
            return translate_call(name, _present(node.this, node.expression or None))
    return None


def _present(*arguments: exp.Expr | None) -> list[exp.Expr]:
    return [argument for argument in arguments if argument is not None]
