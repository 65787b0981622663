"""Functions that choose among their arguments, and functions that make structs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from engine.functions.base import Function, Resolve, Signature, always, never, takes_alike
from engine.functions.coercion import common_type
from engine.types import Member, Struct, Type


def _choose(arguments: Sequence[Type]) -> Signature | None:
    if len(arguments) != 3:
        return None
    shared = common_type(arguments[1], arguments[2])
    return None if shared is None else Signature((arguments[0], shared, shared), shared)


def _conditional(
    name: str, usage: str, doc: str, resolve: Resolve, nullable: Callable[[Iterable[bool]], bool], *aliases: str
) -> Function:
    return Function(name, "conditional", usage, doc, resolve, aliases, nullable)


CONDITIONAL_FUNCTIONS = (
    replace(
        _conditional(
            "coalesce",
            "coalesce(value, ...)",
            "The first value that is not NULL; NULL when all are.",
            takes_alike(),
            all,
        ),
        cannot_fail=True,
    ),
    _conditional(
        "nvl",
        "nvl(value, otherwise)",
        "The value, or `otherwise` where it is NULL.",
        takes_alike(least=2, most=2),
        all,
        "ifnull",
    ),
    _conditional(
        "nvl2",
        "nvl2(value, then, otherwise)",
        "`then` where the value is not NULL, else `otherwise`.",
        _choose,
        any,
    ),
    _conditional(
        "nullif",
        "nullif(a, b)",
        "NULL when both are equal, else `a`.",
        takes_alike(least=2, most=2),
        always,
    ),
    _conditional(
        "greatest",
        "greatest(value, ...)",
        "The greatest value that is not NULL; NULL when all are.",
        takes_alike(least=2),
        all,
    ),
    _conditional(
        "least",
        "least(value, ...)",
        "The least value that is not NULL; NULL when all are.",
        takes_alike(least=2),
        all,
    ),
)


def _numbered_struct(arguments: Sequence[Type]) -> Signature | None:
    members = tuple(Member(f"c{index}", kind) for index, kind in enumerate(arguments))
    return Signature(tuple(arguments), Struct(members)) if members else None


def _named_struct(arguments: Sequence[Type]) -> Signature | None:
    """Resolve the values of a named struct. Its member names are constants that the caller has to read."""
    struct = _numbered_struct(arguments[1::2])
    return None if struct is None or len(arguments) % 2 else Signature(tuple(arguments), struct.result)


def _struct(name: str, usage: str, doc: str, resolve: Resolve) -> Function:
    return Function(name, "struct", usage, doc, resolve, nullable=never)


STRUCT_FUNCTIONS = (
    _struct(
        "struct",
        "struct(value [AS name], ...)",
        "The values as one struct, called `c0`, `c1` and so on where they have no name; never NULL.",
        _numbered_struct,
    ),
    _struct(
        "named_struct",
        "named_struct('name', value, ...)",
        "The values as one struct under constant names: `{name: value, ...}`; never NULL.",
        _named_struct,
    ),
)
