"""SELECT with GROUP BY: keys, a window, aggregates, and expressions over them.

    SELECT tumble('1 minute'), upper(key), 2 * sum(value) FROM events GROUP BY 1, upper(key) HAVING count(*) > 1

    WindowAggregate by tumble      __key0 = upper(key), __window, __aggregate0 = sum(value), __aggregate1 = count(*)
    Filter                         __aggregate1 > 1
    Project                        window = __window, "upper(key)" = __key0, "2 * sum(value)" = 2 * __aggregate0

The SELECT list is translated over the input first; then every key in it, however deep, is replaced by the key's column.
Any remaining input column is neither grouped nor aggregated.

Hints that name an operator: `SELECT /*+ id(name) */ ...`.

    SELECT /*+ id(visits) */ user, count(*)
    FROM (SELECT /*+ id(seen_with) */ * FROM clicks JOIN users ON ...) GROUP BY user

    visits        the groups: the topmost stateful operator of this SELECT
    seen_with     the join, which needs a SELECT of its own; otherwise the name would be that of the groups

Inputs of a SELECT (a view, a CTE, a subquery in FROM) are not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import (
    EngineError,
    HintError,
    NotGroupedError,
    TextPosition,
    UnsupportedClauseError,
    WindowContextError,
    WindowMismatchError,
)
from engine.plan.expressions.expr import Column, Expr, Literal, Named, replace_parts, walk
from engine.plan.nodes import Carried, NamedAggregate, UpdatingAggregate, Window, WindowAggregate, window_of
from engine.plan.state.operators import is_stateful
from engine.plan.tree import EVENT_TIME, Node, inputs_of, with_inputs
from engine.schema import Field, Schema
from engine.sql.catalog import errors_located
from engine.sql.query.aggregate_calls import (
    AggregateCall,
    check_updating,
    check_windowed,
    is_aggregate_call,
    read_aggregate,
    translate_aggregate,
)
from engine.sql.query.from_clause import ArrayUnnesting
from engine.sql.query.over import OverCalls
from engine.sql.query.relation_columns import NoRows, output_column
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
from engine.sql.text.pieces import BEHIND_SELECT, MISPLACED

_PLACEHOLDER = "__"
"""Prefix of columns for a key, an aggregate or the window; user columns must not have it."""

_WINDOW_COLUMN = Column(_PLACEHOLDER + WINDOW_NAME, types.WINDOW, nullable=False)


@dataclass(slots=True)
class Grouping:
    """Parts of the aggregation of one SELECT. `aliases` are the names of its list, for HAVING and OVER;
    `subquery_value` translates a subquery over the groups. `written_window` is the window as GROUP BY names it,
    `window` the one to aggregate by."""

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
        """Add one item of GROUP BY."""
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
        """Return the value of a SELECT item, over the columns of the aggregation."""

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
        """Return the HAVING condition, over the columns of the aggregation; it may name what the SELECT list names."""
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
        """Return the expression with each key replaced by its column."""
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
        """Return the groups as a sub-query sees them: their keys, under the names that the rows have for them."""
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
        """Return the aggregation: within its window, or else over all rows so far, as a changelog. An error is at the
        item."""
        keys, aggregates = tuple(self.keys), tuple(self.aggregates)
        with errors_located(self.script.position(item)):
            if self.window is None:
                return check_updating(UpdatingAggregate(self.source, keys, aggregates, self.ttl))
            return check_windowed(WindowAggregate(self.source, self.window, _WINDOW_COLUMN.name, keys, aggregates))


def _refuse_nested(node: exp.Expr) -> Expr | None:
    if is_aggregate_call(node):
        raise UnsupportedClauseError("an aggregate cannot stand inside another one", hint="use a sub-query in FROM")
    return None


MAX_LENGTH = 63
_FORM = re.compile(r"/\*\+\s*(?:(?P<hint>\w+)\s*\((?P<name>[^()]*)\))?(?P<rest>.*?)\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USAGE = "write SELECT /*+ id(name) */, one for a SELECT"
_WHERE = "put it behind the SELECT of the window, GROUP BY, DISTINCT, ranking or join that it is to name"


@dataclass(slots=True)
class OperatorHints:
    """Hints of a script with their positions, and which of them have found their operator."""

    names: dict[str, TextPosition] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)

    def read(self, statement: exp.Expr, script: Script) -> Iterator[EngineError]:
        """Read the hints of a statement, and return an error for each invalid one."""
        hints = statement.find_all(exp.Hint)
        for hint in sorted(hints, key=lambda node: int(node.meta["start"])):
            at = script.position(hint)
            assert at is not None, "the dialect notes where it stands"
            try:
                if not isinstance(hint.parent, exp.Select):
                    raise HintError(MISPLACED, hint=BEHIND_SELECT)
                name = name_of(hint)
                if name.lower() in map(str.lower, self.names):
                    raise HintError(f"id({name}) is given twice", hint="an operator has a name to itself")
                self.names[name] = at
            except HintError as error:
                error.at = at
                yield error

    def pin(self, rows: Node, hint: exp.Hint, read: Sequence[Node]) -> Node:
        """Return the rows of a SELECT with a hint, which names its operator. `read` is what it reads of other
        relations."""
        name = name_of(hint)
        found = _pinned(rows, name, {id(node) for node in read})
        if found is None:
            raise HintError(f"id({name}) names no operator: its SELECT keeps no state", hint=_WHERE)
        self.found.add(name)
        return found

    def complaints(self, used: set[str]) -> Iterator[EngineError]:
        """Yield the errors in hints after everything is read. `used` are the names of tables."""
        for name, at in self.names.items():
            if name.lower() in used:
                yield HintError(f"id({name}) is the name of a table", hint="give the operator another name", at=at)
            elif name not in self.found:
                message = f"id({name}) names no operator: its SELECT is taken together with the one around it"
                yield HintError(message, hint="put the hint into that one", at=at)


def hint_of(select: exp.Expr) -> exp.Hint | None:
    """Return the hint of a SELECT."""
    hint: exp.Hint | None = select.args.get("hint")
    return hint


def name_of(hint: exp.Hint) -> str:
    """Return the name that a hint gives; raise for another hint, or an invalid name."""
    written = str(hint.meta["written"])
    match = _FORM.fullmatch(written)
    text = " ".join(written.split())
    if match is None or match["hint"] is None or match["hint"].lower() != "id":
        raise HintError(f"there is no hint {text}", hint=_USAGE)
    name = match["name"].strip()
    if match["rest"].strip():
        raise HintError(f"{text} is more than one hint", hint=_USAGE)
    if not _NAME.fullmatch(name) or len(name) > MAX_LENGTH:
        message = f"{name!r} cannot be the name of an operator"
        raise HintError(message, hint=f"letters, digits and underscores can, up to {MAX_LENGTH}, not a digit first")
    return name


def _pinned(node: Node, name: str, read: set[int]) -> Node | None:
    """Return the tree with this name for the first operator from the top, unless that is in `read`."""
    if id(node) in read:
        return None
    if is_stateful(node):
        return replace(node, pin=name)
    below = list(inputs_of(node))
    for place, part in enumerate(below):
        if (changed := _pinned(part, name, read)) is not None:
            return with_inputs(node, [*below[:place], changed, *below[place + 1 :]])
    return None
