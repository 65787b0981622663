"""OVER in a SELECT list, and ORDER BY behind it: both look at the rows of one time window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import EngineError, FunctionArgumentsError, OverError, UnknownFunctionError
from engine.functions import find_aggregate, find_over
from engine.functions.base import Signature
from engine.functions.over import OverFunction
from engine.plan.calls import coerce
from engine.plan.expr import Case, Column, Expr, Literal, Member
from engine.plan.nodes import Frame, NamedOver, Order, Over, Session, Window
from engine.plan.tree import Node
from engine.sql.query.aggregate_calls import resolve_aggregate
from engine.sql.query.updating_ranking import RANKINGS, ranked, refuse_unordered
from engine.sql.query.windows import with_window
from engine.sql.text.parse import Script

Translate = Callable[[exp.Expr], Expr]
_MOST = 2**31 - 1


@dataclass(slots=True)
class OverCalls:
    """The functions among rows that a SELECT list calls. `window` is that of the rows and the column that holds it;
    `translate` gives the value of an expression over those rows, `partition` the same where a window may be called.
    Rows that no window closes are kept for `ttl`."""

    script: Script
    window: tuple[Window, Column | None] | None
    translate: Translate
    partition: Translate
    ttl: timedelta
    functions: list[NamedOver] = field(default_factory=list)

    def value_of(self, node: exp.Expr) -> Expr | None:
        """The column that a call with OVER becomes; None for everything else."""
        if not isinstance(node, exp.Window):
            return None
        try:
            found = self._read(node)
        except EngineError as error:
            error.at = error.at or self.script.position(node)
            raise
        same = next((one for one in self.functions if _nameless(one) == _nameless(found)), None)
        if same is None:
            self.functions.append(found)
        kept = same or found
        return Column(kept.name, kept.type, kept.nullable)

    def over(self, rows: Node) -> Node:
        """The rows with a column for every function that was called."""
        if not self.functions:
            return rows
        if self.window is None:
            return ranked(rows, self.functions, self.ttl)
        return Over(with_window(rows), self._column().name, tuple(self.functions))

    def _column(self) -> Column:
        if self.window is None:
            raise OverError(
                "Window functions require already windowed input",
                hint="aggregate by tumble(...), hop(...) or session(...) in a sub-query, and use OVER around it; "
                "row_number, rank and dense_rank need no window",
            )
        if self.window[1] is None:
            raise OverError(
                "the input is windowed but does not pass its window on", hint="select the window in the inner query"
            )
        return self.window[1]

    def _read(self, node: exp.Window) -> NamedOver:
        window = None if self._is_ranking(node) else self._column()
        if node.args.get("alias") is not None or node.args.get("first") is not None:
            raise OverError("OVER takes its words in parentheses", hint="write OVER (PARTITION BY ... ORDER BY ...)")
        partition = self._partition(node, window)
        order = orders_of(node.args.get("order"), self.translate)
        if window is None:
            refuse_unordered(order)
        call, condition, ignores = _taken_apart(node.this)
        name = call.name.lower()
        function = find_over(name)
        if function is None and find_aggregate(name) is None:
            raise UnknownFunctionError(f"there is no function {name!r} to stand before OVER")
        shown = f"__over{len(self.functions)}"
        frame = _frame(node.args.get("spec"))
        if function is None:
            if ignores:
                raise OverError(f"{name} takes no IGNORE NULLS", hint="it looks at values only as it is")
            return self._aggregate(call, condition, NamedOver(shown, "", (), partition, order, frame, types.BIGINT))
        if condition is not None:
            raise OverError(f"{name} takes no FILTER", hint="filter in a query below")
        if ignores and not function.ignores_nulls:
            raise OverError(f"{name} takes no IGNORE NULLS", hint="leave it out")
        arguments, kind = self._arguments(call, function)
        nullable = function.nullable
        return NamedOver(shown, function.name, arguments, partition, order, frame, kind, nullable, ignores)

    def _is_ranking(self, node: exp.Window) -> bool:
        """Whether it places rows that no window holds together."""
        return self.window is None and isinstance(node.this, exp.Anonymous) and node.this.name.lower() in RANKINGS

    def _partition(self, node: exp.Window, window: Column | None) -> tuple[Expr, ...]:
        parts = tuple(self.partition(one) for one in node.args.get("partition_by") or [])
        if window is None:
            return parts
        if any(isinstance(one, Column) and one.name == window.name for one in parts):
            return parts
        assert self.window is not None
        bound = not isinstance(self.window[0], Session) and any(
            isinstance(one, Member) and isinstance(one.input, Column) and one.input.name == window.name for one in parts
        )
        if bound:
            return (window, *parts)
        raise OverError(
            "Window function requires exactly one window expression in partition_by",
            hint="write PARTITION BY with the window column first",
        )

    def _arguments(self, call: exp.Anonymous, function: OverFunction) -> tuple[tuple[Expr, ...], types.Type]:
        arguments = [self.translate(one) for one in call.expressions]
        signature = function.resolve([one.type for one in arguments])
        if signature is None:
            raise _does_not_take(function.name, arguments, function.usage)
        for place in function.constants & set(range(len(arguments))):
            value = arguments[place]
            if not isinstance(value, Literal) or not isinstance(value.value, int) or isinstance(value.value, bool):
                raise FunctionArgumentsError(
                    f"argument {place + 1} of {function.name} must be a whole number",
                    hint=f"use it as {function.usage}",
                )
            if not function.least <= value.value <= _MOST:
                raise FunctionArgumentsError(
                    f"argument {place + 1} of {function.name} cannot be {value.value}",
                    hint=f"it is from {function.least} to {_MOST}",
                )
        return _counted(_cast(arguments, signature), function), signature.result

    def _aggregate(self, call: exp.Anonymous, condition: exp.Expr | None, shape: NamedOver) -> NamedOver:
        name, written = call.name.lower(), call.expressions
        function = find_aggregate(name)
        assert function is not None
        if any(isinstance(one, exp.Distinct) for one in written):
            raise OverError(f"{name}(DISTINCT ...) cannot stand before OVER", hint="aggregate in a query below")
        star = len(written) == 1 and isinstance(written[0], exp.Star)
        arguments = [] if star else [self.translate(one) for one in written]
        resolved = resolve_aggregate(function, arguments, is_star=star)
        cast = resolved.arguments
        if condition is not None:
            if function.takes_nulls:
                raise OverError(f"{name} takes no FILTER before OVER", hint="filter in a query below")
            test = self.translate(condition)
            first = cast[0] if cast else Literal(1, types.BIGINT)
            cast = (Case(((test, first),), None, first.type), *cast[1:])
        return NamedOver(
            shape.name,
            function.name,
            cast,
            shape.partition,
            shape.order,
            shape.frame,
            resolved.type,
            resolved.nullable,
        )


def orders_of(order: exp.Expr | None, translate: Translate) -> tuple[Order, ...]:
    """What an ORDER BY says; NULL is greater than everything unless it is said otherwise."""
    return tuple(
        Order(translate(one.this), bool(one.args.get("desc")), bool(one.args.get("nulls_first")))
        for one in (order.expressions if order is not None else [])
    )


def _taken_apart(node: exp.Expr) -> tuple[exp.Anonymous, exp.Expr | None, bool]:
    """The call, the condition of its FILTER, and whether it passes over NULLs."""
    condition: exp.Expr | None = None
    ignores = False
    while not isinstance(node, exp.Anonymous):
        match node:
            case exp.Filter():
                condition, node = node.expression.this, node.this
            case exp.IgnoreNulls():
                ignores, node = True, node.this
            case exp.RespectNulls():
                node = node.this
            case _:
                raise OverError("only a function can stand before OVER", hint="write name(...) OVER (...)")
    return node, condition, ignores


def _nameless(one: NamedOver) -> tuple[object, ...]:
    return one.function, one.arguments, one.partition, one.order, one.frame, one.ignore_nulls


def _cast(arguments: Sequence[Expr], signature: Signature) -> tuple[Expr, ...]:
    return tuple(coerce(one, kind) for one, kind in zip(arguments, signature.arguments, strict=True))


def _counted(arguments: tuple[Expr, ...], function: OverFunction) -> tuple[Expr, ...]:
    """The numbers as the 32 bits that Spark counts rows with."""
    return tuple(
        Literal(one.value, types.Integer(32)) if place in function.constants and isinstance(one, Literal) else one
        for place, one in enumerate(arguments)
    )


def _does_not_take(name: str, arguments: Sequence[Expr], usage: str) -> FunctionArgumentsError:
    given = ", ".join(str(one.type) for one in arguments)
    return FunctionArgumentsError(f"{name} does not take ({given})", hint=f"use it as {usage}")


def _frame(spec: exp.Expr | None) -> Frame | None:
    if spec is None:
        return None
    unit = str(spec.args.get("kind") or "").lower()
    if unit not in ("rows", "range") or spec.args.get("exclude") is not None:
        raise OverError("only frames of ROWS or RANGE are supported", hint="write ROWS BETWEEN ... AND ...")
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if start == _MOST or end == -_MOST or start > end:
        raise OverError("the frame ends before it starts", hint="write the earlier end first")
    low, high = (None if start == -_MOST else start), (None if end == _MOST else end)
    if unit == "range" and not {low, high} <= {None, 0}:
        raise OverError("RANGE goes from or to the current row, or without an end", hint="use ROWS to count rows")
    return Frame("rows" if unit == "rows" else "range", low, high)


def _bound(value: object, side: object) -> int:
    """How many rows a bound of a frame is away; what is unbounded is as far away as can be counted."""
    sign = -1 if str(side or "").upper() == "PRECEDING" else 1
    match value:
        case "CURRENT ROW":
            return 0
        case "UNBOUNDED":
            return sign * _MOST
        case exp.Literal() if value.name.isdecimal() and value.name.isascii() and len(value.name) < 10:
            return sign * int(value.name)
    raise OverError("a frame is counted in whole rows", hint="write 5 PRECEDING")
