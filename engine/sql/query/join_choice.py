"""Choose the join of two relations, by their windows and the equalities in the condition.

FROM e JOIN c ON e.window = c.window AND e.key = c.key AND e.n > c.n

both have the same window       WindowJoin: rows of one window meet in one epoch, without state; the equality of
                                the windows is implied, e.key = c.key a pair, e.n > c.n the condition
neither has a window            UpdatingJoin: rows are stored by the values of the pairs, so there must be a pair
only one has, or they differ    refused: a closed window would have to wait for rows of all time

JOIN in FROM: its kind, its condition, and the column names of both sides after it.

a JOIN b USING (id): both have a column `id`, and names in a plan are unique

before the join          b.id becomes `id_2`, and the scope records that b calls it `id`
the condition            id = id_2
names after it           id: that of `a`, since both are equal (in a right join that of `b`, in a full join the one that
                         is not NULL); a.id and b.id: those of the sides
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

from sqlglot import exp

from engine import types
from engine.errors import EngineError, JoinError, TextPosition, WindowMismatchError
from engine.plan.expressions.conditions import split_condition
from engine.plan.expressions.expr import Call, Column, Expr, Named, columns_of
from engine.plan.nodes import Filter, JoinKind, Project, Session, UpdatingJoin, WindowJoin, pass_through, window_of
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.query.relation_columns import fresh_name, output_column, rename_apart
from engine.sql.query.windows import describe
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible
from engine.sql.text.parse import Script


@dataclass(frozen=True, slots=True)
class JoinClause:
    """One JOIN. `where` are the conditions of WHERE, from which a join without ON may take its equalities."""

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
        """Return both sides joined, by windows if they have them, else without a time limit."""
        kind = self.kind
        self.refuse_repeated_table(left, right)
        right = rename_apart(right, left)
        condition = self.condition(left, right)
        rows = choose_join(left.rows, right.rows, kind, condition, self.ttl, self.at)
        joined = ScopedRows(rows, Scope((*left.scope.columns, *right.scope.columns)))
        return self.merge_shared_columns(with_nullability(joined), left, right, kind)

    def refuse_repeated_table(self, left: ScopedRows, right: ScopedRows) -> None:
        """Refuse a table or alias that FROM already has."""
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
        """Return the columns of USING once, and first; those of each side are still available under the side's name."""
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

    @property
    def kind(self) -> JoinKind:
        """The kind of the join; raise for one that is not supported."""
        method = str(self.node.method or "").upper()
        if method not in ("", "NATURAL") or self.kind_word not in ("", "INNER", "CROSS"):
            words = " ".join(word for word in (method, self.node.side.upper(), self.kind_word) if word)
            raise JoinError(f"{words} JOIN is not supported", hint="use inner, left, right or full", at=self.at)
        return cast("JoinKind", self.node.side.lower() or "inner")

    def _shared_names(self, left: Scope, right: Scope) -> list[str]:
        """Return the names of the columns that both sides share and that the join names or means."""
        if str(self.node.method or "").upper() != "NATURAL":
            return [identifier.name for identifier in self.node.args.get("using") or []]
        names = {visible.name.lower() for visible in right.shown}
        return [visible.name for visible in left.shown if visible.name.lower() in names]

    def _equalities_of_where(self, left: ScopedRows, right: ScopedRows, scope: Scope) -> list[Expr]:
        """Return the equalities between the two sides among the conditions of WHERE, which is applied above the join,
        too."""
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
    """Return the names with the columns that an outer join may leave out marked as nullable."""
    nullable = {field.name: field.nullable for field in joined.rows.schema}
    columns = tuple(
        replace(visible, column=replace(visible.column, nullable=nullable[visible.column.name]))
        for visible in joined.scope.columns
    )
    return ScopedRows(joined.rows, Scope(columns))


def _joined_column(side: Scope, name: str, joined: Scope) -> Column:
    """Return the column of one side for a name of USING, after the join."""
    column = side.resolve([name])
    assert isinstance(column, Column)
    return next(visible.column for visible in joined.columns if visible.column.name == column.name)


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """Condition of a join: the equalities between the sides, and everything else."""

    pairs: tuple[Pair, ...]
    remainder: Expr | None = None


def join_condition_of(conditions: Sequence[Expr], left: Node, right: Node) -> JoinCondition:
    """Return the equalities between two relations among some conditions, and all other conditions as one."""
    pairs = [equality_of(condition, left, right) for condition in conditions]
    remainder = [condition for condition, pair in zip(conditions, pairs, strict=True) if pair is None]
    return JoinCondition(tuple(pair for pair in pairs if pair is not None), conjunction(remainder))


def equality_of(condition: Expr, left: Node, right: Node) -> Pair | None:
    """Return the expression of the left and that of the right which must be equal; None for any other condition."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    first, second = condition.arguments
    if _reads_only(first, left) and _reads_only(second, right):
        return first, second
    if _reads_only(second, left) and _reads_only(first, right):
        return second, first
    return None


def choose_join(
    left: Node, right: Node, kind: JoinKind, condition: JoinCondition, ttl: timedelta, at: TextPosition | None
) -> Node:
    """Return the join of two relations: within the window of both, or without a time limit if neither has one."""
    is_windowed = [window_of(side) is not None for side in (left, right)]
    if all(is_windowed):
        return _window_join(left, right, kind, condition, at)
    if any(is_windowed):
        sides = ("left", "right") if is_windowed[0] else ("right", "left")
        raise WindowMismatchError(
            f"the {sides[0]} side of the join has a window and the {sides[1]} side has none",
            hint="aggregate both sides by the same window, or neither",
            at=at,
        )
    if not condition.pairs:
        raise JoinError("a join without windows needs an equality of its sides", hint="write ON a.x = b.x", at=at)
    if kind != "inner" and condition.remainder is not None:
        _refuse_uncomputable(left, right, condition.remainder, at)
    return UpdatingJoin(left, right, kind, condition.pairs, condition.remainder, ttl)


def _window_join(left: Node, right: Node, kind: JoinKind, condition: JoinCondition, at: TextPosition | None) -> Node:
    left_windowed, right_windowed = window_of(left), window_of(right)
    assert left_windowed is not None
    assert right_windowed is not None
    (left_window, left_column), (right_window, right_column) = left_windowed, right_windowed
    if left_window != right_window:
        raise WindowMismatchError(
            f"rows of different windows cannot be joined: {describe(left_window)} and {describe(right_window)}",
            hint="aggregate both sides by the same window",
            at=at,
        )
    if left_column is None or right_column is None:
        # windows of a fixed width are known by the event time of their rows, which is just before their end; where a
        # session ends, its rows do not tell
        if isinstance(left_window, Session):
            raise WindowMismatchError(
                "sessions are joined by their window, which one side does not pass on",
                hint="select the window in both inner queries",
                at=at,
            )
        return WindowJoin(left, right, kind, None, condition.pairs, condition.remainder)
    windows = (left_column, right_column)
    columns = {Column(name, types.WINDOW, nullable=False) for name in windows}
    pairs = tuple(pair for pair in condition.pairs if set(pair) != columns)
    return WindowJoin(left, right, kind, windows, pairs, condition.remainder)


def _refuse_uncomputable(left: Node, right: Node, condition: Expr, at: TextPosition | None) -> None:
    """Refuse a condition that only Spark can compute: whether a row has a match is known only once we have tested each
    pair."""
    if split_condition(condition, left.schema, right.schema) is None:
        raise JoinError(
            "this condition is too intricate for a join without windows that is not an inner one",
            hint="compute what it needs of each side in a column of its own, and compare those",
            at=at,
        )


def _reads_only(expr: Expr, side: Node) -> bool:
    """Whether the expression reads columns, and only those of one side."""
    names = columns_of(expr)
    return bool(names) and names <= set(side.schema.names)


def conjunction(conditions: Sequence[Expr]) -> Expr | None:
    """Return the conjunction of conditions; None if there are none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return make_call("and", conditions)


def conjuncts(condition: Expr) -> list[Expr]:
    """Return the conjuncts of a condition."""
    if isinstance(condition, Call) and condition.function == "and":
        return [conjunct for argument in condition.arguments for conjunct in conjuncts(argument)]
    return [condition]


def where_conditions(select: exp.Select) -> list[exp.Expr]:
    """Return the conjuncts of WHERE."""
    where = select.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def filter_rows(rows: Node, conditions: Sequence[Expr]) -> Node:
    """Return the rows for which all conditions are true."""
    condition = conjunction(conditions)
    return rows if condition is None else Filter(rows, condition)
