"""Conditions that test a row by a sub-query: IN, EXISTS, = ANY and <> ALL, and what NOT makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from engine.sql.scalar.row_values import parts_of_row


@dataclass(frozen=True, slots=True)
class SubqueryTest:
    """A test of rows by a sub-query: whether the values are in what it gives, or, without any, whether it gives
    anything."""

    node: exp.Expr
    values: tuple[exp.Expr, ...]
    query: exp.Expr
    negated: bool


def read_subquery_test(node: exp.Expr) -> SubqueryTest | None:
    """The test that a condition is; None when it has no sub-query, or has it inside something else."""
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
