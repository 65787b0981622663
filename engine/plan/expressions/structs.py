"""Structs out of names and values."""

from __future__ import annotations

from collections.abc import Sequence

from engine import types
from engine.plan.expressions.expr import Call, Expr, Literal


def make_struct(names: Sequence[str], values: Sequence[Expr]) -> Expr | None:
    """The values under their names; None when two are called the same, or there is none."""
    if not names or len({name.lower() for name in names}) < len(names):
        return None
    members = tuple(types.Member(name, value.type) for name, value in zip(names, values, strict=True))
    return Call("struct", tuple(values), types.Struct(members), nullable=False)


def make_named_struct(arguments: Sequence[Expr]) -> Expr | None:
    """Names and values by turns; None when a name is no constant text."""
    names = [name.value for name in arguments[::2] if isinstance(name, Literal) and isinstance(name.value, str)]
    if len(names) * 2 != len(arguments):
        return None
    return make_struct(names, arguments[1::2])
