"""SELECT with GROUP BY: keys, a window, aggregates, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import (
    NotGroupedError,
    UnsupportedClauseError,
    UpdatingQueryError,
    WindowContextError,
    WindowMismatchError,
)
from engine.functions import find_aggregate
from engine.plan.expr import (
    Column,
    Expr,
    Literal,
    Named,
    is_nullable,
    replace_parts,
    walk,
)
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import (
    Carried,
    NamedAggregate,
    Project,
    UpdatingAggregate,
    Window,
    WindowAggregate,
    is_updating,
    pass_through,
    window_of,
)
from engine.plan.rules.separate_distinct import is_separable, without_sets
from engine.plan.tree import Node
from engine.plan.tree import walk as walk_nodes
from engine.schema import Field, Schema
from engine.sql.complaints import errors_located
from engine.sql.query.aggregate_calls import WrittenAggregate, read_aggregate, translate_aggregate
from engine.sql.query.joins import Columns, Side
from engine.sql.query.over import OverCalls
from engine.sql.query.unnest_in_select import Unnesting
from engine.sql.query.windows import AGAIN, describe, is_window_call, translate_window, window_over, with_window
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, Visible
from engine.sql.text.parse import Script

WINDOW_NAME = "window"
_PLACEHOLDER = "__"
"""Begins the names of columns that stand for a key, an aggregate or the window; no
column of a user's may begin so."""


_WINDOW_COLUMN = Column(_PLACEHOLDER + WINDOW_NAME, types.WINDOW, nullable=False)


@dataclass(slots=True)
class Grouping:
    """What has been gathered for the aggregation of one SELECT."""

    script: Script
    source: Node
    scope: Scope
    ttl: timedelta
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    keys: list[Named] = field(default_factory=list)
    window: Window | None = None
    written_window: Window | None = None
    aggregates: list[NamedAggregate] = field(default_factory=list)
    unnesting: Unnesting = field(default_factory=Unnesting)
    value_met: Callable[[exp.Expr], Expr | None] = lambda _: None
    """What stands for a sub-query over the groups."""
    _overs: OverCalls | None = None

    def group_by(self, item: exp.Expr) -> None:
        """Take one item of GROUP BY."""
        if is_window_call(item):
            self._take_window(translate_window(item, self.script), item)
            return
        expr = Expressions(self.script, self.scope).translate(item)
        carried = window_of(self.source)
        if carried and isinstance(expr, Column) and expr.name == carried[1]:
            self._set_window(Carried(expr.name), carried[0], item)
            return
        if all(key.expr != expr for key in self.keys):
            self.keys.append(Named(f"{_PLACEHOLDER}key{len(self.keys)}", expr))

    def _take_window(self, written: Window, item: exp.Expr) -> None:
        try:
            window = window_over(written, self.source)
        except WindowMismatchError as error:
            error.at = self.script.position(item)
            raise
        if window == Carried(AGAIN):
            self.source = with_window(self.source)
        self._set_window(window, written, item)

    def _set_window(self, window: Window, written: Window, item: exp.Expr) -> None:
        if self.window is not None and self.window != window:
            raise WindowMismatchError("do not support 2 window expressions in group by", at=self.script.position(item))
        self.window, self.written_window = window, written

    def value(self, node: exp.Expr) -> Expr:
        """The value of a SELECT item, over the columns of the aggregation."""

        def special(part: exp.Expr) -> Expr | None:
            return self.overs.value_of(part) or self.unnesting.element_of(part, inputs.translate) or self._special(part)

        inputs = Expressions(self.script, self.scope, special)
        before = self.unnesting.array
        found = self._over_groups(inputs.translate(node), node)
        if self.unnesting.array is not None and before is None:
            self.unnesting.array = self._over_groups(self.unnesting.array, node)
        return found

    @property
    def overs(self) -> OverCalls:
        """The functions among the rows that the aggregation gives."""
        if self._overs is None:
            held = None if self.window is None or self.written_window is None else (self.written_window, _WINDOW_COLUMN)
            self._overs = OverCalls(self.script, held, self._named_value, self._named_value, self.ttl)
        return self._overs

    def _named_value(self, node: exp.Expr) -> Expr:
        return self._over_groups(Expressions(self.script, self.scope, self._by_alias).translate(node), node)

    def _by_alias(self, part: exp.Expr) -> Expr | None:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in self.aliases:
            return Expressions(self.script, self.scope, self._special).translate(self.aliases[part.name.lower()])
        return self._special(part)

    def having(self, node: exp.Expr) -> Expr:
        """The HAVING condition, over the columns of the aggregation; it may name what the SELECT list names."""

        return self._over_groups(Expressions(self.script, self.scope, self._by_alias).condition(node), node)

    def _over_groups(self, expr: Expr, node: exp.Expr) -> Expr:
        keys = {key.expr: Column(key.name, key.expr.type, is_nullable(key.expr)) for key in self.keys}
        if isinstance(self.window, Carried):
            for nullable in (False, True):
                keys[Column(self.window.column, types.WINDOW, nullable)] = _WINDOW_COLUMN
        found = replace_parts(expr, lambda part: None if isinstance(part, Literal) else keys.get(part))
        loose = [one for one in walk(found) if isinstance(one, Column) and not one.name.startswith(_PLACEHOLDER)]
        if loose:
            is_time = loose[0].name == EVENT_TIME
            name, what = ("row_time()",) * 2 if is_time else (loose[0].name, f"column {loose[0].name!r}")
            raise NotGroupedError(
                f"{what} is neither in GROUP BY nor inside an aggregate",
                hint=f"add {name} to GROUP BY, or wrap it, for example in max()",
                at=self.script.position(node),
            )
        return found

    def groups(self) -> Side:
        """The groups as a sub-query sees them: their keys, under the names that the rows have for them."""
        kept = {key.expr: Column(key.name, key.expr.type, is_nullable(key.expr)) for key in self.keys}
        window = self.window.column if isinstance(self.window, Carried) else None
        shown: list[Visible] = []
        for one in self.scope.columns:
            column = _WINDOW_COLUMN if one.column.name == window else kept.get(one.column)
            if column is not None:
                shown.append(replace(one, column=column, alias=one.name))
        columns = dict.fromkeys(one.column for one in shown)
        fields = tuple(Field(one.name, one.type, one.nullable) for one in columns)
        return Side(Columns(Schema(fields)), Scope(tuple(shown)))

    def _special(self, node: exp.Expr) -> Expr | None:
        met = self.value_met(node)
        if met is not None:
            return met
        if is_window_call(node):
            return self._window_again(node)
        written = read_aggregate(node)
        return None if written is None else self._aggregate(written)

    def _window_again(self, node: exp.Expr) -> Expr:
        written = translate_window(node, self.script)
        if self.window is None:
            raise WindowContextError(
                "can't call a windowing function without grouping by it in an aggregate",
                hint=f"add {describe(written)} to GROUP BY",
            )
        if written != self.written_window:
            raise WindowMismatchError(
                f"window expressions do not match: can't window by both {describe(written)} and the one of GROUP BY"
            )
        return _WINDOW_COLUMN

    def _aggregate(self, written: WrittenAggregate) -> Expr:
        aggregate = translate_aggregate(written, Expressions(self.script, self.scope, _refuse_nested))
        if aggregate.distinct and not aggregate.arguments:
            raise UnsupportedClauseError(
                f"{aggregate.function}(DISTINCT *) is not supported",
                hint="name a column",
                at=self.script.position(written.call),
            )
        for known in self.aggregates:
            if known.aggregate == aggregate:
                return Column(known.name, aggregate.type, aggregate.nullable)
        column = f"{_PLACEHOLDER}aggregate{len(self.aggregates)}"
        self.aggregates.append(NamedAggregate(column, aggregate))
        return Column(column, aggregate.type, aggregate.nullable)

    def build(self, item: exp.Expr) -> Node:
        """The aggregation: within its window, or else over all there ever was, as a stream of changes."""
        keys, aggregates = tuple(self.keys), tuple(self.aggregates)
        with errors_located(self.script.position(item)):
            if self.window is None:
                return _without_window(UpdatingAggregate(self.source, keys, aggregates, self.ttl))
            return _windowed(WindowAggregate(self.source, self.window, _WINDOW_COLUMN.name, keys, aggregates))


def distinct(rows: Node, ttl: timedelta) -> Node:
    """Each row once: within its window if the rows carry one, else as a stream of changes."""
    columns = pass_through(rows.schema)
    found = window_of(rows)
    window = None if found is None else found[1]
    if window is None:
        return _without_window(UpdatingAggregate(rows, columns, (), ttl))
    keys = tuple(item for item in columns if item.name != window)
    return Project(WindowAggregate(rows, Carried(window), window, keys, ()), columns)


def _without_window(aggregate: UpdatingAggregate) -> UpdatingAggregate:
    if any(isinstance(one, WindowAggregate) for one in walk_nodes(aggregate.input)):
        raise WindowMismatchError(
            "must have window in aggregate. Make sure you are calling one of the windowing functions "
            "(hop, tumble, session) or using the window field of the input",
            hint="add the window field of the input to GROUP BY, or to what is selected",
        )
    return aggregate


def _windowed(aggregate: WindowAggregate) -> WindowAggregate:
    if is_updating(aggregate.input):
        raise UpdatingQueryError(
            "a time window cannot be closed over rows that are changed afterwards",
            hint="aggregate within the window first, or leave the window out",
        )
    if aggregate.is_incremental and not is_separable(aggregate) and (names := without_sets(aggregate)):
        raise UnsupportedClauseError(
            f"{min(names)}(DISTINCT ...) cannot be computed in a session, nor beside an "
            "aggregate that must see all rows",
            hint="group by the value as well, and aggregate by the window again",
        )
    return aggregate


def has_aggregate(nodes: Sequence[exp.Expr]) -> bool:
    """Whether an aggregate or a window is called in one of the expressions, outside of sub-queries."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, exp.Anonymous) and (is_window_call(node) or find_aggregate(node.name.lower())):
            return True
        if not isinstance(node, exp.Query | exp.Window):
            todo.extend(node.iter_expressions())
    return False


def _refuse_nested(node: exp.Expr) -> Expr | None:
    if isinstance(node, exp.Anonymous) and find_aggregate(node.name.lower()) is not None:
        raise UnsupportedClauseError("an aggregate cannot stand inside another one", hint="use a sub-query in FROM")
    return None
