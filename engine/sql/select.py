"""Queries: SELECT, UNION ALL, CTEs and sub-queries in FROM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from engine.errors import (
    ColumnCountError,
    EngineError,
    TypeMismatchError,
    UnsupportedClauseError,
)
from engine.functions.coercion import common_type
from engine.plan.calls import coerce
from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Filter, Project, Union
from engine.plan.tree import Node
from engine.sql.complaints import Complaints
from engine.sql.expressions import Expressions
from engine.sql.grouping import Grouping, has_aggregate
from engine.sql.parse import Script
from engine.sql.scope import Scope, scope_of
from engine.sql.windows import is_window_call


class Relations(Protocol):
    """Where a query finds the tables and views it names."""

    def read(self, name: str) -> Node:
        """The relation of that name; refused when there is none or it cannot be read."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Translates the queries of one script. `ctes` are the WITH names in reach."""

    script: Script
    relations: Relations
    ctes: Mapping[str, Node]

    def translate(self, node: exp.Expr) -> Node:
        """The relation that a query describes. Raises ScriptRefused with all that is wrong in it."""
        inside = self._with_ctes(node)
        match node:
            case exp.Subquery():
                return inside.translate(node.this)
            case exp.Union():
                return inside.union_of(node)
            case exp.Select():
                return inside.select_of(node)
        raise UnsupportedClauseError(f"{type(node).__name__.upper()} is not supported", at=self.script.place(node))

    def _with_ctes(self, node: exp.Expr) -> Queries:
        clause = node.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise UnsupportedClauseError("Recursive CTEs are not supported", at=self.script.place(clause))
        inside = self
        for cte in clause.expressions:
            found = _renamed(inside.translate(cte.this), cte.args.get("alias"), self.script)
            inside = replace(inside, ctes={**inside.ctes, cte.alias.lower(): found})
        return inside

    def union_of(self, node: exp.Union) -> Node:
        """The rows of both sides."""
        if type(node) is not exp.Union or node.args.get("distinct", True):
            kind = "UNION" if type(node) is exp.Union else type(node).__name__.upper()
            raise UnsupportedClauseError(
                f"{kind} must compare all rows for ever, which is not built yet",
                hint="UNION ALL keeps every row",
                at=self.script.place(node),
            )
        self._refuse(node, ("order", "limit", "offset"))
        complaints = Complaints()
        parts: list[Node] = []
        for part in (node.this, node.expression):
            with complaints.collect(self.script.place(part)):
                parts.append(self.translate(part))
        complaints.raise_any()
        return unite(parts, lambda: self.script.place(node.expression))

    def select_of(self, node: exp.Select) -> Node:
        """The rows of one SELECT."""
        self._refuse(node, _NOT_YET)
        source, scope = self._from(node)
        complaints = Complaints()
        where = node.args.get("where")
        if where is not None:
            with complaints.collect(self.script.place(where)):
                source = Filter(source, Expressions(self.script, scope).condition(where.this))
        group, having = node.args.get("group"), node.args.get("having")
        written = [*node.expressions, *([having.this] if having else [])]
        if group is not None or has_aggregate(written):
            return self._grouped(node, source, scope, complaints)
        if having is not None:
            raise UnsupportedClauseError("HAVING needs GROUP BY", hint="use WHERE", at=self.script.place(having))
        columns: list[Named] = []
        for item in node.expressions:
            with complaints.collect(self.script.place(item)):
                columns.extend(self._items(item, scope))
        complaints.raise_any()
        return Project(source, _unique(columns))

    def _grouped(self, node: exp.Select, source: Node, scope: Scope, complaints: Complaints) -> Node:
        grouping = Grouping(self.script, source, scope)
        group, having = node.args.get("group"), node.args.get("having")
        for item in group.expressions if group else []:
            with complaints.collect(self.script.place(item)):
                grouping.group_by(_group_item(item, node.expressions, scope))
        complaints.raise_any()
        columns: list[Named] = []
        for item in node.expressions:
            with complaints.collect(self.script.place(item)):
                if isinstance(item, exp.Star):
                    raise UnsupportedClauseError("* cannot stand beside GROUP BY", hint="name the columns")
                columns.append(Named(_name_of(item), grouping.value(item.unalias())))
        condition: Expr | None = None
        if having is not None:
            with complaints.collect(self.script.place(having)):
                condition = grouping.value(having.this)
        with complaints.collect():
            aggregated: Node = grouping.build(group or node.expressions[0])
        complaints.raise_any()
        return Project(aggregated if condition is None else Filter(aggregated, condition), _unique(columns))

    def _from(self, node: exp.Select) -> tuple[Node, Scope]:
        clause = node.args.get("from_")
        if clause is None:
            raise UnsupportedClauseError(
                "a query without FROM has no rows to read", hint="select from a table", at=self.script.place(node)
            )
        if node.args.get("joins"):
            raise UnsupportedClauseError(
                "joins are not built yet", hint="UNION ALL is", at=self.script.place(node.args["joins"][0])
            )
        return self._relation(clause.this)

    def _relation(self, node: exp.Expr) -> tuple[Node, Scope]:
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery):
            found = _renamed(self.translate(node), alias, self.script)
            return found, scope_of(found, node.alias or None)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            raise UnsupportedClauseError(
                f"cannot read from {node.sql(dialect='postgres')}",
                hint="name a table, a view, a CTE or a sub-query",
                at=self.script.place(node),
            )
        self._refuse(node, ("joins", "sample", "pivots", "laterals", "version", "when", "hints"))
        try:
            relation = self.ctes.get(node.name.lower()) or self.relations.read(node.name)
        except EngineError as error:
            error.at = error.at or self.script.place(node)
            raise
        found = _renamed(relation, alias, self.script)
        return found, scope_of(found, node.alias or node.name)

    def _items(self, item: exp.Expr, scope: Scope) -> Sequence[Named]:
        if isinstance(item, exp.Star):
            if any(item.args.get(part) for part in ("except_", "replace", "rename")):
                raise UnsupportedClauseError("* EXCEPT and REPLACE are not supported", hint="name the columns")
            return [Named(one.column.name, one.column) for one in scope.columns]
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            return [Named(column.name, column) for column in scope.of_table(item.table)]
        return [Named(_name_of(item), Expressions(self.script, scope).translate(item.unalias()))]

    def _refuse(self, node: exp.Expr, clauses: Sequence[str]) -> None:
        for clause in clauses:
            found = node.args.get(clause)
            if found:
                name = clause.rstrip("_").upper().replace("ORDER", "ORDER BY")
                where = found[0] if isinstance(found, list) else found
                at = self.script.place(where if isinstance(where, exp.Expr) else node) or self.script.place(node)
                raise UnsupportedClauseError(f"{name} is not currently supported", at=at)


_NOT_YET = (
    "order", "limit", "offset", "distinct", "qualify", "windows", "cluster", "sort", "distribute", "laterals",
    "into", "locks", "connect", "match", "pivots", "sample", "kind", "hint", "prewhere", "settings",
    "operation_modifiers",
)  # fmt: skip


def unite(parts: Sequence[Node], place: object = None) -> Node:
    """One relation with the rows of all; columns by position, cast to types that hold them all."""
    flat = [below for part in parts for below in (part.inputs if isinstance(part, Union) else (part,))]
    first = flat[0]
    for other in flat[1:]:
        if len(other.schema) != len(first.schema):
            raise ColumnCountError(
                f"UNION ALL of {len(first.schema)} columns and {len(other.schema)} columns",
                hint="both sides need the same columns in the same order",
                at=place() if callable(place) else None,
            )
    kinds = list(first.schema.fields)
    for other in flat[1:]:
        for index, field in enumerate(other.schema):
            kind = common_type(kinds[index].type, field.type)
            if kind is None:
                raise TypeMismatchError(
                    f"UNION ALL of {kinds[index].type} and {field.type} in column {kinds[index].name!r}",
                    hint="cast one of them",
                    at=place() if callable(place) else None,
                )
            kinds[index] = replace(kinds[index], type=kind)
    return Union(tuple(as_columns(one, [(field.name, field.type) for field in kinds]) for one in flat))


def as_columns(node: Node, wanted: Sequence[tuple[str, object]]) -> Node:
    """The relation with columns renamed and cast by position."""
    columns = tuple(
        Named(name, coerce(Column(field.name, field.type, field.nullable), kind))  # type: ignore[arg-type]
        for field, (name, kind) in zip(node.schema, wanted, strict=True)
    )
    same = all(isinstance(one.expr, Column) and one.expr.name == one.name for one in columns)
    return node if same else Project(node, columns)


def _renamed(node: Node, alias: exp.Expr | None, script: Script) -> Node:
    names = [part.name for part in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return node
    if len(names) != len(node.schema):
        raise ColumnCountError(
            f"{len(names)} names for {len(node.schema)} columns", hint="name every column", at=script.place(alias)
        )
    return as_columns(node, [(name, field.type) for name, field in zip(names, node.schema, strict=True)])


def _group_item(item: exp.Expr, select: Sequence[exp.Expr], scope: Scope) -> exp.Expr:
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        index = int(item.name) if item.name.isdigit() else 0
        if not 1 <= index <= len(select):
            raise ColumnCountError(
                f"GROUP BY {item.name} is not the number of a column", hint=f"there are {len(select)}"
            )
        return select[index - 1].unalias()
    if isinstance(item, exp.Column) and not item.table:
        known = any(one.column.name.lower() == item.name.lower() for one in scope.columns)
        named = next((one for one in select if one.alias.lower() == item.name.lower()), None)
        if named is not None and (not known or is_window_call(named.unalias())):
            return named.unalias()
    return item


def _name_of(item: exp.Expr) -> str:
    if item.alias:
        if str(item.alias).startswith("__"):
            raise UnsupportedClauseError(
                "names that begin with two underscores are the engine's", hint="use another one"
            )
        return str(item.alias)
    if isinstance(item, exp.Column | exp.Dot):
        return str(item.name or item.expression.name)
    return " ".join(item.sql(dialect="postgres").lower().split())


def _unique(columns: Sequence[Named]) -> tuple[Named, ...]:
    seen: dict[str, int] = {}
    found: list[Named] = []
    for item in columns:
        count = seen.get(item.name.lower(), 0)
        seen[item.name.lower()] = count + 1
        found.append(Named(f"{item.name}:{count}", item.expr) if count else item)
    return tuple(found)
