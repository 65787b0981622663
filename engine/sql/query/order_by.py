"""ORDER BY, LIMIT, OFFSET and DISTINCT ON of a SELECT.

SELECT key, n FROM windowed ORDER BY n DESC LIMIT 3     Top: the best three rows of each window, with its window in
                                                        a column `__order0` that is dropped again
SELECT key, at FROM events ORDER BY at LIMIT 3          UpdatingTop: the best so far, as changelog rows
SELECT key FROM events ORDER BY at                      refused: a stream has no end at which to sort it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, OverError, ScriptRefused, UnsupportedClauseError
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import Order, Project, Top
from engine.plan.tree import Node
from engine.sql.catalog import errors_located
from engine.sql.query.over import RowRange, Translate, read_order, refuse_unordered, top_rows
from engine.sql.query.relation_columns import output_column
from engine.sql.query.windows import recoverable_window, with_window
from engine.sql.text.parse import Script, refused_clause

_CLAUSES = ("order", "limit", "offset")
_MAX_COUNT = 2**31 - 1


@dataclass(slots=True)
class SelectedRows:
    """Result of a SELECT: its columns, and the rows that DISTINCT ON, ORDER BY and LIMIT leave per window, or of all
    rows without one. `extra_columns` are sort keys that are not selected."""

    select: exp.Select
    columns: tuple[Named, ...]
    translate: Translate
    script: Script
    ttl: timedelta
    extra_columns: list[Named] = field(default_factory=list)

    def over(self, build: Callable[[], Node]) -> Node:
        """Return the rows. `build` returns the relation below, and is called again once everything was translated,
        since ORDER BY may need more columns."""
        clauses = [name for name in _CLAUSES if self.select.args.get(name)]
        keys = distinct_on(self.select)
        if not clauses and not keys:
            return Project(build(), self.columns)
        windowed = recoverable_window(build())
        self._refuse_clauses(clauses, has_keys=bool(keys), has_window=windowed is not None)
        if windowed is None:
            return self._over_stream(build, keys)
        _, window_column = windowed
        if window_column is None:
            raise OverError(
                "the input has a window and does not pass it on", hint="select the window in the inner query"
            )
        return self._over_windows(build, window_column)

    def _refuse_clauses(self, clauses: Sequence[str], *, has_keys: bool, has_window: bool) -> None:
        if not has_window and not has_keys and not {"order", "limit"} <= set(clauses):
            raise ScriptRefused([refused_clause(self.select, name, self.script) for name in clauses])
        if has_keys and (has_window or {"limit", "offset"} & set(clauses)):
            raise UnsupportedClauseError(
                "DISTINCT ON of windows, or beside LIMIT, is not supported",
                hint="use row_number() OVER (PARTITION BY window, key ORDER BY ...) = 1",
            )
        if self.select.args.get("distinct") is not None and not has_keys:
            raise UnsupportedClauseError(
                "ORDER BY beside DISTINCT is not supported", hint="put DISTINCT in a sub-query"
            )

    def _over_stream(self, build: Callable[[], Node], keys: Sequence[exp.Expr]) -> Node:
        """Return the first rows so far of all rows, or of those with equal values of the keys."""
        order_by = self.select.args.get("order")
        with errors_located(self.script.position(order_by)):
            order = read_order(order_by, self._ordering_column)
            refuse_unordered(order)
        partition = tuple(self._column_of(self.translate(key)) for key in keys)
        offset = _read_count(self.select, "offset", self.script) or 0
        limit = 1 if keys else _read_count(self.select, "limit", self.script) or 0
        rows = Project(build(), (*self.columns, *self.extra_columns))
        return top_rows(rows, self.columns, RowRange(partition, order, offset, limit), self.ttl)

    def _over_windows(self, build: Callable[[], Node], window_column: str) -> Node:
        """Return the first rows of each window."""
        selected = next((column.expr for column in self.columns if _is_column(column.expr, window_column)), None)
        window = self._column_of(selected or Column(window_column, types.WINDOW, nullable=False))
        order_by = self.select.args.get("order")
        with errors_located(self.script.position(order_by)):
            order: tuple[Order, ...] = read_order(order_by, self._ordering_column)
        limit = _read_count(self.select, "limit", self.script)
        rows = Project(with_window(build()), (*self.columns, *self.extra_columns))
        top = Top(rows, window.name, order, limit, _read_count(self.select, "offset", self.script) or 0)
        if not self.extra_columns:
            return top
        return Project(top, tuple(Named(column.name, output_column(column)) for column in self.columns))

    def _ordering_column(self, item: exp.Expr) -> Expr:
        selected = _selected_column(item, self.columns)
        return self._column_of(self.translate(item) if selected is None else selected.expr)

    def _column_of(self, expr: Expr) -> Column:
        """Return the column of an expression, added if it is not selected."""
        columns = (*self.columns, *self.extra_columns)
        column = next((column for column in columns if column.expr == expr), None)
        if column is None:
            column = Named(f"__order{len(self.extra_columns)}", expr)
            self.extra_columns.append(column)
        return output_column(column)


def distinct_on(select: exp.Select) -> list[exp.Expr]:
    """Return the values in DISTINCT ON. Each has its first row."""
    distinct = select.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    keys = [] if on is None else on.expressions if isinstance(on, exp.Tuple) else [on.unnest()]
    if on is not None and not keys:
        raise UnsupportedClauseError("DISTINCT ON takes one value or more", hint="write DISTINCT ON (key)")
    return list(keys)


def _is_column(expr: Expr, name: str) -> bool:
    return isinstance(expr, Column) and expr.name == name


def _selected_column(item: exp.Expr, columns: Sequence[Named]) -> Named | None:
    """Return the selected column that an item of ORDER BY names or counts."""
    if isinstance(item, exp.Literal) and not item.is_string:
        index = int(item.name) if re.fullmatch("[0-9]{1,9}", item.name) else 0
        if not 1 <= index <= len(columns):
            raise ColumnCountError(
                f"ORDER BY {item.name} is not the number of a column", hint=f"there are {len(columns)}"
            )
        return columns[index - 1]
    if isinstance(item, exp.Column) and not item.table:
        return next((column for column in columns if column.name.lower() == item.name.lower()), None)
    return None


def _read_count(select: exp.Select, name: str, script: Script) -> int | None:
    """Return the number in LIMIT or OFFSET; None without the clause."""
    clause = select.args.get(name)
    if clause is None:
        return None
    number = clause.expression if type(clause) in (exp.Limit, exp.Offset) else None
    if clause.args.get("expressions") or not isinstance(number, exp.Literal) or number.is_string:
        raise refused_clause(select, name, script)
    if not re.fullmatch("[0-9]{1,10}", number.name) or int(number.name) > _MAX_COUNT:
        raise OverError(f"{name.upper()} takes a whole number up to {_MAX_COUNT}", at=script.position(number))
    return int(number.name)
