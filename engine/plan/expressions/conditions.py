"""Conditions of joins, split so that what looks at one side is computed before the sides meet.

upper(a.s) = 'X' AND a.n + 1 < b.m * 2
left   xl0 = upper(a.s) = 'X', xl1 = a.n + 1
right  xr0 = b.m * 2
left to be computed for each pair of rows, without Spark:  xl0 AND xl1 < xr0
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.plan.expressions.evaluable import can_evaluate
from engine.plan.expressions.expr import Column, Expr, Literal, Named, columns_of, replace_parts
from engine.schema import Schema


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """A condition over columns that are computed on the left and on the right side."""

    condition: Expr
    left: tuple[Named, ...]
    right: tuple[Named, ...]


def split_condition(condition: Expr, left: Schema, right: Schema) -> SplitCondition | None:
    """The condition with everything that only reads one side as a column of it; None when what is left cannot be
    evaluated without Spark. The new columns are `xl0`, ... and `xr0`, ..."""
    columns: tuple[list[Named], list[Named]] = ([], [])

    def column(part: Expr) -> Expr | None:
        if isinstance(part, Literal) and can_evaluate(part):
            return None
        read = columns_of(part)
        number = 0 if read <= set(left.names) else 1 if read <= set(right.names) else None
        if number is None:
            return None
        named = next((named for named in columns[number] if named.expr == part), None)
        if named is None:
            named = Named(f"x{'lr'[number]}{len(columns[number])}", part)
            columns[number].append(named)
        return Column(named.name, part.type)

    both_sides = replace_parts(condition, column)
    return SplitCondition(both_sides, tuple(columns[0]), tuple(columns[1])) if can_evaluate(both_sides) else None
