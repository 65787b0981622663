"""OVER in a SELECT list: window functions among the rows of one time window.

    SELECT key, n, sum(n) OVER (PARTITION BY window, key ORDER BY at) AS total FROM windowed

    Over by `window`     __over0 = sum(n), partitioned by window and key, in the order of `at`
    Project              key, n, total = __over0

All rows of a window arrive in one epoch, so there is no state. Without a window functions go by event time, see
`event_time_over`, except for rankings alone, which change with every row.

row_number, rank and dense_rank without a time window: ranks that change.

    SELECT * FROM (SELECT key, row_number() OVER (PARTITION BY key ORDER BY at DESC) AS n FROM events) WHERE n = 1
    SELECT DISTINCT ON (key) * FROM events ORDER BY at DESC

Both become an UpdatingTop: a row that loses its place is retracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast, get_args

from sqlglot import exp

from engine import types
from engine.errors import EngineError, FunctionArgumentsError, OverError, TextPosition, UnknownFunctionError
from engine.functions import AggregateFunction, find_aggregate, find_over
from engine.functions.base import Signature
from engine.functions.over import OverFunction
from engine.plan.expressions.calls import coerce
from engine.plan.expressions.expr import Case, Column, Expr, Literal, Member, Named
from engine.plan.nodes import Cumulate, Filter, Frame, NamedOver, Order, Over, Project, Session, UpdatingTop, Window
from engine.plan.nodes.updating import Ranking
from engine.plan.tree import Node
from engine.sql.catalog import errors_located
from engine.sql.query.aggregate_calls import resolve_aggregate
from engine.sql.query.event_time_over import over_event_time
from engine.sql.query.relation_columns import output_column
from engine.sql.query.windows import with_window
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.literals import read_interval
from engine.sql.text.parse import Script

Translate = Callable[[exp.Expr], Expr]


@dataclass(frozen=True, slots=True)
class _WrittenCall:
    """The call before OVER: the bare call, the condition of its FILTER, and whether it ignores NULLs."""

    call: exp.Anonymous
    condition: exp.Expr | None = None
    ignores_nulls: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.call.name.lower()


@dataclass(slots=True)
class OverCalls:
    """Window functions in a SELECT list. `window` is that of the rows with its column; `translate` translates an
    expression over those rows, `partition` also where a window may be called. Rows without a window are stored for
    `ttl`."""

    script: Script
    window: tuple[Window, Column | None] | None
    translate: Translate
    partition: Translate
    ttl: timedelta
    functions: list[NamedOver] = field(default_factory=list)
    position: TextPosition | None = None

    def value_of(self, node: exp.Expr) -> Expr | None:
        """Return the column for a call with OVER; None for everything else."""
        if not isinstance(node, exp.Window):
            return None
        try:
            function = self._read(node)
        except EngineError as error:
            error.at = error.at or self.script.position(node)
            raise
        same = next((earlier for earlier in self.functions if replace(earlier, name=function.name) == function), None)
        if same is None:
            self.functions.append(function)
        column = same or function
        return Column(column.name, column.type, column.nullable)

    def add_to(self, rows: Node) -> Node:
        """Return the rows with a column for every function that was called."""
        if not self.functions:
            return rows
        if self.window is None and all(function.function in RANKINGS for function in self.functions):
            return rank_rows(rows, self.functions, self.ttl)
        if self.window is None:
            with errors_located(self.position):
                return over_event_time(rows, self.functions, self.ttl)
        return Over(with_window(rows), self._window_column().name, tuple(self.functions))

    def _window_column(self) -> Column:
        assert self.window is not None
        _, column = self.window
        if column is None:
            raise OverError(
                "the input has a window and does not pass it on", hint="select the window in the inner query"
            )
        return column

    def _read(self, node: exp.Window) -> NamedOver:
        window = None if self.window is None else self._window_column()
        self.position = self.position or self.script.position(node)
        if node.args.get("alias") is not None or node.args.get("first") is not None:
            raise _without_words(node)
        partition = self._read_partition(node, window)
        order = read_order(node.args.get("order"), self.translate)
        if window is None:
            refuse_unordered(order)
        written = _read_call(node.this)
        over_function, aggregate = find_over(written.name), find_aggregate(written.name)
        if over_function is None and aggregate is None:
            raise UnknownFunctionError(f"there is no window function {written.name!r}")
        frame = read_frame(node.args.get("spec"), by_time=window is None)
        shape = NamedOver(f"__over{len(self.functions)}", "", (), partition, order, frame, types.BIGINT)
        if over_function is not None:
            return self._over_function(written, over_function, shape)
        assert aggregate is not None
        return self._aggregate(written, aggregate, shape)

    def _read_partition(self, node: exp.Window, window: Column | None) -> tuple[Expr, ...]:
        """Return the partition keys, with the window among them: a bound of a fixed-width window stands for the whole
        window."""
        partition = tuple(self.partition(item) for item in node.args.get("partition_by") or [])
        if window is None or any(_is_column(expr, window.name) for expr in partition):
            return partition
        assert self.window is not None
        bounds = [expr.name for expr in partition if isinstance(expr, Member) and _is_column(expr.input, window.name)]
        # windows that add up begin together
        has_bound = "end" in bounds or ("start" in bounds and not isinstance(self.window[0], Cumulate))
        if has_bound and not isinstance(self.window[0], Session):
            return (window, *partition)
        raise OverError(
            "OVER must be partitioned by the window of the rows", hint="write PARTITION BY with the window column first"
        )

    def _over_function(self, written: _WrittenCall, function: OverFunction, shape: NamedOver) -> NamedOver:
        if written.condition is not None:
            raise OverError(f"{written.name} takes no FILTER", hint="filter in a query below")
        if written.ignores_nulls and not function.ignores_nulls:
            raise OverError(f"{written.name} takes no IGNORE NULLS", hint="leave it out")
        arguments, kind = self._arguments(written.call, function)
        return replace(
            shape,
            function=function.name,
            arguments=arguments,
            type=kind,
            nullable=function.nullable,
            ignore_nulls=written.ignores_nulls,
        )

    def _arguments(self, call: exp.Anonymous, function: OverFunction) -> tuple[tuple[Expr, ...], types.Type]:
        arguments = [self.translate(argument) for argument in call.expressions]
        signature = function.resolve([argument.type for argument in arguments])
        if signature is None:
            listing = ", ".join(str(argument.type) for argument in arguments)
            raise FunctionArgumentsError(
                f"{function.name} does not take ({listing})", hint=f"use it as {function.usage}"
            )
        for index in function.constants & set(range(len(arguments))):
            _check_constant(arguments[index], index, function)
        return _with_row_counts(_cast(arguments, signature), function), signature.result

    def _aggregate(self, written: _WrittenCall, function: AggregateFunction, shape: NamedOver) -> NamedOver:
        name, nodes = written.name, written.call.expressions
        if written.ignores_nulls:
            raise OverError(f"{name} takes no IGNORE NULLS", hint="it looks at values only as it is")
        if any(isinstance(node, exp.Distinct) for node in nodes):
            raise OverError(f"{name}(DISTINCT ...) cannot be used with OVER", hint="aggregate in a query below")
        is_star = len(nodes) == 1 and isinstance(nodes[0], exp.Star)
        arguments = [] if is_star else [self.translate(node) for node in nodes]
        aggregate = resolve_aggregate(function, arguments, is_star=is_star)
        inputs = aggregate.arguments
        if written.condition is not None:
            # an aggregate passes over NULL, so that it need not see the other rows; one that keeps NULL cannot
            if function.takes_nulls:
                raise OverError(f"{name} takes no FILTER before OVER", hint="filter in a query below")
            condition = self.translate(written.condition)
            value = inputs[0] if inputs else Literal(1, types.BIGINT)
            inputs = (Case(((condition, value),), None, value.type), *inputs[1:])
        return replace(
            shape, function=function.name, arguments=inputs, type=aggregate.type, nullable=aggregate.nullable
        )


def _without_words(node: exp.Window) -> OverError:
    name = node.args.get("alias")
    if name is None:
        return OverError("OVER takes its words in parentheses", hint="write OVER (PARTITION BY ... ORDER BY ...)")
    hint = f"write WINDOW {name.name} AS (PARTITION BY ...) at the end"
    return OverError(f"there is no WINDOW {name.name!r}", hint=hint)


def _is_column(expr: Expr, name: str) -> bool:
    return isinstance(expr, Column) and expr.name == name


def read_order(order: exp.Expr | None, translate: Translate) -> tuple[Order, ...]:
    """Translate an ORDER BY; NULL is greater than everything unless the clause says otherwise."""
    return tuple(
        Order(translate(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        for item in (order.expressions if order is not None else [])
    )


def _read_call(node: exp.Expr) -> _WrittenCall:
    condition: exp.Expr | None = None
    ignores_nulls = False
    while not isinstance(node, exp.Anonymous):
        match node:
            case exp.Filter():
                condition, node = node.expression.this, node.this
            case exp.IgnoreNulls():
                ignores_nulls, node = True, node.this
            case exp.RespectNulls():
                node = node.this
            case _:
                raise OverError("OVER can only follow a function", hint="write name(...) OVER (...)")
    if node.expressions and isinstance(last := node.expressions[-1], exp.IgnoreNulls | exp.RespectNulls):
        ignores_nulls = isinstance(last, exp.IgnoreNulls)
        node.set("expressions", [*node.expressions[:-1], last.this])
    return _WrittenCall(node, condition, ignores_nulls)


def _check_constant(argument: Expr, index: int, function: OverFunction) -> None:
    value = argument.value if isinstance(argument, Literal) else None
    if not isinstance(value, int) or isinstance(value, bool):
        raise FunctionArgumentsError(
            f"argument {index + 1} of {function.name} must be a whole number", hint=f"use it as {function.usage}"
        )
    if not function.least <= value <= UNBOUNDED:
        raise FunctionArgumentsError(
            f"argument {index + 1} of {function.name} cannot be {value}",
            hint=f"it is from {function.least} to {UNBOUNDED}",
        )


def _cast(arguments: Sequence[Expr], signature: Signature) -> tuple[Expr, ...]:
    return tuple(coerce(argument, kind) for argument, kind in zip(arguments, signature.arguments, strict=True))


def _with_row_counts(arguments: tuple[Expr, ...], function: OverFunction) -> tuple[Expr, ...]:
    """Return the arguments with numbers of rows as 32 bits, which Spark uses for them."""
    return tuple(
        Literal(argument.value, types.Integer(32))
        if index in function.constants and isinstance(argument, Literal)
        else argument
        for index, argument in enumerate(arguments)
    )


UNBOUNDED = 2**31 - 1
"""Largest offset that Spark supports."""


def read_frame(spec: exp.Expr | None, *, by_time: bool = False) -> Frame | None:
    """Return the frame of an OVER; None if it has none. With `by_time`, RANGE may count intervals."""
    if spec is None:
        return None
    unit = str(spec.args.get("kind") or "").lower()
    if unit not in ("rows", "range") or spec.args.get("exclude") is not None:
        raise OverError("only frames of ROWS or RANGE are supported", hint="write ROWS BETWEEN ... AND ...")
    if by_time and unit == "range" and any(isinstance(spec.args.get(name), exp.Interval) for name in _BOUNDS):
        return _frame_of_time(spec)
    start, end = _ends_of(spec)
    first, last = (None if start == -UNBOUNDED else start), (None if end == UNBOUNDED else end)
    if unit == "range" and not {first, last} <= {None, 0}:
        raise OverError("RANGE goes from or to the current row, or without an end", hint="use ROWS to count rows")
    return Frame("rows" if unit == "rows" else "range", first, last)


def _frame_of_time(spec: exp.Expr) -> Frame:
    """Return a RANGE frame that begins and ends at intervals from the row."""
    first, last = (_time_of(spec.args.get(name) or "CURRENT ROW", spec.args.get(f"{name}_side")) for name in _BOUNDS)
    if (first is not None and first > 0) or last is None or last < 0:
        raise OverError(
            "RANGE with an interval begins at the row or before it, and ends there or an interval after it",
            hint="write RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW",
        )
    return Frame("range", first, last)


_BOUNDS = ("start", "end")


def _time_of(bound: object, side: object) -> int | None:
    """Return the distance of a bound in microseconds; None if it has none."""
    match bound:
        case "CURRENT ROW":
            return 0
        case "UNBOUNDED":
            return None
        case exp.Interval():
            length = read_interval(bound) // timedelta(microseconds=1)
            return -length if str(side or "").upper() == "PRECEDING" else length
    raise OverError("a frame of RANGE is counted in time", hint="write INTERVAL '10 minutes' PRECEDING")


def _ends_of(spec: exp.Expr) -> tuple[int, int]:
    """Return the distance in rows of a frame's first and last row; without AND it ends at the current row."""
    start = _offset_of(spec.args.get("start"), spec.args.get("start_side"))
    end = _offset_of(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if start == UNBOUNDED or end == -UNBOUNDED or start > end:
        raise OverError("the frame ends before it starts", hint="write the earlier end first")
    return start, end


def _offset_of(bound: object, side: object) -> int:
    """Return the distance of a bound in rows; an unbounded one has the largest distance."""
    sign = -1 if str(side or "").upper() == "PRECEDING" else 1
    match bound:
        case "CURRENT ROW":
            return 0
        case "UNBOUNDED":
            return sign * UNBOUNDED
        case exp.Literal() if bound.name.isdecimal() and bound.name.isascii() and len(bound.name) < 10:
            return sign * int(bound.name)
    raise OverError("a frame is counted in whole rows", hint="write 5 PRECEDING")


RANKINGS: frozenset[str] = frozenset(get_args(Ranking))
"""Functions that OVER supports without a window."""

_PLACE = "__place"


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of each partition: `limit` of them, in an order, after the first `offset`. A limit of zero means none."""

    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    offset: int
    limit: int


def rank_rows(rows: Node, functions: Sequence[NamedOver], ttl: timedelta) -> Node:
    """Return the rows with their ranks, one column for each function."""
    for function in functions:
        ranking = cast("Ranking", function.function)
        rows = UpdatingTop(rows, ranking, function.partition, function.order, function.name, None, ttl)
    return rows


def top_rows(rows: Node, columns: Sequence[Named], row_range: RowRange, ttl: timedelta) -> Node:
    """Return the columns of the first rows of each partition; without a window, as changelog rows."""
    offset, limit = row_range.offset, row_range.limit
    # UpdatingTop stores the first rows, and at least one; their number selects the requested ones
    number = _PLACE if offset or not limit else None
    top: Node = UpdatingTop(
        rows, "row_number", row_range.partition, row_range.order, number, max(offset + limit, 1), ttl
    )
    if number is not None:
        last_skipped = Literal(offset if limit else offset + 1, types.BIGINT)
        top = Filter(top, make_call(">", [Column(number, types.BIGINT, nullable=False), last_skipped]))
    return Project(top, tuple(Named(column.name, output_column(column)) for column in columns))


def refuse_unordered(order: Sequence[Order]) -> None:
    """Refuse to rank rows by values that cannot be compared."""
    kind = next((item.expr.type for item in order if not _has_order(item.expr.type)), None)
    if kind is not None:
        raise OverError(f"values of type {kind} have no order", hint="order by something inside them")


def _has_order(kind: types.Type) -> bool:
    return not isinstance(kind, types.Array | types.Struct | types.Null) and kind != types.JSON_PART
