"""LATERAL (subquery) in FROM: translated to a join with the preceding rows by the columns that it uses of them.

    FROM events e, LATERAL (SELECT ... FROM clicks c WHERE c.key = e.key) AS t      by its SELECT list:

    c.page, c.n + e.n                     rows: a join on key = key; expressions over both sides are computed above it
    count(*), max(c.at)                   one row, even without input: a join with groups, see `scalar_subqueries`
    c.page, count(*) ... GROUP BY c.page  groups per match: grouped by c.key as well, and joined by it
    e.n * 2 AS double, without FROM       columns of the preceding rows
    nothing of e, here and in WHERE       an ordinary subquery

Nothing runs once per row: a stream cannot be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from engine import types
from engine.errors import EngineError, JoinError, TooLargeError, UnsupportedClauseError
from engine.plan.expressions.expr import Case, Column, Expr, Literal, Named, columns_of
from engine.plan.nodes import Filter, JoinKind, Project, pass_through
from engine.plan.tree import Node
from engine.sql.data_types import numbered
from engine.sql.query.aggregate_calls import has_aggregate
from engine.sql.query.join_choice import (
    choose_join,
    conjunction,
    conjuncts,
    filter_rows,
    join_condition_of,
    where_conditions,
    with_nullability,
)
from engine.sql.query.query_reader import QueryReader, is_plain
from engine.sql.query.relation_columns import column_of, output_column, rename_apart
from engine.sql.query.scalar_subqueries import AggregateSubquery, read_correlated
from engine.sql.query.select_list import name_of_item, names_of_alias, read_item, with_unique_names
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible, scope_of

_JOINS = "a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true"
MAX_LATERAL_DEPTH = 4
"""Deepest nesting: the input of such a query is translated twice per level."""

_MATCHED = Named("", Literal(value=True, type=types.BOOLEAN))
"""Column that is NULL if a row had no match; user columns must not have this name."""

_REFUSED_WITH_GROUPS = ("order", "limit", "offset", "qualify")


def join_lateral(queries: QueryReader, join: exp.Join, left: ScopedRows, lateral: exp.Lateral) -> ScopedRows | None:
    """Return the rows, each joined with the query's rows for it; None if the query does not read them."""
    if _depth_of(lateral) > MAX_LATERAL_DEPTH:
        raise TooLargeError(
            "LATERAL queries are nested too deeply", hint=f"at most {MAX_LATERAL_DEPTH} stand inside each other"
        )
    select = lateral.this.unnest()
    can_look = isinstance(select, exp.Select) and not select.args.get("with_")
    allowed = [*where_conditions(select), *select.expressions] if can_look else []
    _refuse_elsewhere(queries, left, lateral, allowed)
    if not can_look:
        return None
    query = _LateralQuery(queries, join, left, lateral, select, numbered("__lateral", left.rows.schema.names))
    if select.args.get("from_") is not None:
        return _join_relation(query)
    query.check_join()
    return query.join_computed()


def _join_relation(query: _LateralQuery) -> ScopedRows | None:
    """Return the rows joined to the input of the query; None if it does not read them."""
    select, outer = query.select, query.left.scope
    inner = query.queries.read_from(select).scope
    conditions = [node for node in where_conditions(select) if _looks_out(node, inner, outer)]
    items = [item for item in select.expressions if _looks_out(item, inner, outer)]
    if not conditions and not items:
        return None
    query.check_join()
    if is_plain(select) and not select.args.get("distinct"):
        return query.join_aggregates() if has_aggregate(select.expressions) else query.join_rows()
    return query.join_groups(conditions, items, inner)


def _depth_of(lateral: exp.Lateral) -> int:
    depth, ancestor = 1, lateral.parent
    while ancestor is not None:
        depth, ancestor = depth + isinstance(ancestor, exp.Lateral), ancestor.parent
    return depth


def _looks_out(node: exp.Expr, inner: Scope, outer: Scope) -> bool:
    return any(_is_outer(column, inner, outer) for column in node.find_all(exp.Column))


def _is_outer(column: exp.Column, inner: Scope, outer: Scope) -> bool:
    parts = [part.name for part in column.parts]
    try:
        inner.resolve(parts)
    except EngineError:
        return outer.has(parts[0]) or outer.has_table(parts)
    return False


def _refuse_elsewhere(
    queries: QueryReader, left: ScopedRows, lateral: exp.Lateral, allowed: Sequence[exp.Expr]
) -> None:
    """Refuse columns of the rows before the query outside of the allowed parts."""
    inner_tables = {table.alias_or_name.lower() for table in lateral.this.find_all(exp.Table, exp.Subquery)}
    outer_tables = left.scope.tables - inner_tables
    allowed_columns = {id(column) for part in allowed for column in part.find_all(exp.Column)}
    for column in lateral.this.find_all(exp.Column):
        if column.table.lower() in outer_tables and id(column) not in allowed_columns:
            raise UnsupportedClauseError(
                "a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone",
                hint=f"{column.sql()} stands elsewhere; move the condition, or join the tables",
                at=queries.script.position(column),
            )


@dataclass(frozen=True, slots=True)
class _LateralQuery:
    """A query that uses preceding rows. Generated columns begin with the prefix."""

    queries: QueryReader
    join: exp.Join
    left: ScopedRows
    lateral: exp.Lateral
    select: exp.Select
    prefix: str

    @property
    def is_left_join(self) -> bool:
        """Whether a row stays for which the query returns none."""
        return self.join.side.upper() == "LEFT"

    @property
    def table(self) -> str:
        """The alias of the query."""
        return str(self.lateral.alias)

    def check_join(self) -> None:
        """Refuse the joins that cannot be computed row by row."""
        method, kind, side = str(self.join.method or ""), self.join.kind.upper(), self.join.side.upper()
        if method or kind not in ("", "CROSS", "INNER", "OUTER") or side not in ("", "LEFT"):
            raise JoinError(_JOINS)
        if self.join.args.get("using") or (self.is_left_join and self.join.args.get("on") is None):
            raise JoinError(_JOINS)
        if self.table and self.table.lower() in self.left.scope.tables:
            raise JoinError(f"{self.table!r} appears twice in FROM", hint="give one of them an alias")

    def join_computed(self) -> ScopedRows:
        """Return the rows with more columns, for a query that reads nothing else."""
        inputs = Expressions(self.queries.script, self.left.scope)
        if any(clause and name not in ("expressions", "where") for name, clause in self.select.args.items()):
            raise UnsupportedClauseError(
                "a query without FROM computes columns", hint="leave out all but SELECT and WHERE"
            )
        items = with_unique_names([self._computed_item(item, inputs) for item in self.select.expressions])
        conditions = [inputs.condition(node) for node in where_conditions(self.select)]
        condition = conjunction(conditions)
        if condition is not None and self.is_left_join:
            return self._add_columns(self.left, [Named(item.name, _when(condition, item.expr)) for item in items])
        return self._add_columns(replace(self.left, rows=filter_rows(self.left.rows, conditions)), items)

    def _computed_item(self, item: exp.Expr, inputs: Expressions) -> Named:
        if item.is_star:
            raise UnsupportedClauseError(
                "a query without FROM computes columns, and * is none", hint="name the columns"
            )
        return Named(name_of_item(item), inputs.translate(item.unalias()))

    def join_aggregates(self) -> ScopedRows:
        """Return the rows, each with the aggregates of those that match it: there is always one row of them."""
        subquery = AggregateSubquery(self.queries, self.prefix, self.left, self.select)
        values = subquery.translate()
        items = [Named(name_of_item(item), value) for item, value in zip(self.select.expressions, values, strict=True)]
        rows = subquery.join_to(self.left.rows)
        return self._add_columns(replace(self.left, rows=rows), with_unique_names(items))

    def join_rows(self) -> ScopedRows:
        """Return the rows joined with those of the query, whose columns may depend on both: what depends on the query's
        rows alone is a column before the join, the rest is computed above it."""
        correlated = read_correlated(self.queries, self.left, self.select)
        rows, scope = correlated.source.rows, correlated.source.scope
        translate = Expressions(self.queries.script, scope).translate
        items = with_unique_names(
            [column for item in self.select.expressions for column in read_item(item, scope, translate)]
        )
        inner_names = set(rows.schema.names)
        inner_items = [item for item in items if columns_of(item.expr) <= inner_names]
        right, inner_columns = self._project_inner(rows, [*inner_items, _MATCHED])
        if len(inner_items) == len(items):
            visible = tuple(Visible(self.table or None, inner_columns[item.name], item.name) for item in items)
            return self._join_with_on(ScopedRows(right, Scope(visible)), correlated.conditions)
        joined = self._join_matches(ScopedRows(right, Scope()), correlated.conditions)
        return self._compute_above(joined, items, inner_columns)

    def _compute_above(
        self, joined: ScopedRows, items: Sequence[Named], inner_columns: dict[str, Column]
    ) -> ScopedRows:
        """Return the joined rows with the items: those of the query's rows alone have a column, the others are computed
        from both."""
        columns = {field.name: column_of(field) for field in joined.rows.schema}
        is_matched = None
        if self.is_left_join:
            is_matched = make_call("is_not_null", [columns[inner_columns[_MATCHED.name].name]])

        def value_of(item: Named) -> Expr:
            if item.name in inner_columns:
                return columns[inner_columns[item.name].name]
            return item.expr if is_matched is None else _when(is_matched, item.expr)

        return self._add_columns(joined, [Named(item.name, value_of(item)) for item in items])

    def _project_inner(self, rows: Node, items: Sequence[Named]) -> tuple[Node, dict[str, Column]]:
        """Return the rows with columns for the expressions over them alone, and the column of each item."""
        computed: list[Named] = []
        columns: dict[str, Column] = {}
        for item in items:
            column = item.expr
            if not isinstance(column, Column):
                computed.append(Named(f"{self.prefix}_own{len(computed)}", item.expr))
                column = output_column(computed[-1])
            columns[item.name] = column
        return Project(rows, (*pass_through(rows.schema), *computed)), columns

    def join_groups(self, conditions: Sequence[exp.Expr], items: Sequence[exp.Expr], inner: Scope) -> ScopedRows:
        """Return the rows joined with the groups, or distinct rows, or elements, that the query computes within each
        match. What the conditions compare with the rows before is added to its list and its GROUP BY."""
        self._check_groups(items)
        pairs = [self._split_equality(node, inner) for node in conditions]
        inner_keys = [inner_key for inner_key, _ in pairs]
        relation = self.queries.translate(self._with_keys(conditions, inner_keys))
        source = ScopedRows(relation.rows, scope_of(relation, self.table or None))
        right = rename_apart(source, self.left)
        count = len(right.scope.columns) - len(inner_keys)
        outer = Expressions(self.queries.script, self.left.scope)
        equalities = [
            make_call("=", [outer.translate(outer_key), key.column])
            for (_, outer_key), key in zip(pairs, right.scope.columns[count:], strict=True)
        ]
        return self._join_with_on(replace(right, scope=Scope(right.scope.columns[:count])), equalities)

    def _check_groups(self, items: Sequence[exp.Expr]) -> None:
        """Refuse a query that changes its meaning with one more group key. The items read the rows before it."""
        args = self.select.args
        if any(args.get(name) for name in _REFUSED_WITH_GROUPS) or self.select.find(exp.Window):
            raise self._refusal("with ORDER BY, LIMIT or OVER", "number the rows in a sub-query, and join that")
        if args.get("group") is None and (args.get("having") or has_aggregate(self.select.expressions)):
            raise self._refusal("with HAVING but without GROUP BY", "write GROUP BY, or the condition into ON")
        distinct = args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise self._refusal("with DISTINCT ON", "write GROUP BY")
        if items:
            raise self._refusal("that groups its rows", "select what is of those rows outside of it", items[0])

    def _with_keys(self, conditions: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> exp.Select:
        """Return the query without the conditions, with the keys in its list and its GROUP BY."""
        keyed = self.select.copy()
        inner_conditions = [node.copy() for node in where_conditions(self.select) if node not in conditions]
        keyed.set("where", exp.Where(this=exp.and_(*inner_conditions)) if inner_conditions else None)
        keyed.set("expressions", [*keyed.expressions, *(key.copy() for key in keys)])
        group = keyed.args.get("group")
        if group is not None:
            group.set("expressions", [*group.expressions, *(key.copy() for key in keys)])
        return keyed

    def _split_equality(self, condition: exp.Expr, inner: Scope) -> tuple[exp.Expr, exp.Expr]:
        """Return the side of the equality that belongs to the query, and the side that belongs to the rows before."""
        if isinstance(condition, exp.EQ):
            sides = (condition.this, condition.expression)
            for inner_side, outer_side in (sides, reversed(sides)):
                are_outer = [_is_outer(column, inner, self.left.scope) for column in outer_side.find_all(exp.Column)]
                are_inner = [
                    not _is_outer(column, inner, self.left.scope) for column in inner_side.find_all(exp.Column)
                ]
                if are_outer and are_inner and all(are_outer) and all(are_inner):
                    return inner_side, outer_side
        raise self._refusal("that groups its rows", "it can in WHERE, with inner = outer", condition)

    def _join_with_on(self, right: ScopedRows, conditions: Sequence[Expr]) -> ScopedRows:
        """Return both sides joined, where ON is true, too."""
        names = names_of_alias(self.lateral.args.get("alias"), len(right.scope.columns), self.queries.script)
        if names:
            columns = (replace(visible, alias=name) for visible, name in zip(right.scope.columns, names, strict=True))
            right = replace(right, scope=Scope(tuple(columns)))
        on = self._on_condition(Scope((*self.left.scope.columns, *right.scope.columns)))
        return self._join_matches(right, [*conditions, *(conjuncts(on) if on is not None else [])])

    def _join_matches(self, right: ScopedRows, conditions: Sequence[Expr]) -> ScopedRows:
        condition = join_condition_of(conditions, self.left.rows, right.rows)
        kind: JoinKind = "left" if self.is_left_join else "inner"
        at = self.queries.script.position(self.lateral)
        rows = choose_join(self.left.rows, right.rows, kind, condition, self.queries.updating_ttl, at)
        return with_nullability(ScopedRows(rows, Scope((*self.left.scope.columns, *right.scope.columns))))

    def _add_columns(self, source: ScopedRows, items: Sequence[Named]) -> ScopedRows:
        """Return the rows with the values of the items, one for each, where ON is true."""
        names = names_of_alias(self.lateral.args.get("alias"), len(items), self.queries.script)
        computed = [Named(f"{self.prefix}_item{number}", item.expr) for number, item in enumerate(items)]
        rows = Project(source.rows, (*pass_through(source.rows.schema), *computed))
        columns = [
            Visible(self.table or None, output_column(column), name)
            for column, name in zip(computed, names or [item.name for item in items], strict=True)
        ]
        scope = Scope((*self.left.scope.columns, *columns))
        on = self._on_condition(scope)
        if on is None:
            return ScopedRows(rows, scope)
        if self.is_left_join:
            raise JoinError(_JOINS, hint="write the condition into the query's own WHERE")
        return ScopedRows(Filter(rows, on), scope)

    def _on_condition(self, scope: Scope) -> Expr | None:
        """Return the condition of ON; None without one, and for ON true."""
        on = self.join.args.get("on")
        if on is None or (isinstance(on, exp.Boolean) and on.this):
            return None
        return Expressions(self.queries.script, scope).condition(on)

    def _refusal(self, subject: str, hint: str, part: exp.Expr | None = None) -> UnsupportedClauseError:
        ending = "" if part is None else " like this"
        return UnsupportedClauseError(
            f"a LATERAL query {subject} cannot look at the rows before it{ending}",
            hint=hint,
            at=self.queries.script.position(part),
        )


def _when(condition: Expr, value: Expr) -> Expr:
    return Case(((condition, value),), None, value.type)
