"""INTERSECT and EXCEPT: whole rows, compared with those of another relation."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Project
from engine.plan.structs import make_struct
from engine.plan.tree import Node
from engine.sql.query.group_by import distinct
from engine.sql.query.joins import Matching, choose_join


def compared(left: Node, right: Node, kind: Literal["semi", "anti"], ttl: timedelta) -> Node:
    """The rows of the left that the right has, or has not, each once; here NULL is the same as NULL. Within a window
    when both relations have one, else for all time."""
    once = distinct(left, ttl)
    names = {name: f"__other{index}" for index, name in enumerate(right.schema.names)}
    columns = tuple(Named(names[one.name], Column(one.name, one.type, one.nullable)) for one in right.schema)
    others = Project(right, columns)
    pairs = tuple(
        _alike(Column(own.name, own.type), Column(other.name, other.type), own.nullable or other.nullable)
        for own, other in zip(once.schema, others.schema, strict=True)
    )
    return choose_join(once, others, kind, Matching(pairs, None), ttl, None)


def _alike(own: Column, other: Column, nullable: bool) -> tuple[Expr, Expr]:
    """The equality of two columns. Those that may be NULL are wrapped, since nothing equals NULL."""
    if not nullable:
        return own, other
    wrapped = tuple(make_struct(["value"], [one]) for one in (own, other))
    assert wrapped[0] is not None
    assert wrapped[1] is not None
    return wrapped[0], wrapped[1]
