"""Rows out of arrays."""

from __future__ import annotations

from dataclasses import dataclass

from engine import types
from engine.plan.expressions.expr import Expr
from engine.plan.tree import Node
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Unnest(Node):
    """The input's row once for every element of an array, which becomes the column `name`; none for NULL or an empty
    array."""

    input: Node
    name: str
    array: Expr

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the element."""
        assert isinstance(self.array.type, types.Array)
        return Schema((*self.input.schema, Field(self.name, self.array.type.element, nullable=True)))
