"""JOIN in FROM: its kind, its condition, and what the columns of both sides are called afterwards.

a JOIN b USING (id)      both have a column `id`, and a plan has each name once

before the join          b.id becomes `id_2`, and the scope remembers that b calls it `id`
the condition            id = id_2
what names mean now      id: that of `a`, since both are equal (of `b` in a right join, the one that is not NULL in
                         a full one); a.id and b.id: those of the sides
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

from sqlglot import exp

from engine.errors import EngineError, JoinError, TextPosition
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import JoinKind, Project, pass_through
from engine.sql.query.conjunctions import conjuncts
from engine.sql.query.join_choice import JoinCondition, choose_join, equality_of, join_condition_of
from engine.sql.query.relation_columns import fresh_name, output_column, rename_apart
from engine.sql.scalar.calls import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible
from engine.sql.text.parse import Script


@dataclass(frozen=True, slots=True)
class JoinClause:
    """One JOIN. `where` are the conditions of WHERE that a join without ON may take its equalities from."""

    script: Script
    node: exp.Join
    where: Sequence[exp.Expr]
    ttl: timedelta

    @property
    def at(self) -> TextPosition | None:
        """Return the position of the joined relation in the script."""
        return self.script.position(self.node.this)

    @property
    def kind_word(self) -> str:
        """INNER or CROSS as it is written; OUTER says no more than LEFT, RIGHT and FULL do."""
        word = self.node.kind.upper()
        return "" if word == "OUTER" else word

    def join(self, left: ScopedRows, right: ScopedRows) -> ScopedRows:
        """Both sides joined, by windows when they have them, else for all time."""
        kind = self._kind()
        self.refuse_repeated_table(left, right)
        right = rename_apart(right, left)
        condition = self.condition(left, right)
        rows = choose_join(left.rows, right.rows, kind, condition, self.ttl, self.at)
        joined = ScopedRows(rows, Scope((*left.scope.columns, *right.scope.columns)))
        return self.merge_shared_columns(with_nullability(joined), left, right, kind)

    def refuse_repeated_table(self, left: ScopedRows, right: ScopedRows) -> None:
        """Refuse a table or alias that FROM has already."""
        tables = left.scope.tables
        for visible in right.scope.columns:
            if visible.table and visible.table.lower() in tables:
                raise JoinError(
                    f"{visible.table!r} appears twice in FROM", hint="give one of them an alias", at=self.at
                )

    def condition(self, left: ScopedRows, right: ScopedRows) -> JoinCondition:
        """Return the condition of ON, USING or NATURAL, or else the one of WHERE over both sides."""
        scope = Scope((*left.scope.columns, *right.scope.columns))
        shared, on = self._shared_names(left.scope, right.scope), self.node.args.get("on")
        conditions = [make_call("=", [left.scope.resolve([name]), right.scope.resolve([name])]) for name in shared]
        if on is not None:
            conditions += conjuncts(Expressions(self.script, scope).condition(on))
        elif not shared and self.node.side:
            raise JoinError(f"{self.node.side.upper()} JOIN needs a condition", hint="write ON a.x = b.x", at=self.at)
        elif not shared:
            conditions += self._equalities_of_where(left, right, scope)
        return join_condition_of(conditions, left.rows, right.rows)

    def merge_shared_columns(
        self, joined: ScopedRows, left: ScopedRows, right: ScopedRows, kind: JoinKind
    ) -> ScopedRows:
        """The columns of USING once, and first; those of each side are still in reach under the side's name."""
        names = self._shared_names(left.scope, right.scope)
        if not names:
            return joined
        merged: list[Visible] = []
        hidden: set[str] = set()
        computed: list[Named] = []
        for name in names:
            of_left, of_right = (_joined_column(side.scope, name, joined.scope) for side in (left, right))
            hidden |= {of_left.name, of_right.name}
            if kind == "full":
                value = make_call("coalesce", [of_left, of_right])
                used = {*joined.rows.schema.names, *(projection.name for projection in computed)}
                computed.append(Named(fresh_name(name, used), value))
                merged.append(Visible(None, output_column(computed[-1]), name))
            else:
                merged.append(Visible(None, of_right if kind == "right" else of_left, name))
        columns = [
            replace(visible, hidden=visible.hidden or visible.column.name in hidden) for visible in joined.scope.columns
        ]
        rows = joined.rows
        if computed:
            rows = Project(rows, (*pass_through(rows.schema), *computed))
        return ScopedRows(rows, Scope((*merged, *columns)))

    def _kind(self) -> JoinKind:
        method = str(self.node.method or "").upper()
        if method not in ("", "NATURAL") or self.kind_word not in ("", "INNER", "CROSS"):
            words = " ".join(word for word in (method, self.node.side.upper(), self.kind_word) if word)
            raise JoinError(f"{words} JOIN is not supported", hint="use inner, left, right or full", at=self.at)
        return cast("JoinKind", self.node.side.lower() or "inner")

    def _shared_names(self, left: Scope, right: Scope) -> list[str]:
        """The names of the columns that both sides share and that the join names or means."""
        if str(self.node.method or "").upper() != "NATURAL":
            return [identifier.name for identifier in self.node.args.get("using") or []]
        names = {visible.name.lower() for visible in right.shown}
        return [visible.name for visible in left.shown if visible.name.lower() in names]

    def _equalities_of_where(self, left: ScopedRows, right: ScopedRows, scope: Scope) -> list[Expr]:
        """The equalities between the two sides among the conditions of WHERE, which hold above the join as well."""
        equalities: list[Expr] = []
        for node in self.where:
            try:
                condition = Expressions(self.script, scope).translate(node)
            except EngineError:
                continue  # it may be about a table that is joined later; WHERE itself will tell
            if equality_of(condition, left.rows, right.rows) is not None:
                equalities.append(condition)
        return equalities


def with_nullability(joined: ScopedRows) -> ScopedRows:
    """The names again, with columns that an outer join may leave out marked as such."""
    nullable = {field.name: field.nullable for field in joined.rows.schema}
    columns = tuple(
        replace(visible, column=replace(visible.column, nullable=nullable[visible.column.name]))
        for visible in joined.scope.columns
    )
    return ScopedRows(joined.rows, Scope(columns))


def _joined_column(side: Scope, name: str, joined: Scope) -> Column:
    """The column of one side that a name of USING means, as it is after the join."""
    column = side.resolve([name])
    assert isinstance(column, Column)
    return next(visible.column for visible in joined.columns if visible.column.name == column.name)
