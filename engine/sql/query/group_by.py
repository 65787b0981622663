"""SELECT with GROUP BY: keys, a window, aggregates, and what is made of them.

    SELECT tumble('1 minute'), upper(key), 2 * sum(value) FROM events GROUP BY 1, upper(key) HAVING count(*) > 1

    WindowAggregate by tumble      __key0 = upper(key), __window, __aggregate0 = sum(value), __aggregate1 = count(*)
    Filter                         __aggregate1 > 1
    Project                        window = __window, "upper(key)" = __key0, "2 * sum(value)" = 2 * __aggregate0

The SELECT list is translated over the input first; then every key in it, however deep, becomes the column of the key.
What of the input is left after that was neither grouped nor aggregated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import NotGroupedError, UnsupportedClauseError, WindowContextError, WindowMismatchError
from engine.plan.expressions.expr import Column, Expr, Literal, Named, replace_parts, walk
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Carried, NamedAggregate, UpdatingAggregate, Window, WindowAggregate, window_of
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.complaints import errors_located
from engine.sql.query.aggregate_calls import AggregateCall, is_aggregate_call, read_aggregate, translate_aggregate
from engine.sql.query.aggregate_checks import check_updating, check_windowed
from engine.sql.query.over import OverCalls
from engine.sql.query.relation_columns import NoRows, output_column
from engine.sql.query.unnest_in_select import ArrayUnnesting
from engine.sql.query.windows import (
    COMPUTED_WINDOW,
    WINDOW_NAME,
    describe,
    is_window_call,
    translate_window,
    window_over,
    with_window,
)
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible
from engine.sql.text.parse import Script

_PLACEHOLDER = "__"
"""Begins the names of columns that stand for a key, an aggregate or the window; no
column of a user's may begin so."""

_WINDOW_COLUMN = Column(_PLACEHOLDER + WINDOW_NAME, types.WINDOW, nullable=False)


@dataclass(slots=True)
class Grouping:
    """What has been gathered for the aggregation of one SELECT. `aliases` are the names of its list, for HAVING and
    OVER; `subquery_value` gives what stands for a sub-query over the groups. `written_window` is the window as GROUP BY
    calls it, `window` the one to aggregate by."""

    script: Script
    source: Node
    scope: Scope
    ttl: timedelta
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    keys: list[Named] = field(default_factory=list)
    window: Window | None = None
    written_window: Window | None = None
    aggregates: list[NamedAggregate] = field(default_factory=list)
    unnesting: ArrayUnnesting = field(default_factory=ArrayUnnesting)
    subquery_value: Callable[[exp.Expr], Expr | None] = lambda _: None
    _over_calls: OverCalls | None = None

    def add_key(self, item: exp.Expr) -> None:
        """Take one item of GROUP BY."""
        if is_window_call(item):
            self._add_window_call(translate_window(item, self.script), item)
            return
        expr = Expressions(self.script, self.scope).translate(item)
        source_window = window_of(self.source)
        if source_window and isinstance(expr, Column) and expr.name == source_window[1]:
            self._set_window(Carried(expr.name), source_window[0], item)
            return
        if all(key.expr != expr for key in self.keys):
            self.keys.append(Named(f"{_PLACEHOLDER}key{len(self.keys)}", expr))

    def _add_window_call(self, written: Window, item: exp.Expr) -> None:
        try:
            window = window_over(written, self.source)
        except WindowMismatchError as error:
            error.at = self.script.position(item)
            raise
        if window == Carried(COMPUTED_WINDOW):
            self.source = with_window(self.source)
        self._set_window(window, written, item)

    def _set_window(self, window: Window, written: Window, item: exp.Expr) -> None:
        if self.window is not None and self.window != window:
            raise WindowMismatchError("GROUP BY has two different windows", at=self.script.position(item))
        self.window, self.written_window = window, written

    def value(self, node: exp.Expr) -> Expr:
        """The value of a SELECT item, over the columns of the aggregation."""

        def special(part: exp.Expr) -> Expr | None:
            return (
                self.over_calls.value_of(part)
                or self.unnesting.element_of(part, inputs.translate)
                or self._group_value(part)
            )

        inputs = Expressions(self.script, self.scope, special)
        array_before = self.unnesting.array
        value = self._over_groups(inputs.translate(node), node)
        if self.unnesting.array is not None and array_before is None:
            self.unnesting.array = self._over_groups(self.unnesting.array, node)
        return value

    @property
    def over_calls(self) -> OverCalls:
        """The functions among the rows that the aggregation gives."""
        if self._over_calls is None:
            windowed = None if self.written_window is None else (self.written_window, _WINDOW_COLUMN)
            self._over_calls = OverCalls(self.script, windowed, self._value_or_alias, self._value_or_alias, self.ttl)
        return self._over_calls

    def having(self, node: exp.Expr) -> Expr:
        """The HAVING condition, over the columns of the aggregation; it may name what the SELECT list names."""
        return self._over_groups(Expressions(self.script, self.scope, self._alias_value).condition(node), node)

    def _value_or_alias(self, node: exp.Expr) -> Expr:
        return self._over_groups(Expressions(self.script, self.scope, self._alias_value).translate(node), node)

    def _alias_value(self, part: exp.Expr) -> Expr | None:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in self.aliases:
            return Expressions(self.script, self.scope, self._group_value).translate(self.aliases[part.name.lower()])
        return self._group_value(part)

    def _key_columns(self) -> dict[Expr, Column]:
        return {key.expr: output_column(key) for key in self.keys}

    def _over_groups(self, expr: Expr, node: exp.Expr) -> Expr:
        """The expression with the column of each key in the key's place."""
        columns = self._key_columns()
        if isinstance(self.window, Carried):
            for nullable in (False, True):
                columns[Column(self.window.column, types.WINDOW, nullable)] = _WINDOW_COLUMN
        value = replace_parts(expr, lambda part: None if isinstance(part, Literal) else columns.get(part))
        for part in walk(value):
            if isinstance(part, Column) and not part.name.startswith(_PLACEHOLDER):
                raise self._not_grouped(part, node)
        return value

    def _not_grouped(self, column: Column, node: exp.Expr) -> NotGroupedError:
        is_time = column.name == EVENT_TIME
        name, subject = ("row_time()",) * 2 if is_time else (column.name, f"column {column.name!r}")
        return NotGroupedError(
            f"{subject} is neither in GROUP BY nor inside an aggregate",
            hint=f"add {name} to GROUP BY, or wrap it, for example in max()",
            at=self.script.position(node),
        )

    def groups(self) -> ScopedRows:
        """The groups as a sub-query sees them: their keys, under the names that the rows have for them."""
        key_columns = self._key_columns()
        window = self.window.column if isinstance(self.window, Carried) else None
        visible_keys: list[Visible] = []
        for visible in self.scope.columns:
            column = _WINDOW_COLUMN if visible.column.name == window else key_columns.get(visible.column)
            if column is not None:
                visible_keys.append(replace(visible, column=column, alias=visible.name))
        columns = dict.fromkeys(visible.column for visible in visible_keys)
        fields = tuple(Field(column.name, column.type, column.nullable) for column in columns)
        return ScopedRows(NoRows(Schema(fields)), Scope(tuple(visible_keys)))

    def _group_value(self, node: exp.Expr) -> Expr | None:
        """Return a group's value for a sub-query, its window or an aggregate; None for anything else."""
        value = self.subquery_value(node)
        if value is not None:
            return value
        if is_window_call(node):
            return self._window_of_group(node)
        call = read_aggregate(node)
        return None if call is None else self._aggregate_column(call)

    def _window_of_group(self, node: exp.Expr) -> Expr:
        written = translate_window(node, self.script)
        if self.window is None:
            raise WindowContextError(
                f"{describe(written)} is selected, but GROUP BY has no window",
                hint=f"add {describe(written)} to GROUP BY",
            )
        if written != self.written_window:
            raise WindowMismatchError(f"{describe(written)} is not the window of GROUP BY")
        return _WINDOW_COLUMN

    def _aggregate_column(self, call: AggregateCall) -> Expr:
        aggregate = translate_aggregate(call, Expressions(self.script, self.scope, _refuse_nested))
        if aggregate.distinct and not aggregate.arguments:
            raise UnsupportedClauseError(
                f"{aggregate.function}(DISTINCT *) is not supported",
                hint="name a column",
                at=self.script.position(call.call),
            )
        named = next((named for named in self.aggregates if named.aggregate == aggregate), None)
        if named is None:
            named = NamedAggregate(f"{_PLACEHOLDER}aggregate{len(self.aggregates)}", aggregate)
            self.aggregates.append(named)
        return Column(named.name, aggregate.type, aggregate.nullable)

    def build(self, item: exp.Expr) -> Node:
        """The aggregation: within its window, or else over all there ever was, as a stream of changes. An error is at
        the item."""
        keys, aggregates = tuple(self.keys), tuple(self.aggregates)
        with errors_located(self.script.position(item)):
            if self.window is None:
                return check_updating(UpdatingAggregate(self.source, keys, aggregates, self.ttl))
            return check_windowed(WindowAggregate(self.source, self.window, _WINDOW_COLUMN.name, keys, aggregates))


def _refuse_nested(node: exp.Expr) -> Expr | None:
    if is_aggregate_call(node):
        raise UnsupportedClauseError("an aggregate cannot stand inside another one", hint="use a sub-query in FROM")
    return None
