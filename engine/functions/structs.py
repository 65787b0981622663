"""Functions that make structs; a member is read as `value.member` or `value['member']`."""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.base import Function, Resolve, Signature, never
from engine.types import Member, Struct, Type


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
