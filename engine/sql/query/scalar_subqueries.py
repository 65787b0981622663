"""Sub-queries that stand for one value, an aggregate of other rows: they are joined to the rows that ask for it.

    SELECT id, (SELECT count(*) FROM clicks c WHERE c.key = e.key) AS n FROM events e

    UpdatingAggregate    of clicks by __value0_key0 = key: __value0_0 = count(*)
    UpdatingJoin left    of events with it on key = __value0_key0
    Project              id, n = coalesce(__value0_0, 0), since a row that meets none has NULL there, and counts zero

Rows with a window meet the aggregate of their window. Without an equality all rows meet one aggregate
(`join_by_parts.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from engine import types
from engine.errors import UnsupportedClauseError
from engine.plan.expressions.expr import Column, Expr, Literal, Named
from engine.plan.nodes import Carried, NamedAggregate, Unnest, UpdatingAggregate, WindowAggregate
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.complaints import errors_located
from engine.sql.query.aggregate_calls import has_aggregate, is_aggregate_call, read_aggregate, translate_aggregate
from engine.sql.query.join_by_parts import all_parts, part_of_row
from engine.sql.query.join_choice import JoinCondition, choose_join, join_condition_of
from engine.sql.query.query_reader import QueryReader
from engine.sql.query.relation_columns import output_column
from engine.sql.query.subquery_tests import is_plain, read_subquery_test
from engine.sql.query.where_subqueries import read_correlated
from engine.sql.query.windows import recoverable_window, with_window
from engine.sql.scalar.calls import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import ScopedRows

_HINT = "select one aggregate, such as max(x), of rows that WHERE may match with = to those around it"


@dataclass(slots=True)
class ScalarSubqueries:
    """The sub-queries of one SELECT that stand for values, each with the expression that it becomes."""

    queries: QueryReader
    values: dict[int, Expr] = field(default_factory=dict)
    _subqueries: list[AggregateSubquery] = field(default_factory=list)

    def value_of(self, node: exp.Expr) -> Expr | None:
        """The value of a sub-query that was translated; None for everything else."""
        return self.values.get(id(node))

    def translate_in(self, nodes: Sequence[exp.Expr], outer: ScopedRows) -> None:
        """Take the sub-queries in some expressions over the rows."""
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
        """The rows with columns for the sub-queries: every row stays, whether or not there is a value for it."""
        for subquery in self._subqueries:
            rows = subquery.join_to(rows)
        return rows


def _subqueries_in(node: exp.Expr) -> Iterator[exp.Subquery]:
    """The sub-queries that stand for a value in an expression, outermost only."""
    stack = [] if read_subquery_test(node) is not None else [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Subquery) and isinstance(part.this, exp.Query):
            yield part
        elif not _has_other_subqueries(part):
            stack.extend(reversed(list(part.iter_expressions())))


def _has_other_subqueries(part: exp.Expr) -> bool:
    """Whether the sub-queries in it are tests, or belong to other rows: those that a query or an aggregate reads."""
    is_test = isinstance(part, exp.Exists | exp.Any | exp.All) or (isinstance(part, exp.In) and part.args.get("query"))
    return is_aggregate_call(part) or bool(is_test) or isinstance(part, exp.Query)


@dataclass(slots=True)
class AggregateSubquery:
    """A sub-query that gives one row of aggregates, and the rows around it, of which it looks at the columns alone:
    there may be none yet. The columns that it makes begin with the prefix."""

    queries: QueryReader
    prefix: str
    outer: ScopedRows
    select: exp.Select
    aggregates: list[NamedAggregate] = field(default_factory=list)
    _source: Node | None = None
    _pairs: tuple[Pair, ...] = ()

    def translate(self) -> list[Expr]:
        """The values of its SELECT list, once the rows around it are joined to it."""
        correlated = read_correlated(self.queries, self.outer, self.select)
        inputs = Expressions(self.queries.script, correlated.source.scope)
        condition = join_condition_of(correlated.conditions, self.outer.rows, correlated.source.rows)
        if condition.remainder is not None:
            raise UnsupportedClauseError("aggregates of a sub-query match the rows around it with = only", hint=_HINT)
        outputs = Expressions(self.queries.script, self.outer.scope, lambda node: self._aggregate_column(node, inputs))
        self._source, self._pairs = correlated.source.rows, condition.pairs
        return [outputs.translate(item.unalias()) for item in self.select.expressions]

    def _aggregate_column(self, node: exp.Expr, inputs: Expressions) -> Expr | None:
        """The column of an aggregate; of no rows it is NULL, or zero where it counts."""
        call = read_aggregate(node)
        if call is None:
            return None
        aggregate = translate_aggregate(call, inputs)
        name = f"{self.prefix}_{len(self.aggregates)}"
        self.aggregates.append(NamedAggregate(name, aggregate))
        column = Column(name, aggregate.type)
        return column if aggregate.nullable else make_call("coalesce", [column, Literal(0, types.BIGINT)])

    def join_to(self, rows: Node) -> Node:
        """The rows joined to the groups, of what the sub-query reads, that they match."""
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
        """The groups of rows that have a window, by that window and the keys."""
        if window_column is None:
            raise UnsupportedClauseError(
                "a sub-query over sessions cannot be used as a value", hint="write a join that names the window of both"
            )
        name = f"{self.prefix}_window"
        return WindowAggregate(with_window(source), Carried(window_column), name, keys, tuple(self.aggregates))
