"""Translate queries: SELECT, set operations and WITH.

SELECT: FROM, WHERE, GROUP BY, the list, and ORDER BY.

    SELECT upper(key), unnest(tags), row_number() OVER (...) AS n FROM events WHERE value > (SELECT ...) LIMIT 3

    FROM, and a join for each scalar subquery                        scalar_subqueries
    WHERE                                                            conditions, where_subqueries
    a column per OVER, a row per element of an array                 over, unnest_in_select
    the list, ORDER BY and LIMIT                                     select_list, order_by

With GROUP BY or an aggregate, the list and HAVING are translated over the groups instead: see `group_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import DuplicateNameError, SyntaxRefusedError, UnsupportedClauseError
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import Carried, Filter, Scan
from engine.plan.tree import Node
from engine.sql.catalog import BrokenTableError, Catalog, Complaints, LookupTable, count_relations, errors_located
from engine.sql.query.aggregate_calls import distinct_rows, has_aggregate
from engine.sql.query.from_clause import ArrayUnnesting, read_from, rename_columns
from engine.sql.query.group_by import Grouping, OperatorHints, hint_of
from engine.sql.query.join_choice import filter_rows, where_conditions
from engine.sql.query.order_by import SelectedRows, distinct_on
from engine.sql.query.over import OverCalls, Translate
from engine.sql.query.query_reader import QueryReader, read_subquery_test
from engine.sql.query.scalar_subqueries import ScalarSubqueries, filter_by_subquery
from engine.sql.query.select_list import (
    aliases_of,
    name_of_item,
    read_item,
    resolve_group_item,
    unnamed_columns,
    with_unique_names,
)
from engine.sql.query.set_operations import translate_set_operation
from engine.sql.query.windows import is_window_call, recoverable_window, translate_window, window_over
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Relation, Scope, ScopedRows
from engine.sql.text.parse import Script
from engine.sql.window_tables import check_event_time

UPDATING_TTL = timedelta(days=1)
"""Default time to live of rows without a window."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Translates the queries of one script. `ctes` are the visible WITH names; None marks a refused one. `updating_ttl`
    is the time to live of rows without a window. `read` collects the relations that the current SELECT uses, if
    requested."""

    script: Script
    catalog: Catalog
    updating_ttl: timedelta = UPDATING_TTL
    ctes: Mapping[str, Relation | None] = field(default_factory=dict)
    hints: OperatorHints = field(default_factory=OperatorHints)
    read: list[Node] | None = None

    def translate(self, query: exp.Expr) -> Relation:
        """Return the relation that a query describes. Raise ScriptRefused with all errors."""
        complaints = Complaints()
        relation: Relation | None = None
        with complaints.collect(self.script.position(query)):
            relation = self._with_ctes(query, complaints).translate_body(query)
        complaints.raise_any()
        if relation is None:
            raise BrokenTableError("a CTE")
        return self._noted(relation)

    def read_from(self, select: exp.Select) -> ScopedRows:
        """Return the rows in the FROM of a SELECT, and the names of their columns."""
        return read_from(self, select)

    def primary_key(self, scan: Scan | None) -> tuple[str, ...]:
        """Return the primary key of a table that was read; none for everything else."""
        table = None if scan is None else self.catalog.read_tables.get(scan.table)
        return () if table is None else table.primary_key

    def read_table(self, name: str) -> Relation:
        """Return the CTE, table or view of that name; raise if there is none or it cannot be read."""
        if name.lower() not in self.ctes:
            return self._noted(self.catalog.read(name))
        relation = self.ctes[name.lower()]
        if relation is None:
            raise BrokenTableError(name)
        return self._noted(relation)

    def _noted(self, relation: Relation) -> Relation:
        if self.read is not None:
            self.read.append(relation.rows)
        return relation

    def find_lookup(self, name: str) -> LookupTable | None:
        """Return the lookup table of that name, if it is one and no CTE."""
        return None if name.lower() in self.ctes else self.catalog.find_lookup(name)

    def _with_ctes(self, query: exp.Expr, complaints: Complaints) -> Queries:
        """Add the CTEs of a query, each of which can read those before it."""
        inner = replace(self, read=None)
        clause = query.args.get("with_")
        if clause is None:
            return inner
        if clause.args.get("recursive"):
            raise UnsupportedClauseError("a recursive CTE is not supported", at=self.script.position(clause))
        queries = inner
        names: set[str] = set()
        for cte in clause.expressions:
            relation: Relation | None = None
            name = cte.alias.lower()
            with complaints.collect(self.script.position(cte.this)):
                if name in names:
                    raise DuplicateNameError(f"{cte.alias!r} appears twice in WITH", hint="give one another name")
                names.add(name)
                relation = rename_columns(queries.translate(cte.this), cte.args.get("alias"), self.script)
                count_relations(relation.rows)
            queries = replace(queries, ctes={**queries.ctes, name: relation})
        return queries

    def translate_body(self, query: exp.Expr) -> Relation:
        """Return the relation that a query describes, after its WITH."""
        match query:
            case exp.Subquery():
                return self.translate(query.this)
            case exp.SetOperation():
                return translate_set_operation(self, query)
            case exp.Select():
                return self._translate_select(query)
        raise UnsupportedClauseError(f"{type(query).__name__.upper()} is not supported", at=self.script.position(query))

    def _translate_select(self, query: exp.Select) -> Relation:
        hint = hint_of(query)
        if hint is None:
            return translate_select(self, query)
        read: list[Node] = []
        relation = translate_select(replace(self, read=read), query)
        with errors_located(self.script.position(hint)):
            return replace(relation, rows=self.hints.pin(relation.rows, hint, read))


def translate_select(queries: QueryReader, select: exp.Select) -> Relation:
    """Return the rows of one SELECT."""
    script = queries.script
    if not select.expressions:
        raise SyntaxRefusedError("SELECT needs a list of columns", hint="* is all of them", at=script.position(select))
    source = queries.read_from(select)
    check_event_time(select, source.rows)
    rows = _Select(queries, select, source.scope).translate(source.rows)
    if select.args.get("distinct") is not None and not distinct_on(select):
        with errors_located(script.position_of_word("DISTINCT", select)):
            rows = distinct_rows(rows, queries.updating_ttl)
    return Relation(rows, unnamed_columns(select, source.scope))


@dataclass(frozen=True, slots=True)
class _Select:
    """One SELECT over the columns of its FROM, and its errors."""

    queries: QueryReader
    select: exp.Select
    scope: Scope
    complaints: Complaints = field(default_factory=Complaints)

    @property
    def script(self) -> Script:
        return self.queries.script

    @property
    def having(self) -> exp.Expr | None:
        """The clause HAVING."""
        having: exp.Expr | None = self.select.args.get("having")
        return having

    @property
    def grouped_items(self) -> list[exp.Expr]:
        """Return the items that read an aggregation: the SELECT list and the condition of HAVING."""
        return [*self.select.expressions, *([] if self.having is None else [self.having.this])]

    def translate(self, rows: Node) -> Node:
        """Translate the SELECT over the rows of its FROM, before DISTINCT."""
        subqueries = ScalarSubqueries(self.queries)
        is_grouped = self.select.args.get("group") is not None or has_aggregate(self.grouped_items)
        items = [] if is_grouped else self.select.expressions
        subqueries.translate_in([*where_conditions(self.select), *items], ScopedRows(rows, self.scope))
        filtered = self._filter(subqueries.join_to(rows), subqueries)
        if is_grouped:
            return self._translate_groups(filtered)
        if self.having is not None:
            at = self.script.position_of_word("HAVING", self.select, self.having.this)
            raise UnsupportedClauseError("HAVING needs GROUP BY", hint="use WHERE", at=at)
        return self._translate_rows(filtered, subqueries)

    def _filter(self, rows: Node, subqueries: ScalarSubqueries) -> Node:
        """Return the rows for which WHERE is true."""
        where = self.select.args.get("where")
        if where is None:
            return rows
        inputs = Expressions(self.script, self.scope, subqueries.value_of)
        nodes = where_conditions(self.select)
        if not any(read_subquery_test(node) for node in nodes):
            nodes = [where.this]
        conditions: list[Expr] = []
        for node in nodes:
            with self.complaints.collect(self.script.position(where if len(nodes) == 1 else node)):
                test = read_subquery_test(node)
                if test is not None:
                    rows = filter_by_subquery(self.queries, ScopedRows(rows, self.scope), test)
                else:
                    conditions.append(inputs.condition(node))
        return filter_rows(rows, conditions)

    def _translate_rows(self, rows: Node, subqueries: ScalarSubqueries) -> Node:
        """Return the SELECT list over rows without groups."""
        unnesting, over_calls = ArrayUnnesting(), self._over_calls(rows)

        def special(part: exp.Expr) -> Expr | None:
            return subqueries.value_of(part) or over_calls.value_of(part)

        def special_or_element(part: exp.Expr) -> Expr | None:
            return special(part) or unnesting.element_of(part, inputs.translate)

        inputs = Expressions(self.script, self.scope, special_or_element)
        columns: list[Named] = []
        for item in self.select.expressions:
            with self.complaints.collect(self.script.position(item)):
                columns.extend(read_item(item, self.scope, inputs.translate))
        self.complaints.raise_any()

        def build() -> Node:
            return unnesting.unnest(over_calls.add_to(rows))

        return self._select(columns, Expressions(self.script, self.scope, special).translate, build)

    def _translate_groups(self, rows: Node) -> Node:
        """Return the SELECT list and HAVING over the groups of the rows."""
        aliases = aliases_of(self.select, self.scope)
        grouping = Grouping(self.script, rows, self.scope, self.queries.updating_ttl, aliases)
        group_by = self.select.args.get("group")
        for item in group_by.expressions if group_by else []:
            with self.complaints.collect(self.script.position(item)):
                grouping.add_key(resolve_group_item(item, self.select.expressions, self.scope))
        self.complaints.raise_any()
        subqueries = ScalarSubqueries(self.queries)
        subqueries.translate_in(self.grouped_items, grouping.groups())
        grouping.subquery_value = subqueries.value_of
        columns: list[Named] = []
        for item in self.select.expressions:
            with self.complaints.collect(self.script.position(item)):
                if isinstance(item, exp.Star):
                    raise UnsupportedClauseError("* cannot be used with GROUP BY", hint="name the columns")
                columns.append(Named(name_of_item(item), grouping.value(item.unalias())))
        condition: Expr | None = None
        if self.having is not None:
            with self.complaints.collect(self.script.position(self.having)):
                condition = grouping.having(self.having.this)
        self.complaints.raise_any()

        def build() -> Node:
            groups = subqueries.join_to(grouping.build(group_by or self.select.expressions[0]))
            groups = groups if condition is None else Filter(groups, condition)
            return grouping.unnesting.unnest(grouping.over_calls.add_to(groups))

        return self._select(columns, grouping.value, build)

    def _select(self, columns: list[Named], translate: Translate, build: Callable[[], Node]) -> Node:
        """Return the columns of the relation that `build` returns, ordered and limited."""
        selected = SelectedRows(
            self.select, with_unique_names(columns), translate, self.script, self.queries.updating_ttl
        )
        return selected.over(build)

    def _over_calls(self, rows: Node) -> OverCalls:
        """Return the functions with OVER of a SELECT without GROUP BY: its rows carry their window or have none."""
        inputs = Expressions(self.script, self.scope)

        def partition(item: exp.Expr) -> Expr:
            window = window_over(translate_window(item, self.script), rows) if is_window_call(item) else None
            if isinstance(window, Carried):
                return Column(window.column, types.WINDOW, nullable=False)
            return inputs.translate(item)

        windowed = recoverable_window(rows)
        if windowed is None:
            return OverCalls(self.script, None, inputs.translate, partition, self.queries.updating_ttl)
        window, name = windowed
        column = None if name is None else Column(name, types.WINDOW, nullable=False)
        return OverCalls(self.script, (window, column), inputs.translate, partition, self.queries.updating_ttl)
