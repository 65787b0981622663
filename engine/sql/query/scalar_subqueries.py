"""Scalar subqueries that aggregate other rows: translated to joins.

    SELECT id, (SELECT count(*) FROM clicks c WHERE c.key = e.key) AS n FROM events e

    UpdatingAggregate    of clicks by __value0_key0 = key: __value0_0 = count(*)
    UpdatingJoin left    of events with it on key = __value0_key0
    Project              id, n = coalesce(__value0_0, 0), since a row that meets none has NULL there, and counts zero

Rows with a window are joined with the aggregate of their window. Without an equality, all rows are joined with one
aggregate (`scalar_subqueries.py`).

Distribute rows over parts if all of them are joined with the same few rows; otherwise all would be stored in one place.

SELECT * FROM orders WHERE total > (SELECT avg(total) FROM orders) has no equality to join by

every order is in one of 16 parts, by the first digit of a digest of its first column; the single average is copied to
all 16, and the join is by part

Subqueries in WHERE: translated to semi and anti joins.

    SELECT * FROM events e WHERE key IN (SELECT key FROM bans b WHERE b.page = 'x' AND b.at < e.at)

    b.page = 'x'     uses only the subquery's rows: a filter of them
    b.at < e.at      uses the outer rows as well: a condition of the join
    the plan         events semi join Filter(bans) on key = key_2 and at_2 < at; NOT IN and NOT EXISTS are anti joins

`x NOT IN (...)` is unknown, and so not true, if x is NULL and the subquery returns any row, or if it returns a NULL:
then a second anti join drops those rows, see `_drop_unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as Literal_typing

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, TextPosition, UnsupportedClauseError
from engine.functions.coercion import can_cast
from engine.plan.expressions.calls import coerce
from engine.plan.expressions.expr import Call, Case, Column, Expr, Literal, Named, columns_of, is_nullable
from engine.plan.expressions.expr import Literal as Constant
from engine.plan.nodes import (
    Carried,
    Filter,
    Hop,
    NamedAggregate,
    Project,
    Tumble,
    Unnest,
    UpdatingAggregate,
    WindowAggregate,
    pass_through,
)
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.catalog import errors_located
from engine.sql.data_types import count_columns
from engine.sql.query.aggregate_calls import has_aggregate, is_aggregate_call, read_aggregate, translate_aggregate
from engine.sql.query.join_choice import JoinCondition, choose_join, filter_rows, join_condition_of, where_conditions
from engine.sql.query.query_reader import QueryReader, SubqueryTest, is_plain, read_subquery_test
from engine.sql.query.relation_columns import column_of, output_column, rename_apart
from engine.sql.query.select_list import read_item
from engine.sql.query.windows import recoverable_window, with_window
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, scope_of

_HINT = "select one aggregate, such as max(x), of rows that WHERE may match with = to those around it"


@dataclass(slots=True)
class ScalarSubqueries:
    """Scalar subqueries of one SELECT, each with the expression that replaces it."""

    queries: QueryReader
    values: dict[int, Expr] = field(default_factory=dict)
    _subqueries: list[AggregateSubquery] = field(default_factory=list)

    def value_of(self, node: exp.Expr) -> Expr | None:
        """Return the value of a sub-query that was translated; None for everything else."""
        return self.values.get(id(node))

    def translate_in(self, nodes: Sequence[exp.Expr], outer: ScopedRows) -> None:
        """Translate the sub-queries in some expressions over the rows."""
        for node in nodes:
            for query in _subqueries_in(node):
                with errors_located(self.queries.script.position(query)):
                    self._translate(query, outer)

    def _translate(self, query: exp.Subquery, outer: ScopedRows) -> None:
        select = query.this
        is_single = isinstance(select, exp.Select) and len(select.expressions) == 1 and is_plain(select)
        if not is_single or not has_aggregate(select.expressions):
            raise UnsupportedClauseError("a sub-query used as a value must return one row", hint=_HINT)
        subquery = AggregateSubquery(self.queries, f"__value{len(self._subqueries)}", outer, select)
        [self.values[id(query)]] = subquery.translate()
        self._subqueries.append(subquery)

    def join_to(self, rows: Node) -> Node:
        """Return the rows with columns for the sub-queries: every row stays, even without a value."""
        for subquery in self._subqueries:
            rows = subquery.join_to(rows)
        return rows


def _subqueries_in(node: exp.Expr) -> Iterator[exp.Subquery]:
    """Yield the sub-queries that are values in an expression, outermost only."""
    stack = [] if read_subquery_test(node) is not None else [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Subquery) and isinstance(part.this, exp.Query):
            yield part
        elif not _has_other_subqueries(part):
            stack.extend(reversed(list(part.iter_expressions())))


def _has_other_subqueries(part: exp.Expr) -> bool:
    """Whether some sub-queries in the expression are tests, or belong to other rows: those that a query or an aggregate
    reads."""
    is_test = isinstance(part, exp.Exists | exp.Any | exp.All) or (isinstance(part, exp.In) and part.args.get("query"))
    return is_aggregate_call(part) or bool(is_test) or isinstance(part, exp.Query)


@dataclass(slots=True)
class AggregateSubquery:
    """A subquery that returns one row of aggregates, and the outer relation. Only its columns are needed,
    since there may be no rows yet. Generated columns begin with the prefix."""

    queries: QueryReader
    prefix: str
    outer: ScopedRows
    select: exp.Select
    aggregates: list[NamedAggregate] = field(default_factory=list)
    _source: Node | None = None
    _pairs: tuple[Pair, ...] = ()

    def translate(self) -> list[Expr]:
        """Return the values of its SELECT list, once the rows around it are joined to it."""
        correlated = read_correlated(self.queries, self.outer, self.select)
        inputs = Expressions(self.queries.script, correlated.source.scope)
        condition = join_condition_of(correlated.conditions, self.outer.rows, correlated.source.rows)
        if condition.remainder is not None:
            raise UnsupportedClauseError("aggregates of a sub-query match the rows around it with = only", hint=_HINT)
        outputs = Expressions(self.queries.script, self.outer.scope, lambda node: self._aggregate_column(node, inputs))
        self._source, self._pairs = correlated.source.rows, condition.pairs
        return [outputs.translate(item.unalias()) for item in self.select.expressions]

    def _aggregate_column(self, node: exp.Expr, inputs: Expressions) -> Expr | None:
        """Return the column of an aggregate; over no rows it is NULL, or zero for a count."""
        call = read_aggregate(node)
        if call is None:
            return None
        aggregate = translate_aggregate(call, inputs)
        name = f"{self.prefix}_{len(self.aggregates)}"
        self.aggregates.append(NamedAggregate(name, aggregate))
        column = Column(name, aggregate.type)
        return column if aggregate.nullable else make_call("coalesce", [column, Literal(0, types.BIGINT)])

    def join_to(self, rows: Node) -> Node:
        """Return the rows joined to the groups, of what the sub-query reads, that they match."""
        with errors_located(self.queries.script.position(self.select.parent)):
            return self._join_to(rows)

    def _join_to(self, rows: Node) -> Node:
        assert self._source is not None, "it is translated first"
        ttl = self.queries.updating_ttl
        window, window_column = recoverable_window(self._source) or (None, None)
        # an equality of the windows is no key: the join is by them anyway
        pairs = [
            (value, key) for value, key in self._pairs if not (isinstance(key, Column) and key.name == window_column)
        ]
        keys = tuple(Named(f"{self.prefix}_key{index}", key) for index, (_, key) in enumerate(pairs))
        equalities: list[Pair] = [(value, output_column(key)) for (value, _), key in zip(pairs, keys, strict=True)]
        groups: Node
        if window is not None:
            groups = self._window_groups(self._source, window_column, keys)
        else:
            groups = UpdatingAggregate(self._source, keys, tuple(self.aggregates), ttl)
            if not equalities:
                part = f"{self.prefix}_part"
                groups = Unnest(groups, part, all_parts())
                equalities = [(part_of_row(rows), Column(part, types.TEXT))]
        return choose_join(rows, groups, "left", JoinCondition(tuple(equalities)), ttl, None)

    def _window_groups(self, source: Node, window_column: str | None, keys: tuple[Named, ...]) -> Node:
        """Return the groups of rows that have a window, by that window and the keys."""
        if window_column is None:
            raise UnsupportedClauseError(
                "a sub-query over sessions cannot be used as a value", hint="write a join that names the window of both"
            )
        name = f"{self.prefix}_window"
        return WindowAggregate(with_window(source), Carried(window_column), name, keys, tuple(self.aggregates))


_PART = "__part"


@dataclass(frozen=True, slots=True)
class CorrelatedRows:
    """Input of a subquery after its own filters, and the conditions that use outer rows."""

    source: ScopedRows
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _TestedAgainst:
    """Result of a subquery: its rows, the selected values, and the conditions that use outer rows."""

    rows: Node
    values: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


def filter_by_subquery(queries: QueryReader, outer: ScopedRows, test: SubqueryTest) -> Node:
    """Return the rows for which the test is true, unchanged. Within a window if both relations have one, else without a
    time limit."""
    return _SubqueryFilter(queries, outer, test).filtered()


def read_correlated(queries: QueryReader, outer: ScopedRows, query: exp.Select) -> CorrelatedRows:
    """Return the FROM and WHERE of a query that may read the rows around it."""
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
    """One condition, and whether it keeps or drops matching rows."""

    queries: QueryReader
    outer: ScopedRows
    test: SubqueryTest

    @property
    def at(self) -> TextPosition | None:
        """Return the position of the test in the script."""
        return self.queries.script.position(self.test.node)

    def filtered(self) -> Node:
        """Return the rows for which the test is true."""
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

    def _join(self, rows: Node, inner: Node, conditions: Sequence[Expr], kind: Literal_typing["semi", "anti"]) -> Node:
        """Return the join, which reads only the needed columns of the inner rows, so that equal ones are stored
        once."""
        condition = join_condition_of(conditions, rows, inner)
        names = set[str]().union(*(columns_of(condition) for condition in conditions))
        _, window_column = recoverable_window(inner) or (None, None)
        fields = tuple(field for field in inner.schema if field.name in names or field.name == window_column)
        projected = Project(inner, pass_through(fields or inner.schema.fields[:1]))
        return choose_join(rows, projected, kind, condition, self.queries.updating_ttl, self.at)

    def _drop_unknown(self, rows: Node, value: Expr, inner_value: Expr, inner: _TestedAgainst) -> Node:
        """Drop the rows for which NOT IN is unknown: NULL compared with a non-empty set, and any value compared with a
        set that contains NULL.

        It is an anti join with the inner rows by parts. A row of value 'a' belongs to one of 16 parts,
        a row of NULL to a part of its own. An inner row of NULL stands in all of the parts, so it drops every
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
        if window is not None and not isinstance(window, Tumble | Hop) and window_column is None:
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
        """Return all columns that the query returns; none if the test compares no values with them."""
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
    """Return both sides of an equality in the type in which they are compared."""
    comparison = make_call("=", [value, inner_value])
    assert isinstance(comparison, Call)
    left, right = comparison.arguments
    return left, right


PARTS = "0123456789abcdef"
"""Possible digits of a digest."""


def part_of(value: Expr) -> Expr:
    """Return the part of a value; NULL for NULL."""
    if not can_cast(value.type, types.TEXT):
        return Literal(PARTS[0], types.TEXT)
    digest = make_call("md5", [coerce(value, types.TEXT)])
    return make_call("substr", [digest, Literal(1, types.BIGINT), Literal(1, types.BIGINT)])


def part_of_row(rows: Node) -> Expr:
    """Return the part of a row, by one of its columns."""
    field = next((field for field in rows.schema if can_cast(field.type, types.TEXT)), rows.schema.fields[0])
    return make_call("coalesce", [part_of(column_of(field)), Literal(PARTS[0], types.TEXT)])


def all_parts(*more_parts: str) -> Expr:
    """Return an array of the names of all parts, after some other names."""
    return make_call("make_array", [Literal(part, types.TEXT) for part in (*more_parts, *PARTS)])
