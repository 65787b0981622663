"""UNNEST in a SELECT list: one of them, anywhere in an expression.

SELECT id, upper(unnest(tags)) FROM events

Unnest    a row for every element of `tags`, in a column `__unnest`
Project   id, "upper(unnest(tags))" = upper(__unnest)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, UnsupportedClauseError
from engine.functions import find_function
from engine.plan.expressions.expr import Column, Expr
from engine.plan.nodes import Unnest
from engine.plan.tree import Node
from engine.sql.scalar.calls import make_call
from engine.sql.text.dialect import Arroyo

_ELEMENT = "__unnest"


@dataclass(slots=True)
class ArrayUnnesting:
    """The array that a SELECT list takes apart, once a call of `unnest` was met."""

    array: Expr | None = None

    def element_of(self, node: exp.Expr, translate: Callable[[exp.Expr], Expr]) -> Expr | None:
        """The element that a call of `unnest` stands for; None for everything else."""
        array = None if not isinstance(node, exp.Anonymous) else _array_of(node, translate)
        if array is None:
            return None
        if self.array is not None:
            raise UnsupportedClauseError(
                "a SELECT list can take apart one array only",
                hint="take the second array apart in a query around this one",
            )
        if not isinstance(array.type, types.Array):
            argument = node.expressions[0].sql(dialect=Arroyo, normalize_functions=False)
            raise FunctionArgumentsError(
                f"argument '{argument}' of unnest is not an array", hint=f"it is of type {array.type}"
            )
        self.array = array
        return Column(_ELEMENT, array.type.element)

    def unnest(self, rows: Node) -> Node:
        """The rows, each once for every element of the array, if there is one."""
        return rows if self.array is None else Unnest(rows, _ELEMENT, self.array)


def _array_of(call: exp.Anonymous, translate: Callable[[exp.Expr], Expr]) -> Expr | None:
    """The array that a call takes apart; None for a function that gives one value."""
    function = find_function(call.name)
    if function is not None and function.gives_rows:
        return make_call(function.name, [translate(argument) for argument in call.expressions])
    if call.name.lower() != "unnest":
        return None
    if len(call.expressions) != 1:
        raise FunctionArgumentsError(f"unnest takes one array, not {len(call.expressions)} arguments")
    return translate(call.expressions[0])
