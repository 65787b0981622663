"""Scalar expressions as frozen, typed values.

An expression only contains resolved names and functions that are declared in `engine.functions`, so no text of the user
is printed. Operators are functions, too: `Call("+", ...)`, `Call("and", ...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal as Number
from typing import TypeAlias

from engine import types

Value: TypeAlias = None | bool | int | float | Number | str | bytes | datetime | date | timedelta


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column of the relation below."""

    name: str
    type: types.Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `None` is NULL of the given type."""

    value: Value
    type: types.Type


@dataclass(frozen=True, slots=True)
class Call:
    """A declared function with arguments of the types that it takes. A user-defined function is only called where
    `when` is true, and returns NULL elsewhere."""

    function: str
    arguments: tuple[Expr, ...]
    type: types.Type
    nullable: bool = True
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Cast:
    """The input as another type. A value that cannot be converted fails the run, or gives NULL if `lenient`."""

    input: Expr
    type: types.Type
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first condition that is true, else the default, else NULL."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr | None
    type: types.Type


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct; NULL if the struct is NULL."""

    input: Expr
    name: str
    type: types.Type


Expr: TypeAlias = Column | Literal | Call | Cast | Case | Member


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of its column."""

    name: str
    expr: Expr


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly inside, in order."""
    match expr:
        case Call(_, arguments, when=when):
            return arguments if when is None else (*arguments, when)
        case Cast(inner) | Member(inner):
            return (inner,)
        case Case(branches, default):
            inside = tuple(part for branch in branches for part in branch)
            return inside if default is None else (*inside, default)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and everything inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def columns_of(expr: Expr) -> frozenset[str]:
    """Return the names of all columns that the expression reads."""
    return frozenset(part.name for part in walk(expr) if isinstance(part, Column))


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with `change` applied to every part, innermost first."""
    match expr:
        case Call(_, arguments, when=when):
            guard = None if when is None else rewrite(when, change)
            expr = replace(expr, arguments=tuple(rewrite(part, change) for part in arguments), when=guard)
        case Cast(inner) | Member(inner):
            expr = replace(expr, input=rewrite(inner, change))
        case Case(branches, default):
            expr = replace(
                expr,
                branches=tuple((rewrite(test, change), rewrite(value, change)) for test, value in branches),
                default=None if default is None else rewrite(default, change),
            )
    return change(expr)


def replace_parts(expr: Expr, find: Callable[[Expr], Expr | None]) -> Expr:
    """Return the expression with every outermost part replaced for which `find` returns a replacement."""
    replacement = find(expr)
    if replacement is not None:
        return replacement
    match expr:
        case Call(_, arguments, when=when):
            guard = None if when is None else replace_parts(when, find)
            return replace(expr, arguments=tuple(replace_parts(part, find) for part in arguments), when=guard)
        case Cast(inner) | Member(inner):
            return replace(expr, input=replace_parts(inner, find))
        case Case(branches, default):
            return replace(
                expr,
                branches=tuple((replace_parts(test, find), replace_parts(value, find)) for test, value in branches),
                default=None if default is None else replace_parts(default, find),
            )
    return expr


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """Return the expression with columns replaced by the expressions that define them."""
    return rewrite(expr, lambda part: values.get(part.name, part) if isinstance(part, Column) else part)


def is_nullable(expr: Expr) -> bool:
    """Whether the expression may be NULL."""
    match expr:
        case Column(nullable=nullable) | Call(nullable=nullable):
            return nullable
        case Literal(value):
            return value is None
        case Cast(inner, lenient=lenient):
            return lenient or is_nullable(inner)
        case Case(branches, default):
            return default is None or is_nullable(default) or any(is_nullable(value) for _, value in branches)
        case Member():
            return True
