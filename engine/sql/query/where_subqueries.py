"""Sub-queries in WHERE: the rows that meet a row of another relation, or none, are those of a semi or an anti join.

    SELECT * FROM events e WHERE key IN (SELECT key FROM bans b WHERE b.page = 'x' AND b.at < e.at)

    b.page = 'x'     reads the sub-query's rows alone: a filter of them
    b.at < e.at      reads the rows around as well: a condition of the join
    the plan         events semi join Filter(bans) on key = key_2 and at_2 < at; NOT IN and NOT EXISTS are anti joins

`x NOT IN (...)` is unknown, and so not true, when x is NULL and the sub-query gives any row, or when it gives a NULL:
then a second anti join drops those rows, see `_drop_unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, TextPosition, UnsupportedClauseError
from engine.plan.expressions.expr import Call, Case, Column, Expr, columns_of, is_nullable
from engine.plan.expressions.expr import Literal as Constant
from engine.plan.nodes import Filter, Project, Session, Unnest, pass_through
from engine.plan.tree import Node
from engine.sql.column_names import count_columns
from engine.sql.query.aggregate_calls import has_aggregate
from engine.sql.query.conjunctions import filter_rows, where_conditions
from engine.sql.query.join_by_parts import all_parts, part_of
from engine.sql.query.join_choice import choose_join, join_condition_of
from engine.sql.query.query_reader import QueryReader
from engine.sql.query.relation_columns import rename_apart
from engine.sql.query.select_list import read_item
from engine.sql.query.subquery_tests import SubqueryTest, is_plain, read_subquery_test
from engine.sql.query.windows import recoverable_window
from engine.sql.scalar.calls import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, scope_of

_PART = "__part"


@dataclass(frozen=True, slots=True)
class CorrelatedRows:
    """What a sub-query reads, without what it leaves out by itself, and the conditions that read the rows around it as
    well."""

    source: ScopedRows
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _TestedAgainst:
    """What a sub-query gives: its rows, the values that it selects of them, and the conditions that read the rows
    around it as well."""

    rows: Node
    values: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


def filter_by_subquery(queries: QueryReader, outer: ScopedRows, test: SubqueryTest) -> Node:
    """The rows for which the test is true, as they are. Within a window when both relations have one, else for all
    time."""
    return _SubqueryFilter(queries, outer, test).filtered()


def read_correlated(queries: QueryReader, outer: ScopedRows, query: exp.Select) -> CorrelatedRows:
    """The FROM and WHERE of a query that may look at the rows around it."""
    source = rename_apart(queries.read_from(query), outer)
    rows, scope = source.rows, replace(source.scope, outer=outer.scope)
    inputs = Expressions(queries.script, scope)
    inner_conditions: list[Expr] = []
    shared_conditions: list[Expr] = []
    for node in where_conditions(query):
        test = read_subquery_test(node)
        if test is not None:
            rows = filter_by_subquery(queries, ScopedRows(rows, source.scope), test)
            continue
        condition = inputs.condition(node)
        is_inner = columns_of(condition) <= set(source.rows.schema.names)
        (inner_conditions if is_inner else shared_conditions).append(condition)
    return CorrelatedRows(ScopedRows(filter_rows(rows, inner_conditions), scope), tuple(shared_conditions))


@dataclass(frozen=True, slots=True)
class _SubqueryFilter:
    """One test, and the rows that it keeps or drops."""

    queries: QueryReader
    outer: ScopedRows
    test: SubqueryTest

    @property
    def at(self) -> TextPosition | None:
        """Return the position of the test in the script."""
        return self.queries.script.position(self.test.node)

    def filtered(self) -> Node:
        """The rows for which the test is true."""
        inputs = Expressions(self.queries.script, self.outer.scope)
        values = [inputs.translate(node) for node in self.test.values]
        inner = self._inner_rows()
        pairs = [_as_compared(value, inner_value) for value, inner_value in zip(values, inner.values, strict=True)]
        conditions = [*inner.conditions, *(make_call("=", list(pair)) for pair in pairs)]
        rows = self._join(self.outer.rows, inner.rows, conditions, "anti" if self.test.negated else "semi")
        if not self.test.negated or not any(is_nullable(value) for pair in pairs for value in pair):
            return rows
        if len(pairs) > 1:
            raise UnsupportedClauseError(
                "NOT IN of several values that may be NULL is not supported",
                hint="write NOT EXISTS (SELECT ... WHERE x = a AND y = b)",
                at=self.at,
            )
        value, inner_value = pairs[0]
        return self._drop_unknown(rows, value, inner_value, inner)

    def _join(self, rows: Node, inner: Node, conditions: Sequence[Expr], kind: Literal["semi", "anti"]) -> Node:
        """The join, which reads no more of the inner rows than it needs, so that equal ones are kept once."""
        condition = join_condition_of(conditions, rows, inner)
        names = set[str]().union(*(columns_of(condition) for condition in conditions))
        _, window_column = recoverable_window(inner) or (None, None)
        fields = tuple(field for field in inner.schema if field.name in names or field.name == window_column)
        projected = Project(inner, pass_through(fields or inner.schema.fields[:1]))
        return choose_join(rows, projected, kind, condition, self.queries.updating_ttl, self.at)

    def _drop_unknown(self, rows: Node, value: Expr, inner_value: Expr, inner: _TestedAgainst) -> Node:
        """Drop the rows for which NOT IN is unknown: NULL compared with a non-empty set, and any value compared with a
        set that contains NULL.

        It is an anti join with the inner rows by parts (`join_by_parts.py`). A row of value 'a' belongs to one of 16
        parts, a row of NULL to a part of its own. An inner row of NULL stands in all of the parts, so it drops every
        row; one with a value stands in the part of NULL only, so it drops the rows of NULL.
        """
        null_part = Constant("", types.TEXT)
        inner_rows, is_null, part = inner.rows, make_call("is_null", [inner_value]), part_of(value)
        if is_nullable(value):
            part = Case(((make_call("is_null", [value]), null_part),), part, types.TEXT)
            every_part = all_parts("")
            parts: Expr = Case(((is_null, every_part),), make_call("make_array", [null_part]), every_part.type)
        else:
            inner_rows, parts = Filter(inner_rows, is_null), all_parts()
        same_part = make_call("=", [part, Column(_PART, types.TEXT)])
        return self._join(rows, Unnest(inner_rows, _PART, parts), [*inner.conditions, same_part], "anti")

    def _inner_rows(self) -> _TestedAgainst:
        query = self.test.query
        while isinstance(query, exp.Subquery | exp.Paren):
            query = query.this
        if isinstance(query, exp.Select) and is_plain(query) and not has_aggregate(query.expressions):
            return self._rows_of_plain(query)
        relation = self.queries.translate(query)
        window, window_column = recoverable_window(relation.rows) or (None, None)
        if isinstance(window, Session) and window_column is None:
            raise UnsupportedClauseError(
                "a query of sessions cannot stand behind IN or EXISTS",
                hint="write a join that names the window of both",
                at=self.at,
            )
        source = rename_apart(ScopedRows(relation.rows, scope_of(relation, None)), self.outer)
        return _TestedAgainst(source.rows, self._values_of(source.scope), ())

    def _rows_of_plain(self, query: exp.Select) -> _TestedAgainst:
        correlated = read_correlated(self.queries, self.outer, query)
        rows, scope = correlated.source.rows, correlated.source.scope
        inputs = Expressions(self.queries.script, scope)
        values = [column.expr for item in query.expressions for column in read_item(item, scope, inputs.translate)]
        if not self.test.values:
            return _TestedAgainst(rows, (), correlated.conditions)
        self._check_count(len(values))
        return _TestedAgainst(rows, tuple(values), correlated.conditions)

    def _values_of(self, scope: Scope) -> tuple[Expr, ...]:
        """All columns that the query gives; none when the test has no values to compare them with."""
        if not self.test.values:
            return ()
        self._check_count(len(scope.shown))
        return tuple(visible.column for visible in scope.shown)

    def _check_count(self, count: int) -> None:
        expected = len(self.test.values)
        if count != expected:
            raise ColumnCountError(
                f"IN takes a query of {count_columns(expected)}, not of {count_columns(count)}",
                hint="select one" if expected == 1 else "select as many columns as precede IN",
                at=self.at,
            )


def _as_compared(value: Expr, inner_value: Expr) -> tuple[Expr, Expr]:
    """Both sides of an equality as the type in which they are compared."""
    comparison = make_call("=", [value, inner_value])
    assert isinstance(comparison, Call)
    left, right = comparison.arguments
    return left, right
