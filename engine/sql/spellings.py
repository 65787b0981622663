"""Calls in the words of other engines, replaced by what they mean before a statement is translated.

    SELECT year(at), max_by(name, score) ...
    SELECT date_part('year', at), first_value(name ORDER BY score DESC) FILTER (WHERE score IS NOT NULL) ...

The table of calls is in `engine/functions/spellings.py`. An argument takes the place of its name in the meaning.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from engine.functions import find_aggregate, find_function, find_over
from engine.functions.spellings import SPELLINGS
from engine.sql.text.dialect import Arroyo

WRITTEN = "spelling"
"""Under this name, the node of a meaning keeps the call as it was written, for the name of its column."""


def spell_out(statement: exp.Expr) -> exp.Expr:
    """Replace every such call in a statement, inner ones first."""
    for call in reversed([node for node in statement.walk() if isinstance(node, exp.Anonymous)]):
        meaning = _meaning_of(call)
        if meaning is not None:
            meaning.meta[WRITTEN] = call.sql(dialect=Arroyo)
            if "start" in call.meta:
                meaning.meta["start"] = call.meta["start"]
            call.replace(meaning)
    return statement


def _meaning_of(call: exp.Anonymous) -> exp.Expr | None:
    name = call.name.lower()
    if name not in SPELLINGS or find_aggregate(name) or find_over(name) or _fits_declared(name, call):
        return None
    for written, meaning in SPELLINGS[name]:
        if "(" not in written:
            renamed = call.copy()
            renamed.set("this", meaning)
            return renamed
        arguments = _matched(_parsed(written).expressions, call.expressions)
        if arguments is not None:
            return _filled(_parsed(meaning).copy(), arguments)
    return None


def _fits_declared(name: str, call: exp.Anonymous) -> bool:
    """Whether a function of this name is declared, and a call of it is no other spelling of the function itself."""
    function = find_function(name)
    if function is None:
        return False
    counts = {len(_parsed(written).expressions) for written, _ in SPELLINGS[name] if "(" in written}
    return function.by_user or len(call.expressions) not in counts


@cache
def _parsed(text: str) -> exp.Expr:
    """Return the syntax tree of a call or a definition, without positions: it is not in the script."""
    [statement] = Arroyo().parse(f"SELECT {text}")
    assert statement is not None
    value: exp.Expr = statement.expressions[0]
    for node in value.walk():
        for mark in ("start", "end", "line", "col"):
            node.meta.pop(mark, None)
    value.pop()
    return value


def _matched(parameters: list[exp.Expr], arguments: list[exp.Expr]) -> dict[str, exp.Expr] | None:
    """Return the arguments by the names of the parameters; None if they do not fit."""
    if len(parameters) != len(arguments):
        return None
    matched: dict[str, exp.Expr] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if isinstance(argument, exp.Distinct) and len(argument.expressions) > 1:
            return None
        if isinstance(parameter, exp.Literal):
            if parameter != argument:
                return None
        elif parameter.name == "interval" and not isinstance(argument, exp.Interval):
            return None
        elif parameter.name == "unit":
            if not isinstance(argument, exp.Column | exp.Literal | exp.Var):
                return None
            matched["unit"] = exp.Literal.string(argument.name.lower().removeprefix("sql_tsi_"))
        else:
            matched[parameter.name] = argument
    return matched


def _filled(meaning: exp.Expr, arguments: dict[str, exp.Expr]) -> exp.Expr:
    """Return the definition with each parameter replaced by its argument."""
    holder = exp.Paren(this=meaning)
    placed: set[str] = set()
    for column in list(holder.find_all(exp.Column)):
        argument = arguments.get(column.name)
        if isinstance(argument, exp.Distinct) and column.name in placed:
            argument = argument.expressions[0]
        placed.add(column.name)
        if argument is not None:
            is_simple = isinstance(
                argument, exp.Column | exp.Literal | exp.Anonymous | exp.Interval | exp.Paren | exp.Distinct
            )
            column.replace(argument.copy() if is_simple else exp.Paren(this=argument.copy()))
    filled: exp.Expr = holder.this
    return exp.Paren(this=filled) if isinstance(filled, exp.Binary) else filled
