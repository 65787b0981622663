"""Compute each user-defined function call in a column of its own, so that it runs once per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.plan.expressions.expr import Call, Column, Expr, children, is_nullable, replace_parts, walk
from engine.spark.printers.expressions import to_sql
from engine.spark.printers.udfs import is_udf, uncopied


def with_calls(rows: DataFrame, exprs: Sequence[Expr]) -> tuple[DataFrame, Sequence[Expr]]:
    """Return the rows with a column for each different call in the expressions, the innermost first, and the
    expressions over those columns. The columns count as nondeterministic: otherwise Spark would compute such a column
    again for each use, and inside conditions that it pushes down."""
    count = 0
    while calls := _innermost(exprs):
        columns = {
            call: Column(f"__own{number}", call.type, is_nullable(call)) for number, call in enumerate(calls, count)
        }
        count += len(columns)
        rows = rows.withColumns({column.name: F.expr(to_sql(uncopied(call))) for call, column in columns.items()})
        exprs = [replace_parts(expr, _reading(columns)) for expr in exprs]
    return rows, exprs


def _reading(columns: Mapping[Call, Column]) -> Callable[[Expr], Expr | None]:
    return lambda part: columns.get(part) if isinstance(part, Call) else None


def _innermost(exprs: Sequence[Expr]) -> Sequence[Call]:
    """Return the different calls that contain no other."""
    calls = [part for expr in exprs for part in walk(expr) if isinstance(part, Call) and is_udf(part)]
    return list(dict.fromkeys(call for call in calls if not any(map(_has_call, children(call)))))


def _has_call(expr: Expr) -> bool:
    return any(isinstance(part, Call) and is_udf(part) for part in walk(expr))
