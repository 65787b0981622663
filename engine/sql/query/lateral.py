"""LATERAL (sub-query) in FROM: what looks at the rows before it is joined to them by what it looks at.

Such a query gives its rows as they are, or groups of them, or one row of aggregates, or computes of the rows before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from engine import types
from engine.errors import EngineError, JoinError, TooLargeError, UnsupportedClauseError
from engine.plan.expr import Case, Column, Expr, Literal, Named, columns_of, is_nullable
from engine.plan.nodes import Filter, Project, pass_through
from engine.plan.tree import Node
from engine.sql.column_names import numbered
from engine.sql.query.filters import all_of, filtered
from engine.sql.query.group_by import has_aggregate
from engine.sql.query.joins import Side, apart, as_joined, choose_join, conjuncts, matching_of
from engine.sql.query.scalar_subqueries import Asking
from engine.sql.query.select_list import alias_names, items_of, name_of, unique
from engine.sql.query.where_subqueries import Queries, conditions_of, is_plain, rows_met
from engine.sql.scalar.expressions import Expressions, make_call
from engine.sql.scope import Scope, Visible, scope_of

_JOINS = "a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true"
MAX_INSIDE = 4
"""What such a query reads is looked at twice, and so at every level."""

_MET = Named("", Literal(value=True, type=types.BOOLEAN))
"""Tells the rows that a row was joined with from the lack of any; no column of a query's has this name."""

_NO_CLAUSES = ("order", "limit", "offset", "qualify")


def joined_lateral(queries: Queries, join: exp.Join, left: Side, lateral: exp.Lateral) -> Side | None:
    """The rows, each with those that the query gives for it; None when the query does not look at them."""
    if _depth(lateral) > MAX_INSIDE:
        raise TooLargeError(
            "LATERAL queries are nested too deeply", hint=f"at most {MAX_INSIDE} stand inside each other"
        )
    select = lateral.this.unnest()
    looks = isinstance(select, exp.Select) and not select.args.get("with_")
    _refuse_elsewhere(queries, left, lateral, [*conditions_of(select), *select.expressions] if looks else [])
    if not looks:
        return None
    looking = _Looking(queries, join, left, lateral, select, numbered("__lateral", left.node.schema.names))
    if select.args.get("from_") is None:
        looking.check_join()
        return looking.computed()
    inner = queries.read_from(select).scope

    def looks_out(part: exp.Expr) -> bool:
        return any(_is_outer(one, inner, left.scope) for one in part.find_all(exp.Column))

    tests = [one for one in conditions_of(select) if looks_out(one)]
    items = [one for one in select.expressions if looks_out(one)]
    if not tests and not items:
        return None
    looking.check_join()
    if is_plain(select) and not select.args.get("distinct"):
        return looking.one_row() if has_aggregate(select.expressions) else looking.rows()
    return looking.groups(tests, items, inner)


def _depth(lateral: exp.Lateral) -> int:
    depth, above = 1, lateral.parent
    while above is not None:
        depth, above = depth + isinstance(above, exp.Lateral), above.parent
    return depth


def _is_outer(column: exp.Column, inner: Scope, outer: Scope) -> bool:
    parts = [one.name for one in column.parts]
    try:
        inner.resolve(parts)
    except EngineError:
        return outer.has(parts[0]) or outer.has_table(parts)
    return False


def _refuse_elsewhere(queries: Queries, left: Side, lateral: exp.Lateral, seen: Sequence[exp.Expr]) -> None:
    """Refuse columns of the rows before the query that stand elsewhere than in some of its parts."""
    own = {one.alias_or_name.lower() for one in lateral.this.find_all(exp.Table, exp.Subquery)}
    outer = {one.table.lower() for one in left.scope.columns if one.table} - own
    known = {id(column) for part in seen for column in part.find_all(exp.Column)}
    for column in lateral.this.find_all(exp.Column):
        if column.table.lower() in outer and id(column) not in known:
            raise UnsupportedClauseError(
                "a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone",
                hint=f"{column.sql()} stands elsewhere; move the condition, or join the tables",
                at=queries.script.position(column),
            )


@dataclass(frozen=True, slots=True)
class _Looking:
    """One query that looks at the rows before it. Columns that are made for it begin with the prefix."""

    queries: Queries
    join: exp.Join
    left: Side
    lateral: exp.Lateral
    select: exp.Select
    prefix: str

    @property
    def _keeps(self) -> bool:
        """Whether a row stays for which the query gives none."""
        return self.join.side.upper() == "LEFT"

    def check_join(self) -> None:
        """Refuse the joins that cannot be made row by row."""
        join = self.join
        words = (str(join.method or ""), join.kind.upper(), join.side.upper())
        if words[0] or words[1] not in ("", "CROSS", "INNER", "OUTER") or words[2] not in ("", "LEFT"):
            raise JoinError(_JOINS)
        if join.args.get("using") or (self._keeps and join.args.get("on") is None):
            raise JoinError(_JOINS)
        if any(one.table and one.table.lower() == self._table.lower() for one in self.left.scope.columns):
            raise JoinError(f"{self._table!r} stands in FROM twice", hint="give one of them an alias")

    @property
    def _table(self) -> str:
        return str(self.lateral.alias)

    def computed(self) -> Side:
        """The rows with more columns, of a query that reads nothing else."""
        inputs = Expressions(self.queries.script, self.left.scope)
        written = [key for key, value in self.select.args.items() if value and key not in ("expressions", "where")]
        if written:
            raise UnsupportedClauseError(
                "a query without FROM computes columns", hint="leave out all but SELECT and WHERE"
            )
        items = unique([one for item in self.select.expressions for one in self._item(item, inputs)])
        tests = [inputs.condition(one) for one in conditions_of(self.select)]
        test = all_of(tests)
        if test is not None and self._keeps:
            return self._with(self.left, [Named(one.name, _when(test, one.expr)) for one in items])
        return self._with(Side(filtered(self.left.node, tests), self.left.scope), items)

    def _item(self, item: exp.Expr, inputs: Expressions) -> Sequence[Named]:
        if item.is_star:
            raise UnsupportedClauseError(
                "a query without FROM computes columns, and * is none", hint="name the columns"
            )
        return [Named(name_of(item), inputs.translate(item.unalias()))]

    def one_row(self) -> Side:
        """The rows, each with the aggregates of those that match it: there is one row of them, even of nothing."""
        asking = Asking(self.queries, self.prefix, self.left, self.select)
        values = asking.values()
        items = [Named(name_of(one), value) for one, value in zip(self.select.expressions, values, strict=True)]
        return self._with(Side(asking.joined_to(self.left.node), self.left.scope), unique(items))

    def rows(self) -> Side:
        """The rows joined with those that the query gives, whose columns may be made of both."""
        met = rows_met(self.queries, self.left, self.select)
        translate = Expressions(self.queries.script, met.rows.scope).translate
        items = unique([one for item in self.select.expressions for one in items_of(item, met.rows.scope, translate)])
        names = set(met.rows.node.schema.names)
        own = [one for one in items if columns_of(one.expr) <= names]
        right, columns = self._own_columns(met.rows.node, [*own, _MET])
        if len(own) == len(items):
            shown = tuple(Visible(self._table or None, columns[one.name], one.name) for one in items)
            return self._met(Side(right, Scope(shown)), met.tests)
        joined = self._matched(Side(right, Scope()), met.tests)
        found = {one.name: Column(one.name, one.type, one.nullable) for one in joined.node.schema}
        is_met = make_call("is_not_null", [found[columns[_MET.name].name]]) if self._keeps else None

        def value(item: Named) -> Expr:
            if item.name in columns:
                return found[columns[item.name].name]
            return item.expr if is_met is None else _when(is_met, item.expr)

        return self._with(joined, [Named(one.name, value(one)) for one in items])

    def _own_columns(self, rows: Node, items: Sequence[Named]) -> tuple[Node, dict[str, Column]]:
        """The rows with columns for what is made of them alone, and the column of each item."""
        made: list[Named] = []
        found: dict[str, Column] = {}
        for one in items:
            column = one.expr
            if not isinstance(column, Column):
                made.append(Named(f"{self.prefix}_own{len(made)}", one.expr))
                column = Column(made[-1].name, one.expr.type, is_nullable(one.expr))
            found[one.name] = column
        return Project(rows, (*pass_through(rows.schema), *made)), found

    def groups(self, tests: Sequence[exp.Expr], items: Sequence[exp.Expr], inner: Scope) -> Side:
        """The rows joined with the groups, or distinct rows, or elements, that the query makes within each match."""
        args = self.select.args
        group, distinct = args.get("group"), args.get("distinct")
        if any(args.get(name) for name in _NO_CLAUSES) or self.select.find(exp.Window):
            raise self._refusal("with ORDER BY, LIMIT or OVER", "number the rows in a sub-query, and join that")
        if group is None and (args.get("having") or has_aggregate(self.select.expressions)):
            raise self._refusal("with HAVING but without GROUP BY", "write GROUP BY, or the condition into ON")
        if distinct is not None and distinct.args.get("on"):
            raise self._refusal("with DISTINCT ON", "write GROUP BY")
        if items:
            raise self._refusal("that groups its rows", "select what is of those rows outside of it", items[0])
        pairs = [self._pair(one, inner) for one in tests]
        keyed = self.select.copy()
        kept = [one.copy() for one in conditions_of(self.select) if one not in tests]
        keyed.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
        keys = [own for own, _ in pairs]
        keyed.set("expressions", [*keyed.expressions, *(one.copy() for one in keys)])
        if group is not None:
            keyed.args["group"].set("expressions", [*keyed.args["group"].expressions, *(one.copy() for one in keys)])
        found = self.queries.translate(keyed)
        right = apart(Side(found.rows, scope_of(found, self._table or None)), self.left)
        last = len(right.scope.columns) - len(keys)
        outer = Expressions(self.queries.script, self.left.scope)
        tested = [
            make_call("=", [outer.translate(other), key.column])
            for (_, other), key in zip(pairs, right.scope.columns[last:], strict=True)
        ]
        return self._met(Side(right.node, Scope(right.scope.columns[:last])), tested)

    def _pair(self, test: exp.Expr, inner: Scope) -> tuple[exp.Expr, exp.Expr]:
        """What the query has, and what must be equal to it in the rows before."""
        if isinstance(test, exp.EQ):
            for own, other in ((test.this, test.expression), (test.expression, test.this)):
                outside = [_is_outer(one, inner, self.left.scope) for one in other.find_all(exp.Column)]
                inside = [not _is_outer(one, inner, self.left.scope) for one in own.find_all(exp.Column)]
                if outside and inside and all(outside) and all(inside):
                    return own, other
        raise self._refusal("that groups its rows", "it can in WHERE, with own = other", test)

    def _met(self, right: Side, tests: Sequence[Expr]) -> Side:
        """Both joined, where ON holds too."""
        names = alias_names(self.lateral.args.get("alias"), len(right.scope.columns), self.queries.script)
        if names:
            shown = (replace(one, alias=name) for one, name in zip(right.scope.columns, names, strict=True))
            right = replace(right, scope=Scope(tuple(shown)))
        both = Scope((*self.left.scope.columns, *right.scope.columns))
        on = self._on(both)
        return self._matched(right, [*tests, *(conjuncts(on) if on is not None else [])])

    def _matched(self, right: Side, tests: Sequence[Expr]) -> Side:
        matching = matching_of(tests, self.left.node, right.node)
        at = self.queries.script.position(self.lateral)
        node = choose_join(
            self.left.node, right.node, "left" if self._keeps else "inner", matching, self.queries.updating_ttl, at
        )
        return as_joined(Side(node, Scope((*self.left.scope.columns, *right.scope.columns))))

    def _with(self, rows: Side, items: Sequence[Named]) -> Side:
        """The rows with the values of the items, of which there is one for each, where ON holds."""
        names = alias_names(self.lateral.args.get("alias"), len(items), self.queries.script)
        made = [Named(f"{self.prefix}_item{number}", one.expr) for number, one in enumerate(items)]
        node = Project(rows.node, (*pass_through(rows.node.schema), *made))
        shown = [
            Visible(self._table or None, Column(one.name, one.expr.type, is_nullable(one.expr)), name)
            for one, name in zip(made, names or [item.name for item in items], strict=True)
        ]
        side = Side(node, Scope((*self.left.scope.columns, *shown)))
        on = self._on(side.scope)
        if on is None:
            return side
        if self._keeps:
            raise JoinError(_JOINS, hint="write the condition into the query's own WHERE")
        return Side(Filter(node, on), side.scope)

    def _on(self, scope: Scope) -> Expr | None:
        on = self.join.args.get("on")
        if on is None or (isinstance(on, exp.Boolean) and on.this):
            return None
        return Expressions(self.queries.script, scope).condition(on)

    def _refusal(self, what: str, hint: str, part: exp.Expr | None = None) -> UnsupportedClauseError:
        message = f"a LATERAL query {what} cannot look at the rows before it" + ("" if part is None else " like this")
        return UnsupportedClauseError(message, hint=hint, at=self.queries.script.position(part))


def _when(test: Expr, value: Expr) -> Expr:
    return Case(((test, value),), None, value.type)
