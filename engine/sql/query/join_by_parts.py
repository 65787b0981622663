"""Rows dealt out to parts, where all of them meet the same few others: else all would be kept in one place.

SELECT * FROM orders WHERE total > (SELECT avg(total) FROM orders)       no equality says which rows meet

every order belongs to one of 16 parts, by the first digit of a digest of its first column; the one average is
copied to all 16, and the join is by the part
"""

from __future__ import annotations

from engine import types
from engine.functions.coercion import can_cast
from engine.plan.expressions.calls import coerce
from engine.plan.expressions.expr import Expr, Literal
from engine.plan.tree import Node
from engine.sql.query.relation_columns import column_of
from engine.sql.scalar.calls import make_call

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
    field = next((field for field in rows.schema if can_cast(field.type, types.TEXT)), rows.schema.fields[0])
    return make_call("coalesce", [part_of(column_of(field)), Literal(PARTS[0], types.TEXT)])


def all_parts(*more_parts: str) -> Expr:
    """An array of the names of all parts, behind those of some more."""
    return make_call("make_array", [Literal(part, types.TEXT) for part in (*more_parts, *PARTS)])
