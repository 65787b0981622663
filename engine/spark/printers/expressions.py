"""Print expressions as Spark SQL. No text of the user is passed through: values are printed as literals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine import types
from engine.errors import TooLargeError
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member
from engine.plan.state.width_marks import Former
from engine.spark.printers.calls import call_to_sql
from engine.spark.printers.casts import cast_to_sql
from engine.spark.printers.literals import literal_to_sql, quote_name, type_to_sql

MAX_LENGTH = 500_000
"""Longest printed expression. Nested forms that repeat an argument grow exponentially; no real query comes near this
length."""


def to_sql(expr: Expr) -> str:
    """Return the expression as text for `F.expr`; the text has the expression's type and can be embedded in any
    other."""
    text = _print(expr)
    if len(text) > MAX_LENGTH:
        raise TooLargeError("an expression is too large for Spark", hint="nest fewer functions, or split the query")
    return text


def hash_to_sql(columns: Sequence[Expr], *, seed: int = 0, formers: Sequence[Former] = ()) -> str:
    """Return a BIGINT, never NULL, that is equal for equal values: NULL equals NULL, and zero has no sign. With the
    `formers` of each column a value is hashed in the first of these types that it fits into."""
    parts = [f"{seed}L"]
    for column, former in zip(columns, formers or ((),) * len(columns), strict=True):
        text = to_sql(column)
        parts.append(f"({text}) IS NULL")
        if former:
            parts += _in_former_types(text, former)
            continue
        match column.type:
            case types.Float():
                parts.append(f"CASE WHEN {text} = 0 THEN 0 ELSE {text} END")
            case types.Array() | types.Struct():
                # Spark's hash goes over a NULL inside as if it were not there; the text has a word for it
                parts += [text, f"CAST({text} AS STRING)"]
            case types.Null():
                pass
            case _:
                parts.append(text)
    return f"xxhash64({', '.join(parts)})"


def _in_former_types(text: str, former: Former) -> Iterator[str]:
    """Yield the value in the type in which it is hashed, and NULL in all other types, so that Spark's hash does not
    change."""
    fits = [f"try_cast({text} AS {type_to_sql(kind)}) IS NOT NULL" for kind in former]
    for place, kind in enumerate(former):
        narrower = "".join(f" AND NOT ({fit})" for fit in fits[:place])
        yield f"CASE WHEN {fits[place]}{narrower} THEN try_cast({text} AS {type_to_sql(kind)}) END"
    yield f"CASE WHEN NOT ({' OR '.join(fits)}) THEN {text} END"


def _print(expr: Expr) -> str:
    match expr:
        case Column(name):
            return quote_name(name)
        case Literal(value, kind):
            return literal_to_sql(value, kind)
        case Call(arguments=arguments, when=when):
            guard = None if when is None else to_sql(when)
            return call_to_sql(expr, [to_sql(argument) for argument in arguments], guard)
        case Cast(inner, kind, lenient):
            return cast_to_sql(to_sql(inner), inner.type, kind, lenient=lenient)
        case Case(branches, default):
            tests = " ".join(f"WHEN {to_sql(test)} THEN {to_sql(value)}" for test, value in branches)
            otherwise = "" if default is None else f" ELSE {to_sql(default)}"
            return f"(CASE {tests}{otherwise} END)"
        case Member(inner, name):
            return f"{to_sql(inner)}.{quote_name(name)}"
