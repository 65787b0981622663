"""Queries: SELECT, UNION, CTEs and sub-queries in FROM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from sqlglot import exp

from engine import types
from engine.errors import (
    ColumnCountError,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
    TypeMismatchError,
    UnsupportedClauseError,
    WindowContextError,
)
from engine.functions.coercion import common_type
from engine.plan.calls import coerce
from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Carried, Filter, Project, Union
from engine.plan.tree import Node
from engine.sql.column_names import count_columns
from engine.sql.complaints import BrokenTableError, Complaints, errors_located
from engine.sql.query.filters import filtered
from engine.sql.query.group_by import Grouping, distinct, has_aggregate
from engine.sql.query.intersect_except import compared
from engine.sql.query.joins import Joining, LookupTable, Side, refuse_lookup
from engine.sql.query.lateral import joined_lateral
from engine.sql.query.order_by import keys_of, ordered
from engine.sql.query.over import OverCalls
from engine.sql.query.scalar_subqueries import Scalars
from engine.sql.query.select_list import alias_names, aliases, group_item, items_of, name_of, unique, unnamed_columns
from engine.sql.query.unnest_in_from import Elements, elements_of, joined_elements
from engine.sql.query.unnest_in_select import Unnesting
from engine.sql.query.where_subqueries import asked_of, conditions_of, tested
from engine.sql.query.windows import held_window, is_window_call, translate_window, window_over
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Relation, Scope, scope_of
from engine.sql.text.limits import MAX_LEVELS, MAX_RELATIONS, count_relations
from engine.sql.text.parse import Script

Special = Callable[[exp.Expr], Expr | None]
UPDATING_TTL = timedelta(days=1)
"""How long rows are kept that no window closes, unless a script says otherwise."""


class Relations(Protocol):
    """Where a query finds the tables and views it names."""

    def read(self, name: str) -> Relation:
        """The relation of that name; refused when there is none or it cannot be read."""

    def look_up(self, name: str) -> LookupTable | None:
        """The lookup table of that name, if it is one."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Translates the queries of one script. `ctes` are the WITH names in reach; None is one that was refused.
    `updating_ttl` says for how long rows are kept that no window closes."""

    script: Script
    relations: Relations
    ctes: Mapping[str, Relation | None]
    updating_ttl: timedelta = UPDATING_TTL

    def translate(self, node: exp.Expr) -> Relation:
        """The relation that a query describes. Raises ScriptRefused with all that is wrong in it."""
        complaints = Complaints()
        found: Relation | None = None
        with complaints.collect(self.script.position(node)):
            inside = self._with_ctes(node, complaints)
            found = inside.body_of(node)
        complaints.raise_any()
        if found is None:
            raise BrokenTableError("a CTE")
        return found

    def body_of(self, node: exp.Expr) -> Relation:
        """The relation that a query describes, once its WITH is read."""
        match node:
            case exp.Subquery():
                return self.translate(node.this)
            case exp.SetOperation():
                return self.union_of(node)
            case exp.Select():
                return self.select_of(node)
        raise UnsupportedClauseError(f"{type(node).__name__.upper()} is not supported", at=self.script.position(node))

    def _with_ctes(self, node: exp.Expr, complaints: Complaints) -> Queries:
        clause = node.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise UnsupportedClauseError("Recursive CTEs are not supported", at=self.script.position(clause))
        inside = self
        for cte in clause.expressions:
            found: Relation | None = None
            with complaints.collect(self.script.position(cte.this)):
                found = _renamed(inside.translate(cte.this), cte.args.get("alias"), self.script)
                count_relations(found.rows)
            inside = replace(inside, ctes={**inside.ctes, cte.alias.lower(): found})
        return inside

    def union_of(self, node: exp.SetOperation) -> Relation:
        """The rows of both sides, those of the first that the second has or has not; equal ones once, unless it is
        UNION ALL."""
        kind = type(node).__name__.upper()
        if kind != "UNION" and not node.args.get("distinct", True):
            raise UnsupportedClauseError(
                f"{kind} ALL is not supported",
                hint=f"{kind} gives equal rows once",
                at=self.script.position_of_word(kind, node, node.expression),
            )
        complaints = Complaints()
        relations: list[Relation] = []
        for part in (node.this, node.expression):
            with complaints.collect(self.script.position(part)):
                relations.append(self.translate(part))
        complaints.raise_any()
        if len(relations) != 2:
            raise BrokenTableError("a side of the union")
        return replace(relations[0], rows=self._combined(node, kind, [relation.rows for relation in relations]))

    def _combined(self, node: exp.SetOperation, kind: str, parts: Sequence[Node]) -> Node:
        if kind != "UNION":
            with errors_located(self.script.position_of_word(kind, node, node.expression)):
                left, right = aligned(parts, kind, None)
                return compared(left, right, "semi" if kind == "INTERSECT" else "anti", self.updating_ttl)
        both = unite(parts, self.script.position(node.expression))
        if not node.args.get("distinct", True):
            return both
        with errors_located(self.script.position_of_word("UNION", node, node.expression)):
            return distinct(both, self.updating_ttl)

    def select_of(self, node: exp.Select) -> Relation:
        """The rows of one SELECT."""
        if not node.expressions:
            raise SyntaxRefusedError(
                "SELECT needs a list of columns", hint="* is all of them", at=self.script.position(node)
            )
        side = self.read_from(node)
        rows = self._rows_of(node, side)
        if node.args.get("distinct") is not None and not keys_of(node):
            with errors_located(self.script.position_of_word("DISTINCT", node)):
                rows = distinct(rows, self.updating_ttl)
        return Relation(rows, unnamed_columns(node, side.scope))

    def _rows_of(self, node: exp.Select, side: Side) -> Node:
        scope, scalars = side.scope, Scalars(self)
        complaints = Complaints()
        group, having = node.args.get("group"), node.args.get("having")
        written = [*node.expressions, *([having.this] if having else [])]
        is_grouped = group is not None or has_aggregate(written)
        scalars.meet(side, [*conditions_of(node), *([] if is_grouped else node.expressions)])
        source = self._filtered(Side(scalars.over(side.node), scope), node, scalars, complaints)
        if is_grouped:
            return self._grouped(node, source, scope, complaints)
        if having is not None:
            at = self.script.position_of_word("HAVING", node, having.this)
            raise UnsupportedClauseError("HAVING needs GROUP BY", hint="use WHERE", at=at)
        columns: list[Named] = []
        unnesting, overs = Unnesting(), self._overs(source, scope)

        def special(part: exp.Expr) -> Expr | None:
            return scalars.value_of(part) or overs.value_of(part)

        def element(part: exp.Expr) -> Expr | None:
            return special(part) or unnesting.element_of(part, inputs.translate)

        inputs = Expressions(self.script, scope, element)
        for item in node.expressions:
            with complaints.collect(self.script.position(item)):
                columns.extend(items_of(item, scope, inputs.translate))
        complaints.raise_any()

        def value(item: exp.Expr) -> Expr:
            return Expressions(self.script, scope, special).translate(item)

        return ordered(
            node, lambda: unnesting.over(overs.over(source)), unique(columns), value, self.script, self.updating_ttl
        )

    def _filtered(self, rows: Side, node: exp.Select, scalars: Scalars, complaints: Complaints) -> Node:
        """The rows for which WHERE is true."""
        where, source = node.args.get("where"), rows.node
        if where is None:
            return source
        inputs = Expressions(self.script, rows.scope, scalars.value_of)
        conditions = conditions_of(node)
        if not any(asked_of(one) for one in conditions):
            conditions = [where.this]
        rest: list[Expr] = []
        for one in conditions:
            with complaints.collect(self.script.position(where if len(conditions) == 1 else one)):
                asked = asked_of(one)
                if asked is not None:
                    source = tested(self, replace(rows, node=source), asked)
                else:
                    rest.append(inputs.condition(one))
        return filtered(source, rest)

    def _grouped(self, node: exp.Select, source: Node, scope: Scope, complaints: Complaints) -> Node:
        grouping = Grouping(self.script, source, scope, self.updating_ttl, aliases(node, scope))
        group, having = node.args.get("group"), node.args.get("having")
        for item in group.expressions if group else []:
            with complaints.collect(self.script.position(item)):
                grouping.group_by(group_item(item, node.expressions, scope))
        complaints.raise_any()
        scalars = Scalars(self)
        scalars.meet(grouping.groups(), [*node.expressions, *([having.this] if having else [])])
        grouping.value_met = scalars.value_of
        columns: list[Named] = []
        for item in node.expressions:
            with complaints.collect(self.script.position(item)):
                if isinstance(item, exp.Star):
                    raise UnsupportedClauseError("* cannot stand beside GROUP BY", hint="name the columns")
                columns.append(Named(name_of(item), grouping.value(item.unalias())))
        condition: Expr | None = None
        if having is not None:
            with complaints.collect(self.script.position(having)):
                condition = grouping.having(having.this)
        if any(isinstance(one, WindowContextError) for one in complaints.found):
            complaints.raise_any()
        complaints.raise_any()

        def build() -> Node:
            aggregated = scalars.over(grouping.build(group or node.expressions[0]))
            kept = aggregated if condition is None else Filter(aggregated, condition)
            return grouping.unnesting.over(grouping.overs.over(kept))

        return ordered(node, build, unique(columns), grouping.value, self.script, self.updating_ttl)

    def _overs(self, source: Node, scope: Scope) -> OverCalls:
        """The functions with OVER of a SELECT without GROUP BY: its rows carry their window or have none."""
        found = held_window(source)
        column = None if found is None or found[1] is None else Column(found[1], types.WINDOW, nullable=False)
        inputs = Expressions(self.script, scope)

        def partition(item: exp.Expr) -> Expr:
            if not is_window_call(item):
                return inputs.translate(item)
            window = window_over(translate_window(item, self.script), source)
            return (
                Column(window.column, types.WINDOW, nullable=False)
                if isinstance(window, Carried)
                else inputs.translate(item)
            )

        held = None if found is None else (found[0], column)
        return OverCalls(self.script, held, inputs.translate, partition, self.updating_ttl)

    def read_from(self, node: exp.Select) -> Side:
        """The relation in the FROM of a SELECT, and what its columns are called."""
        clause = node.args.get("from_")
        if clause is None:
            raise UnsupportedClauseError(
                "a query without FROM has no rows to read", hint="select from a table", at=self.script.position(node)
            )
        return self._joined(clause.this, node.args.get("joins") or [], conditions_of(node))

    def _joined(self, first: exp.Expr, joins: Sequence[exp.Join], where: Sequence[exp.Expr]) -> Side:
        """Relations joined from left to right. All of them are looked at, so that every complaint is heard."""
        if len(joins) > MAX_LEVELS:
            raise TooLargeError(f"{len(joins)} joins in one FROM", hint=f"at most {MAX_LEVELS} are planned")
        complaints = Complaints()
        sides: list[Side | LookupTable | Elements | exp.Lateral | None] = []
        for item in (first, *(join.this for join in joins)):
            sides.append(None)
            with complaints.collect(self.script.position(item)):
                sides[-1] = self._side(item, is_first=item is first, is_alone=not joins)
        complaints.raise_any()
        left = sides[0]
        if not isinstance(left, Side) or None in sides:
            raise BrokenTableError("a side of the join")
        for join, right in zip(joins, sides[1:], strict=True):
            joining = Joining(self.script, join, where, self.updating_ttl)
            with errors_located(self.script.position(join.this)):
                match right:
                    case Side():
                        left = joining.join(left, right)
                    case exp.Lateral():
                        found = joined_lateral(self, join, left, right)
                        left = found or joining.join(left, self._of_query(right.this, right.args.get("alias")))
                    case Elements():
                        left = joined_elements(self.script, join, left, right)
                    case LookupTable():
                        left = joining.look_up(left, right, join.this.alias_or_name)
        return left

    def _side(self, node: exp.Expr, *, is_first: bool, is_alone: bool) -> Side | LookupTable | Elements | exp.Lateral:
        elements = None if is_first else elements_of(node)
        if elements is not None:
            return elements
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery) and not is_first:
            return node
        name = node.name if isinstance(node, exp.Table) and not node.args.get("joins") else ""
        lookup = self.relations.look_up(name) if name and name.lower() not in self.ctes else None
        if lookup is not None and is_first:
            raise refuse_lookup(name, is_joined=not is_alone)
        return self._relation(node) if lookup is None else lookup

    def _relation(self, node: exp.Expr) -> Side:
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and alias is None:
            return self._joined(node.this, node.this.args.get("joins") or [], [])
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            return self._of_query(node, alias)
        if isinstance(node, exp.Unnest):
            raise UnsupportedClauseError(
                "unnest needs rows whose arrays it takes apart",
                hint="name them before it: FROM events, unnest(events.tags) AS tag",
                at=self.script.position(node),
            )
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            raise UnsupportedClauseError(
                f"cannot read from {node.sql(dialect='postgres', normalize_functions=False)}",
                hint="name a table, a view, a CTE or a sub-query",
                at=self.script.position(node),
            )
        with errors_located(self.script.position(node)):
            relation = self._named(node.name)
        found = _renamed(relation, alias, self.script)
        return Side(found.rows, scope_of(found, node.alias or node.name))

    def _of_query(self, node: exp.Subquery, alias: exp.Expr | None) -> Side:
        found = _renamed(self.translate(node), alias, self.script)
        name = alias.name if isinstance(alias, exp.TableAlias) and alias.name else None
        return Side(found.rows, scope_of(found, name))

    def _named(self, name: str) -> Relation:
        if name.lower() not in self.ctes:
            return self.relations.read(name)
        found = self.ctes[name.lower()]
        if found is None:
            raise BrokenTableError(name)
        return found


def unite(parts: Sequence[Node], at: TextPosition | None = None) -> Node:
    """One relation with the rows of all; columns by position, cast to types that hold them all."""
    flat = [below for part in parts for below in (part.inputs if isinstance(part, Union) else (part,))]
    if len(flat) > MAX_RELATIONS:
        raise TooLargeError(f"a union of {len(flat)} relations", hint=f"at most {MAX_RELATIONS} are planned", at=at)
    return Union(aligned(flat, "UNION ALL", at))


def aligned(relations: Sequence[Node], word: str, at: TextPosition | None) -> tuple[Node, ...]:
    """The relations with columns of the same names and types, by position."""
    first = relations[0]
    for other in relations[1:]:
        if len(other.schema) != len(first.schema):
            raise ColumnCountError(
                f"{word} of {count_columns(len(first.schema))} and {count_columns(len(other.schema))}",
                hint="both sides need the same columns in the same order",
                at=at,
            )
    kinds = list(first.schema.fields)
    for other in relations[1:]:
        for index, field in enumerate(other.schema):
            kind = common_type(kinds[index].type, field.type)
            if kind is None:
                raise TypeMismatchError(
                    f"{word} of {kinds[index].type} and {field.type} in column {kinds[index].name!r}",
                    hint="cast one of them",
                    at=at,
                )
            kinds[index] = replace(kinds[index], type=kind)
    return tuple(as_columns(one, [(field.name, field.type) for field in kinds]) for one in relations)


def as_columns(node: Node, wanted: Sequence[tuple[str, object]]) -> Node:
    """The relation with columns renamed and cast by position."""
    columns = tuple(
        Named(name, coerce(Column(field.name, field.type, field.nullable), kind))  # type: ignore[arg-type]
        for field, (name, kind) in zip(node.schema, wanted, strict=True)
    )
    same = all(isinstance(one.expr, Column) and one.expr.name == one.name for one in columns)
    return node if same else Project(node, columns)


def _renamed(relation: Relation, alias: exp.Expr | None, script: Script) -> Relation:
    schema = relation.rows.schema
    names = alias_names(alias, len(schema), script)
    if not names:
        return relation
    columns = [(name, field.type) for name, field in zip(names, schema, strict=True)]
    return Relation(as_columns(relation.rows, columns))
