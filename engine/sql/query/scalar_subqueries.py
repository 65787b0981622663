"""Sub-queries that stand for one value, an aggregate of other rows: they are joined to the rows that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from engine import types
from engine.errors import UnsupportedClauseError
from engine.functions import find_aggregate
from engine.plan.expr import Column, Expr, Literal, Named, is_nullable
from engine.plan.nodes import Carried, NamedAggregate, Unnest, UpdatingAggregate, WindowAggregate
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.complaints import errors_located
from engine.sql.query.aggregate_calls import read_aggregate, translate_aggregate
from engine.sql.query.group_by import has_aggregate
from engine.sql.query.joins import Matching, Side, choose_join, matching_of
from engine.sql.query.spread import all_parts, part_of_row
from engine.sql.query.where_subqueries import Queries, asked_of, is_plain, rows_met
from engine.sql.query.windows import held_window, with_window
from engine.sql.scalar.expressions import Expressions, make_call

_HINT = "select one aggregate, such as max(x), of rows that WHERE may match with = to those around it"


@dataclass(slots=True)
class Scalars:
    """The sub-queries of one SELECT that stand for values, each with the expression that it becomes."""

    queries: Queries
    values: dict[int, Expr] = field(default_factory=dict)
    _asking: list[Asking] = field(default_factory=list)

    def value_of(self, node: exp.Expr) -> Expr | None:
        """The value of a sub-query that was met; None for everything else."""
        return self.values.get(id(node))

    def meet(self, rows: Side, written: Sequence[exp.Expr]) -> None:
        """Take the sub-queries in some expressions over the rows."""
        for one in written:
            for query in _queries_in(one):
                with errors_located(self.queries.script.position(query)):
                    self._meet(rows, query)

    def _meet(self, rows: Side, query: exp.Subquery) -> None:
        select = query.this
        single = isinstance(select, exp.Select) and len(select.expressions) == 1 and is_plain(select)
        if not single or not has_aggregate(select.expressions):
            raise UnsupportedClauseError("a sub-query that stands for a value must give one row", hint=_HINT)
        asking = Asking(self.queries, f"__value{len(self._asking)}", rows, select)
        [self.values[id(query)]] = asking.values()
        self._asking.append(asking)

    def over(self, rows: Node) -> Node:
        """The rows with columns for the sub-queries that were met: every row stays, whether or not there is a value for
        it."""
        for asking in self._asking:
            rows = asking.joined_to(rows)
        return rows


def _queries_in(node: exp.Expr) -> Iterator[exp.Subquery]:
    """The sub-queries that stand for a value in an expression, outermost only."""
    todo = [] if asked_of(node) is not None else [node]
    while todo:
        part = todo.pop()
        if isinstance(part, exp.Subquery) and isinstance(part.this, exp.Query):
            yield part
        elif not _asks_otherwise(part):
            todo.extend(reversed(list(part.iter_expressions())))


def _asks_otherwise(part: exp.Expr) -> bool:
    """Whether the sub-queries in it are tests, or belong to other rows: those that a query or an aggregate reads."""
    is_aggregate = isinstance(part, exp.Anonymous) and find_aggregate(part.name.lower()) is not None
    is_test = isinstance(part, exp.Exists | exp.Any | exp.All) or (isinstance(part, exp.In) and part.args.get("query"))
    return is_aggregate or bool(is_test) or isinstance(part, exp.Query)


@dataclass(slots=True)
class Asking:
    """A sub-query that gives one row of aggregates, and the rows that ask for it, of which it looks at the columns
    alone: there may be none yet."""

    queries: Queries
    prefix: str
    rows: Side
    select: exp.Select
    aggregates: list[NamedAggregate] = field(default_factory=list)
    _met: Node | None = None
    _equal: tuple[Pair, ...] = ()

    def values(self) -> list[Expr]:
        """What the row has, once the rows are joined to it."""
        met = rows_met(self.queries, self.rows, self.select)
        inputs = Expressions(self.queries.script, met.rows.scope)
        matching = matching_of(met.tests, self.rows.node, met.rows.node)
        if matching.condition is not None:
            raise UnsupportedClauseError("aggregates of a sub-query match the rows around it with = only", hint=_HINT)
        outputs = Expressions(self.queries.script, self.rows.scope, lambda node: self._aggregate(node, inputs))
        self._met, self._equal = met.rows.node, matching.equal
        return [outputs.translate(item.unalias()) for item in self.select.expressions]

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

    def joined_to(self, rows: Node) -> Node:
        """The rows joined to the groups of what the sub-query reads that they ask for."""
        with errors_located(self.queries.script.position(self.select.parent)):
            return self._joined_to(rows)

    def _joined_to(self, rows: Node) -> Node:
        assert self._met is not None, "its values come first"
        held, ttl = held_window(self._met), self.queries.updating_ttl
        window = None if held is None else held[1]
        pairs = [pair for pair in self._equal if not (isinstance(pair[1], Column) and pair[1].name == window)]
        keys = tuple(Named(f"{self.prefix}_key{index}", pair[1]) for index, pair in enumerate(pairs))
        found: Node
        if held is None:
            found = UpdatingAggregate(self._met, keys, tuple(self.aggregates), ttl)
        elif window is None:
            raise UnsupportedClauseError(
                "a sub-query over sessions cannot stand for a value", hint="write a join that names the window of both"
            )
        else:
            name, source = f"{self.prefix}_window", with_window(self._met)
            found = WindowAggregate(source, Carried(window), name, keys, tuple(self.aggregates))
        columns = [Column(key.name, key.expr.type, is_nullable(key.expr)) for key in keys]
        tests: list[Pair] = [(pair[0], column) for pair, column in zip(pairs, columns, strict=True)]
        if held is None and not tests:
            part = f"{self.prefix}_part"
            found = Unnest(found, part, all_parts())
            tests = [(part_of_row(rows), Column(part, types.TEXT))]
        return choose_join(rows, found, "left", Matching(tuple(tests), None), ttl, None)
