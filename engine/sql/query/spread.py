"""Rows dealt out to parts, where all of them meet the same few others: else all would be kept in one place."""

from __future__ import annotations

from engine import types
from engine.functions.coercion import can_cast
from engine.plan.calls import coerce
from engine.plan.expr import Column, Expr, Literal
from engine.plan.tree import Node
from engine.sql.scalar.expressions import make_call

PARTS = "0123456789abcdef"
"""What the digits of a digest can be."""


def part_of(value: Expr) -> Expr:
    """The part that a value belongs to; NULL for NULL."""
    if not can_cast(value.type, types.TEXT):
        return Literal(PARTS[0], types.TEXT)
    digest = make_call("md5", [coerce(value, types.TEXT)])
    return make_call("substr", [digest, Literal(1, types.BIGINT), Literal(1, types.BIGINT)])


def part_of_row(rows: Node) -> Expr:
    """The part that a row belongs to, by one of its columns."""
    column = next((one for one in rows.schema if can_cast(one.type, types.TEXT)), rows.schema.fields[0])
    first = Literal(PARTS[0], types.TEXT)
    return make_call("coalesce", [part_of(Column(column.name, column.type, column.nullable)), first])


def all_parts(*further: str) -> Expr:
    """An array of the names of all parts, and of others."""
    return make_call("make_array", [Literal(part, types.TEXT) for part in (*further, *PARTS)])
