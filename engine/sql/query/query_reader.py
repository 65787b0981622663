"""Interface between the clauses of a query and the script around it, or queries inside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from sqlglot import exp

from engine.plan.nodes import Scan
from engine.sql.catalog import LookupTable
from engine.sql.scalar.literals import parts_of_row
from engine.sql.scope import Relation, ScopedRows
from engine.sql.text.parse import Script


class QueryReader(Protocol):
    """Translates queries, and resolves the names in them."""

    @property
    def script(self) -> Script:
        """The script that the queries are in."""

    @property
    def updating_ttl(self) -> timedelta:
        """For how long rows are kept that no window closes."""

    def translate(self, query: exp.Expr) -> Relation:
        """Return the relation that a query describes. Raise ScriptRefused with all errors."""

    def read_from(self, select: exp.Select) -> ScopedRows:
        """Return the rows in the FROM of a SELECT, and the names of their columns."""

    def read_table(self, name: str) -> Relation:
        """Return the CTE, table or view of that name; raise if there is none or it cannot be read."""

    def primary_key(self, scan: Scan | None) -> tuple[str, ...]:
        """Return the primary key of a table that was read; none for everything else."""

    def find_lookup(self, name: str) -> LookupTable | None:
        """Return the lookup table of that name, if it is one and no CTE."""


@dataclass(frozen=True, slots=True)
class SubqueryTest:
    """Condition on rows with a subquery: whether the values are in its result or, without values, whether it has a
    result."""

    node: exp.Expr
    values: tuple[exp.Expr, ...]
    query: exp.Expr
    negated: bool


def read_subquery_test(node: exp.Expr) -> SubqueryTest | None:
    """Return the condition as a test by a sub-query; None if it has none, or has it inside another expression."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    match node:
        case exp.In() if node.args.get("query") is not None:
            return SubqueryTest(node, tuple(parts_of_row(node.this) or [node.this]), node.args["query"], negated)
        case exp.Exists():
            return SubqueryTest(node, (), node.this, negated)
        case exp.EQ(expression=exp.Any(this=exp.Subquery() as query)):
            return SubqueryTest(node, (node.this,), query, negated)
        case exp.NEQ(expression=exp.All(this=exp.Query() as query)):
            return SubqueryTest(node, (node.this,), query, not negated)
    return None


def is_plain(query: exp.Select) -> bool:
    """Whether a query returns its rows, or one aggregate of them, without further clauses: then it may read the rows
    around it. That it returns equal rows once makes no difference to a test."""
    clauses = ("with_", "group", "having", "order", "limit", "offset")
    if any(query.args.get(name) for name in clauses) or query.args.get("from_") is None:
        return False
    return not any(
        isinstance(part, exp.Window | exp.Query) or (isinstance(part, exp.Anonymous) and part.name.lower() == "unnest")
        for item in query.expressions
        for part in item.walk()
    )
