"""Conditions of joins, taken apart so that what looks at one side is computed before the sides meet."""

from __future__ import annotations

from dataclasses import dataclass

from engine.plan.evaluable import can_evaluate
from engine.plan.expr import Column, Expr, Literal, Named, columns_of, replace_parts
from engine.schema import Schema


@dataclass(frozen=True, slots=True)
class Apart:
    """A condition over columns that are computed on the left and on the right side."""

    condition: Expr
    left: tuple[Named, ...]
    right: tuple[Named, ...]


def take_apart(condition: Expr, left: Schema, right: Schema) -> Apart | None:
    """The condition with everything that only reads one side as a column of it; None when what is left cannot be
    evaluated without Spark. The new columns are `xl0`, ... and `xr0`, ..."""
    found: tuple[list[Named], list[Named]] = ([], [])

    def column(part: Expr) -> Expr | None:
        if isinstance(part, Literal) and can_evaluate(part):
            return None
        read = columns_of(part)
        number = 0 if read <= set(left.names) else 1 if read <= set(right.names) else None
        if number is None:
            return None
        known = next((one for one in found[number] if one.expr == part), None)
        if known is None:
            known = Named(f"x{'lr'[number]}{len(found[number])}", part)
            found[number].append(known)
        return Column(known.name, part.type)

    rest = replace_parts(condition, column)
    return Apart(rest, tuple(found[0]), tuple(found[1])) if can_evaluate(rest) else None
