"""FROM: tables, views, CTEs and sub-queries, joined from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from sqlglot import exp

from engine.errors import TooLargeError, UnsupportedClauseError
from engine.sql.catalog import LookupTable
from engine.sql.complaints import BrokenTableError, Complaints, errors_located
from engine.sql.query.conjunctions import where_conditions
from engine.sql.query.joins import JoinClause
from engine.sql.query.lateral import join_lateral
from engine.sql.query.lookup_joins import join_lookup, refuse_lookup
from engine.sql.query.query_reader import QueryReader
from engine.sql.query.relation_columns import cast_columns
from engine.sql.query.select_list import names_of_alias
from engine.sql.query.unnest_in_from import ArrayElements, join_elements, read_elements
from engine.sql.relation_limits import MAX_LEVELS
from engine.sql.scope import Relation, ScopedRows, scope_of
from engine.sql.text.parse import Script

FromItem: TypeAlias = ScopedRows | LookupTable | ArrayElements | exp.Lateral
"""What can stand in FROM; all but rows need those that stand before them."""


def read_from(queries: QueryReader, select: exp.Select) -> ScopedRows:
    """The rows in the FROM of a SELECT, and what their columns are called."""
    clause = select.args.get("from_")
    if clause is None:
        raise UnsupportedClauseError(
            "a query without FROM has no rows to read",
            hint="select from a table",
            at=queries.script.position(select),
        )
    return _read_joined(queries, clause.this, select.args.get("joins") or [], where_conditions(select))


def rename_columns(relation: Relation, alias: exp.Expr | None, script: Script) -> Relation:
    """The relation with the names that an alias gives to its columns, if it gives any."""
    schema = relation.rows.schema
    names = names_of_alias(alias, len(schema), script)
    if not names:
        return relation
    columns = [(name, field.type) for name, field in zip(names, schema, strict=True)]
    return Relation(cast_columns(relation.rows, columns))


def _read_joined(
    queries: QueryReader, first: exp.Expr, joins: Sequence[exp.Join], where: Sequence[exp.Expr]
) -> ScopedRows:
    """Relations joined from left to right. All of them are looked at, so that every complaint is heard."""
    if len(joins) > MAX_LEVELS:
        raise TooLargeError(f"a FROM has {len(joins)} joins", hint=f"at most {MAX_LEVELS} are planned")
    complaints = Complaints()
    items: list[FromItem] = []
    for node in (first, *(join.this for join in joins)):
        with complaints.collect(queries.script.position(node)):
            items.append(_read_item(queries, node, is_first=node is first, is_alone=not joins))
    complaints.raise_any()
    if len(items) != 1 + len(joins):
        raise BrokenTableError("a side of the join")
    rows = items[0]
    assert isinstance(rows, ScopedRows), "what needs rows before it is refused in the first place"
    for join, item in zip(joins, items[1:], strict=True):
        clause = JoinClause(queries.script, join, where, queries.updating_ttl)
        with errors_located(queries.script.position(join.this)):
            rows = _join_item(queries, clause, rows, item)
    return rows


def _join_item(queries: QueryReader, clause: JoinClause, left: ScopedRows, item: FromItem) -> ScopedRows:
    match item:
        case ScopedRows():
            return clause.join(left, item)
        case exp.Lateral():
            joined = join_lateral(queries, clause.node, left, item)
            return joined or clause.join(left, _read_subquery(queries, item.this, item.args.get("alias")))
        case ArrayElements():
            return join_elements(queries.script, clause.node, left, item)
        case LookupTable():
            return join_lookup(clause, left, item, clause.node.this.alias_or_name)
    assert_never(item)


def _read_item(queries: QueryReader, node: exp.Expr, *, is_first: bool, is_alone: bool) -> FromItem:
    behind_others = None if is_first else _read_behind_others(node)
    if behind_others is not None:
        return behind_others
    name = node.name if isinstance(node, exp.Table) and not node.args.get("joins") else ""
    lookup = queries.find_lookup(name) if name else None
    if lookup is not None and is_first:
        raise refuse_lookup(name, is_joined=not is_alone)
    return _read_rows(queries, node) if lookup is None else lookup


def _read_behind_others(node: exp.Expr) -> ArrayElements | exp.Lateral | None:
    """An item that may look at the rows before it; None for every other."""
    elements = read_elements(node)
    if elements is None and isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
        return node
    return elements


def _read_rows(queries: QueryReader, node: exp.Expr) -> ScopedRows:
    """The rows of a table or a sub-query, which stand by themselves."""
    alias = node.args.get("alias")
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and alias is None:
        return _read_joined(queries, node.this, node.this.args.get("joins") or [], [])
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        return _read_subquery(queries, node, alias)
    at = queries.script.position(node)
    if isinstance(node, exp.Unnest):
        raise UnsupportedClauseError(
            "unnest needs rows whose arrays it takes apart",
            hint="name them before it: FROM events, unnest(events.tags) AS tag",
            at=at,
        )
    if not _is_table_name(node):
        raise UnsupportedClauseError(
            f"cannot read from {node.sql(dialect='postgres', normalize_functions=False)}",
            hint="name a table, a view, a CTE or a sub-query",
            at=at,
        )
    with errors_located(at):
        table = queries.read_table(node.name)
    relation = rename_columns(table, alias, queries.script)
    return ScopedRows(relation.rows, scope_of(relation, node.alias or node.name))


def _is_table_name(node: exp.Expr) -> bool:
    """Whether it names a table, with one part."""
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db")


def _read_subquery(queries: QueryReader, node: exp.Subquery, alias: exp.Expr | None) -> ScopedRows:
    relation = rename_columns(queries.translate(node), alias, queries.script)
    name = alias.name if isinstance(alias, exp.TableAlias) and alias.name else None
    return ScopedRows(relation.rows, scope_of(relation, name))
