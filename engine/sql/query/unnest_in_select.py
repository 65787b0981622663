"""UNNEST in a SELECT list: one of them, anywhere in an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, UnsupportedClauseError
from engine.functions import find_function
from engine.plan.expr import Column, Expr
from engine.plan.nodes import Unnest
from engine.plan.tree import Node
from engine.sql.scalar.expressions import make_call
from engine.sql.text.dialect import Arroyo

_ELEMENT = "__unnest"


@dataclass(slots=True)
class Unnesting:
    """The array that a SELECT list takes apart, once one was met."""

    array: Expr | None = None

    def element_of(self, node: exp.Expr, translate: Callable[[exp.Expr], Expr]) -> Expr | None:
        """The element that a call of `unnest` stands for; None for everything else."""
        if not isinstance(node, exp.Anonymous):
            return None
        function = find_function(node.name)
        if function is not None and function.gives_rows:
            array = make_call(function.name, [translate(argument) for argument in node.expressions])
        elif node.name.lower() != "unnest":
            return None
        elif len(node.expressions) != 1:
            raise FunctionArgumentsError(f"unnest takes one array, not {len(node.expressions)} arguments")
        else:
            array = translate(node.expressions[0])
        if self.array is not None:
            raise UnsupportedClauseError(
                "Projection contains multiple unnests, which is not currently supported",
                hint="take the second array apart in a query around this one",
            )
        if not isinstance(array.type, types.Array):
            shown = node.expressions[0].sql(dialect=Arroyo, normalize_functions=False)
            raise FunctionArgumentsError(
                f"Argument '{shown}' to unnest is not a List", hint=f"it is of type {array.type}"
            )
        self.array = array
        return Column(_ELEMENT, array.type.element)

    def over(self, rows: Node) -> Node:
        """The rows, each once for every element of the array that was met."""
        return rows if self.array is None else Unnest(rows, _ELEMENT, self.array)
