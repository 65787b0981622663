"""Sub-queries that stand for one value, an aggregate of other rows: they are joined to the rows that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from engine import types
from engine.errors import EngineError, UnsupportedClauseError
from engine.plan.expr import Column, Expr, Literal, Named, is_nullable
from engine.plan.nodes import Carried, NamedAggregate, Unnest, UpdatingAggregate, WindowAggregate
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.aggregates import read_aggregate, translate_aggregate
from engine.sql.expressions import Expressions, make_call
from engine.sql.grouping import has_aggregate
from engine.sql.joins import Matching, Side, choose_join, matching_of
from engine.sql.parts import all_parts, part_of_row
from engine.sql.subqueries import Queries, asked_of, is_plain, rows_met
from engine.sql.windows import held_window, with_window

_HINT = "select one aggregate, such as max(x), of rows that WHERE may match with = to those around it"


@dataclass(slots=True)
class Scalars:
    """The sub-queries of one SELECT, each with the expression that stands for it once it was joined."""

    queries: Queries
    values: dict[int, Expr] = field(default_factory=dict)

    def value_of(self, node: exp.Expr) -> Expr | None:
        """The value of a sub-query that was joined; None for everything else."""
        return self.values.get(id(node))

    def joined(self, rows: Side, written: Sequence[exp.Expr]) -> Node:
        """The rows with columns for the sub-queries in some expressions: every row stays, whether or not there is a
        value for it."""
        node = rows.node
        for one in written:
            for query in _queries_in(one):
                try:
                    node = self._join(Side(node, rows.scope), query)
                except EngineError as error:
                    error.at = error.at or self.queries.script.place(query)
                    raise
        return node

    def _join(self, rows: Side, query: exp.Subquery) -> Node:
        select = query.this
        single = isinstance(select, exp.Select) and len(select.expressions) == 1 and is_plain(select)
        if not single or not has_aggregate(select.expressions):
            raise UnsupportedClauseError("a sub-query that stands for a value must give one row", hint=_HINT)
        number = len(self.values)
        asking = Asking(self.queries, f"__value{number}", rows, select)
        node, [value] = asking.joined()
        self.values[id(query)] = value
        return node


def _queries_in(node: exp.Expr) -> Iterator[exp.Subquery]:
    """The sub-queries that stand for a value in an expression, outermost only."""
    todo = [] if asked_of(node) is not None else [node]
    while todo:
        part = todo.pop()
        if isinstance(part, exp.Subquery) and isinstance(part.this, exp.Query):
            yield part
        elif not isinstance(part, exp.Exists | exp.Any | exp.All | exp.Query) and not (
            isinstance(part, exp.In) and part.args.get("query")
        ):
            todo.extend(reversed(list(part.iter_expressions())))


@dataclass(slots=True)
class Asking:
    """A sub-query that gives one row of aggregates, and the rows that ask for it."""

    queries: Queries
    prefix: str
    rows: Side
    select: exp.Select
    aggregates: list[NamedAggregate] = field(default_factory=list)

    def joined(self) -> tuple[Node, list[Expr]]:
        """The rows with what the values are made of, and the values."""
        met = rows_met(self.queries, self.rows, self.select)
        inputs = Expressions(self.queries.script, met.rows.scope)
        matching = matching_of(met.tests, self.rows.node, met.rows.node)
        if matching.condition is not None:
            raise UnsupportedClauseError("aggregates of a sub-query match the rows around it with = only", hint=_HINT)
        outputs = Expressions(self.queries.script, self.rows.scope, lambda node: self._aggregate(node, inputs))
        values = [outputs.translate(item.unalias()) for item in self.select.expressions]
        return self._matched(met.rows.node, matching.equal), values

    def _aggregate(self, node: exp.Expr, inputs: Expressions) -> Expr | None:
        """The column of an aggregate; of no rows it is NULL, or zero where it counts."""
        written = read_aggregate(node)
        if written is None:
            return None
        aggregate = translate_aggregate(written, inputs)
        name = f"{self.prefix}_{len(self.aggregates)}"
        self.aggregates.append(NamedAggregate(name, aggregate))
        column = Column(name, aggregate.type)
        return column if aggregate.nullable else make_call("coalesce", [column, Literal(0, types.BIGINT)])

    def _matched(self, others: Node, equal: Sequence[Pair]) -> Node:
        """The rows joined to the groups of the others that they ask for."""
        held, ttl = held_window(others), self.queries.updating_ttl
        window = None if held is None else held[1]
        pairs = [pair for pair in equal if not (isinstance(pair[1], Column) and pair[1].name == window)]
        keys = tuple(Named(f"{self.prefix}_key{index}", pair[1]) for index, pair in enumerate(pairs))
        found: Node
        if held is None:
            found = UpdatingAggregate(others, keys, tuple(self.aggregates), ttl)
        elif window is None:
            raise UnsupportedClauseError(
                "a sub-query over sessions cannot stand for a value", hint="write a join that names the window of both"
            )
        else:
            name, rows = f"{self.prefix}_window", with_window(others)
            found = WindowAggregate(rows, Carried(window), name, keys, tuple(self.aggregates))
        columns = [Column(key.name, key.expr.type, is_nullable(key.expr)) for key in keys]
        tests: list[Pair] = [(pair[0], column) for pair, column in zip(pairs, columns, strict=True)]
        if held is None and not tests:
            part = f"{self.prefix}_part"
            found = Unnest(found, part, all_parts())
            tests = [(part_of_row(self.rows.node), Column(part, types.TEXT))]
        return choose_join(self.rows.node, found, "left", Matching(tuple(tests), None), ttl, None)
