"""Expressions over Arrow batches, for those that a source has to know before Spark does: event times and watermarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.plan.expr import Column, Expr

if TYPE_CHECKING:
    import pyarrow as pa


def can_evaluate(expr: Expr) -> bool:
    """Whether `evaluate` knows the expression and everything inside it."""
    return isinstance(expr, Column)


def evaluate(expr: Expr, rows: pa.RecordBatch) -> pa.Array:
    """The value of the expression for each row, the same as Spark gives; only for what `can_evaluate` accepts."""
    match expr:
        case Column(name):
            return rows.column(name)
    raise NotImplementedError(str(expr))
