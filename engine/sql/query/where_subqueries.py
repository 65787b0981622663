"""Sub-queries in WHERE: the rows that meet a row of another relation, or none, are those of a semi or an anti join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, Protocol

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, TextPosition, UnsupportedClauseError
from engine.plan.expr import Case, Column, Expr, columns_of, is_nullable
from engine.plan.expr import Literal as Constant
from engine.plan.nodes import Filter, Project, Session, Unnest, pass_through
from engine.plan.tree import Node
from engine.sql.column_names import count_columns
from engine.sql.query.filters import filtered
from engine.sql.query.group_by import has_aggregate
from engine.sql.query.joins import Side, apart, choose_join, matching_of
from engine.sql.query.select_list import items_of
from engine.sql.query.spread import all_parts, part_of
from engine.sql.query.windows import held_window
from engine.sql.scalar.expressions import Expressions, make_call
from engine.sql.scalar.row_values import parts_of_row
from engine.sql.scope import Relation, Scope, scope_of
from engine.sql.text.parse import Script

_KEY = "__part"


class Queries(Protocol):
    """What gives a meaning to the queries that stand inside."""

    @property
    def script(self) -> Script:
        """The script that the queries are in."""

    @property
    def updating_ttl(self) -> timedelta:
        """For how long rows are kept that no window closes."""

    def translate(self, node: exp.Expr) -> Relation:
        """The relation that a query describes."""

    def read_from(self, node: exp.Select) -> Side:
        """The relation in the FROM of a query, and what its columns are called."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A test of rows by a sub-query: whether the values are in what it gives, or, without any, whether it gives
    anything."""

    written: exp.Expr
    values: tuple[exp.Expr, ...]
    query: exp.Expr
    negated: bool


@dataclass(frozen=True, slots=True)
class _Others:
    """What a sub-query reads: its rows, the values that it selects of them, and what else must hold of two rows."""

    rows: Node
    values: tuple[Expr, ...]
    tests: tuple[Expr, ...]


def asked_of(node: exp.Expr) -> Asked | None:
    """The test that a condition is; None when it asks no sub-query, or does so inside something else."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    match node:
        case exp.In() if node.args.get("query") is not None:
            return Asked(node, tuple(parts_of_row(node.this) or [node.this]), node.args["query"], negated)
        case exp.Exists():
            return Asked(node, (), node.this, negated)
        case exp.EQ(expression=exp.Any(this=exp.Subquery() as query)):
            return Asked(node, (node.this,), query, negated)
        case exp.NEQ(expression=exp.All(this=exp.Query() as query)):
            return Asked(node, (node.this,), query, not negated)
    return None


def conditions_of(node: exp.Select) -> list[exp.Expr]:
    """The conditions of WHERE that must all hold."""
    where = node.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def tested(queries: Queries, rows: Side, asked: Asked) -> Node:
    """The rows for which the test is true, as they are. Within a window when both relations have one, else for all
    time."""
    at = queries.script.position(asked.written)
    inputs = Expressions(queries.script, rows.scope)
    values = [inputs.translate(one) for one in asked.values]
    others = _others(queries, rows, asked, at)
    pairs = [_alike(value, found) for value, found in zip(values, others.values, strict=True)]
    tests = [*others.tests, *(make_call("=", list(pair)) for pair in pairs)]
    kept = _joined(rows.node, others.rows, tests, "anti" if asked.negated else "semi", queries.updating_ttl, at)
    if not asked.negated or not any(is_nullable(one) for pair in pairs for one in pair):
        return kept
    if len(pairs) > 1:
        raise UnsupportedClauseError(
            "NOT IN of several values that may be NULL is not supported",
            hint="write NOT EXISTS (SELECT ... WHERE x = a AND y = b)",
            at=at,
        )
    return _without_unknown(kept, pairs[0][0], pairs[0][1], others, queries.updating_ttl, at)


def _alike(value: Expr, found: Expr) -> tuple[Expr, Expr]:
    """Both sides of an equality as the type in which they are compared."""
    test = make_call("=", [value, found])
    left, right = test.arguments  # type: ignore[union-attr]  # a comparison is a call
    return left, right


def _joined(
    rows: Node,
    others: Node,
    tests: Sequence[Expr],
    kind: Literal["semi", "anti"],
    ttl: timedelta,
    at: TextPosition | None,
) -> Node:
    """The join, which reads no more of the others than it needs, so that equal ones are kept once."""
    matching = matching_of(tests, rows, others)
    wanted = set[str]().union(*(columns_of(test) for test in tests))
    held = held_window(others)
    if held is not None:
        wanted.add(held[1] or "")
    columns = tuple(one for one in others.schema if one.name in wanted) or others.schema.fields[:1]
    return choose_join(rows, Project(others, pass_through(columns)), kind, matching, ttl, at)


def _without_unknown(
    kept: Node, value: Expr, found: Expr, others: _Others, ttl: timedelta, at: TextPosition | None
) -> Node:
    """Those of the rows for which NOT IN is not unknown: a NULL is not known to be out of what is not empty, and
    nothing is known to be out of what has a NULL.

    Every other row says so to the rows without a value, and one without a value says it to all, in all their parts.
    """
    nowhere = Constant("", types.TEXT)
    rows, unknown, own = others.rows, make_call("is_null", [found]), part_of(value)
    if is_nullable(value):
        own = Case(((make_call("is_null", [value]), nowhere),), own, types.TEXT)
        everywhere = all_parts("")
        parts: Expr = Case(((unknown, everywhere),), make_call("make_array", [nowhere]), everywhere.type)
    else:
        rows, parts = Filter(rows, unknown), all_parts()
    same = make_call("=", [own, Column(_KEY, types.TEXT)])
    return _joined(kept, Unnest(rows, _KEY, parts), [*others.tests, same], "anti", ttl, at)


def _others(queries: Queries, rows: Side, asked: Asked, at: TextPosition | None) -> _Others:
    query = asked.query
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    if isinstance(query, exp.Select) and is_plain(query) and not has_aggregate(query.expressions):
        return _of_plain(queries, rows, query, asked, at)
    found = queries.translate(query)
    held = held_window(found.rows)
    if held is not None and held[1] is None and isinstance(held[0], Session):
        raise UnsupportedClauseError(
            "a query of sessions cannot stand behind IN or EXISTS",
            hint="write a join that names the window of both",
            at=at,
        )
    side = apart(Side(found.rows, scope_of(found, None)), rows)
    return _Others(side.node, _as_many(side.scope, asked, at), ())


def is_plain(query: exp.Select) -> bool:
    """Whether a query gives its rows, or one aggregate of them, as they are: then it may look at the rows around it.
    That equal rows come once makes no difference to a test."""
    clauses = ("with_", "group", "having", "order", "limit", "offset")
    if any(query.args.get(name) for name in clauses) or query.args.get("from_") is None:
        return False
    return not any(
        isinstance(part, exp.Window | exp.Query) or (isinstance(part, exp.Anonymous) and part.name.lower() == "unnest")
        for item in query.expressions
        for part in item.walk()
    )


def _of_plain(queries: Queries, rows: Side, query: exp.Select, asked: Asked, at: TextPosition | None) -> _Others:
    met = rows_met(queries, rows, query)
    inputs = Expressions(queries.script, met.rows.scope)
    selected = [one.expr for item in query.expressions for one in items_of(item, met.rows.scope, inputs.translate)]
    if asked.values and len(selected) != len(asked.values):
        raise _wrong_count(len(asked.values), len(selected), at)
    return _Others(met.rows.node, tuple(selected) if asked.values else (), met.tests)


@dataclass(frozen=True, slots=True)
class Met:
    """What a sub-query reads, without what it leaves out by itself, and what must hold of it and the rows around."""

    rows: Side
    tests: tuple[Expr, ...]


def rows_met(queries: Queries, around: Side, query: exp.Select) -> Met:
    """The FROM and WHERE of a query that may look at the rows around it."""
    side = apart(queries.read_from(query), around)
    node, scope = side.node, replace(side.scope, around=around.scope)
    inputs = Expressions(queries.script, scope)
    own: list[Expr] = []
    shared: list[Expr] = []
    for one in conditions_of(query):
        inner = asked_of(one)
        if inner is not None:
            node = tested(queries, Side(node, side.scope), inner)
            continue
        test = inputs.condition(one)
        (own if columns_of(test) <= set(side.node.schema.names) else shared).append(test)
    return Met(Side(filtered(node, own), scope), tuple(shared))


def _as_many(scope: Scope, asked: Asked, at: TextPosition | None) -> tuple[Expr, ...]:
    """All columns there are, which must be as many as the values that are asked for."""
    if not asked.values:
        return ()
    if len(scope.shown) != len(asked.values):
        raise _wrong_count(len(asked.values), len(scope.shown), at)
    return tuple(one.column for one in scope.shown)


def _wrong_count(wanted: int, found: int, at: TextPosition | None) -> ColumnCountError:
    hint = "select one" if wanted == 1 else "select as many as stand before IN"
    return ColumnCountError(
        f"IN takes a query of {count_columns(wanted)}, not of {count_columns(found)}", hint=hint, at=at
    )
