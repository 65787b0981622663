"""Canonical form of a relation's rows and columns, independent of spelling: all names are resolved down to source
tables.

    SELECT u AS who, tumble('1 minute') AS w, count(*)      origin   tumble(1 minute) by clicks.user of source clicks
    FROM (SELECT user AS u, page FROM clicks)               rows     clicks.page = '/'
    WHERE page = '/' GROUP BY who, w                        columns  who: ....clicks.user, w: ....window, ...

The *origin* says which rows are possible, *rows* has the filters. Aliases, the order of subqueries and filters, and
unused columns do not matter. Anything that is not canonicalised is taken as it is in the plan, so it is equal only if
it is written the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engine.plan.explain import show
from engine.plan.expressions.conditions import conjuncts_of, turned
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, walk
from engine.plan.identity.fingerprint import stable_text
from engine.plan.nodes import (
    LATE_TIME,
    LATE_WATERMARK,
    Aggregate,
    Branch,
    Carried,
    EventTimeOver,
    Filter,
    LateRows,
    LookupJoin,
    NamedOver,
    Order,
    Over,
    Project,
    Scan,
    Top,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.state.width_marks import apart
from engine.plan.tree import EVENT_TIME, Node, inputs_of

Columns = Mapping[str, str]
"""Canonical form of each column of a relation, by name."""

OF_ROWS_BELOW = "the rows below "
"""Prefix of the name of an operator, for a filter that represents all filters below it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Canonical form of a relation. `rows` are the filters that its rows have passed, and what has multiplied them:
    canonical form and the script's text. `functions` are the user-defined functions below it."""

    origin: str
    rows: Mapping[str, str]
    columns: Columns
    functions: frozenset[str] = frozenset()

    @property
    def row_digest(self) -> str:
        """A short text for what the rows are: their tests, the functions called on the way, and their event time."""
        return digest(*sorted(self.rows), *sorted(self.functions), self.columns[EVENT_TIME])

    @property
    def digest(self) -> str:
        """A short text for all of it, whatever its columns are called and in whatever order they stand."""
        return digest(self.origin, self.row_digest, *sorted(self.columns.values()))


def digest(*texts: str) -> str:
    """Return a short text for some long ones; marks of widths stay readable (`plan/state/widths.py`)."""
    text, marks = apart("\n".join(texts))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16] + "".join(f"|{mark}" for mark in marks)


def text_of(expr: Expr, columns: Columns) -> str:
    """Return the canonical text of an expression over columns with known canonical texts."""
    match expr:
        case Column(name):
            return columns.get(name, f"column {name}")
        case Literal():
            return stable_text(expr)
        case Call(function, arguments, when=when):
            guard = "" if when is None else f" when {text_of(when, columns)}"
            return f"{function}({', '.join(text_of(argument, columns) for argument in arguments)}){guard}"
        case Cast(inner, kind, lenient):
            return f"{'try_' * lenient}cast({text_of(inner, columns)} as {stable_text(kind)})"
        case Case(branches, default):
            tests = " ".join(f"when {text_of(a, columns)} then {text_of(b, columns)}" for a, b in branches)
            return f"case {tests} else {'null' if default is None else text_of(default, columns)} end"
        case Member(inner, name):
            return f"{text_of(inner, columns)}.{_quoted(name)}"


def _quoted(name: str) -> str:
    """Return a name that is unambiguous within a text."""
    return name if name.isidentifier() else repr(name)


def order_text(order: Sequence[Order], columns: Columns) -> str:
    """Return the canonical text of a sort order."""
    keys = (f"{text_of(key.expr, columns)} {key.descending} {key.nulls_first}" for key in order)
    return ", ".join(keys)


def aggregate_text(aggregate: Aggregate, columns: Columns) -> str:
    """Return the canonical text of an aggregate."""
    inside = ", ".join(text_of(argument, columns) for argument in aggregate.arguments)
    condition = "" if aggregate.condition is None else f" where {text_of(aggregate.condition, columns)}"
    order = f" order by {order_text(aggregate.order, columns)}" if aggregate.order else ""
    return f"{aggregate.function}({'distinct ' * aggregate.distinct}{inside}){order}{condition}"


Grouping: TypeAlias = WindowAggregate | UpdatingAggregate | UpdatingJoin | UpdatingTop | EventTimeOver | WindowJoin
"""Relations that group rows."""


def over_text(call: NamedOver, columns: Columns) -> str:
    """Return the canonical text of a function over the rows of a window."""
    parts = (*call.arguments, *call.partition)
    inside = ", ".join(text_of(part, columns) for part in parts)
    frame = "" if call.frame is None else stable_text(call.frame)
    nulls = " ignoring nulls" * call.ignore_nulls
    return f"{call.function}({len(call.arguments)}: {inside}){nulls} over {order_text(call.order, columns)} {frame}"


@dataclass(frozen=True, slots=True)
class Code:
    """Code of a user-defined function: a text for its behaviour; for an aggregate also one for the values that its
    state stores, and one for its stored objects."""

    text: str
    of_values: str
    of_objects: str


@dataclass(slots=True)
class Meanings:
    """Computes canonical forms. `codes` are those of the user-defined functions by name; `branches` the inputs of the
    epoch part. With `turns`, `3 < n` equals `n > 3`, for comparing two scripts; stored texts keep the order."""

    codes: Mapping[str, Code] = field(default_factory=dict)
    branches: Sequence[Node] = ()
    turns: bool = False
    _known: dict[int, Meaning] = field(default_factory=dict)

    def of(self, node: Node) -> Meaning:
        """Return the canonical form of a relation. The node must outlive this object, since results are cached by
        identity."""
        if id(node) not in self._known:
            self._known[id(node)] = self._describe(node)
        return self._known[id(node)]

    def functions_in(self, exprs: Iterable[Expr]) -> frozenset[str]:
        """Return the user's functions in some expressions, each with the text of its code."""
        calls = (part.function for expr in exprs for part in walk(expr) if isinstance(part, Call))
        return self.code_of(calls)

    def code_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the user-defined functions among `names`, each with the text of its code."""
        return frozenset(f"{name} {self.codes[name].text}" for name in names if name in self.codes)

    def kept_for(self, aggregate: str, *, as_objects: bool) -> frozenset[str]:
        """Return a text for the code that can read the stored objects of an aggregate, if it is the user's."""
        if (code := self.codes.get(aggregate)) is None:
            return frozenset()
        return frozenset([f"{aggregate} {code.of_objects if as_objects else code.of_values}"])

    def _describe(self, node: Node) -> Meaning:
        match node:
            case Scan():
                return _of_scan(node)
            case Branch(index):
                return self.of(self.branches[index])
            case Write(source):
                return self.of(source)
            case Union(inputs):
                return _of_union(node, [self.of(part) for part in inputs])
            case (
                WindowAggregate()
                | UpdatingAggregate()
                | UpdatingJoin()
                | UpdatingTop()
                | EventTimeOver()
                | WindowJoin()
            ):
                return self._of_operator(node)
            case Project(source, columns):
                below = self.of(source)
                texts = {named.name: text_of(named.expr, below.columns) for named in columns}
                hidden = {EVENT_TIME: below.columns[EVENT_TIME]}
                called = self.functions_in(named.expr for named in columns)
                return replace(below, columns=hidden | texts, functions=below.functions | called)
            case Filter(source, condition):
                below = self.of(source)
                tests = {self._text_of_test(test, below.columns): show(test) for test in conjuncts_of(condition)}
                return self._further(below, tests, {}, [condition])
            case Unnest(source, name, array):
                below = self.of(source)
                text = f"element of {text_of(array, below.columns)}"
                element = f"{text} #{sum(row.startswith(f'{text} #') for row in below.rows)}"
                return self._further(below, {element: f"unnest({show(array)})"}, {name: element}, [array])
            case LookupJoin(source, table, looked_up, kind, key):
                below = self.of(source)
                row = f"row of {_quoted(table)} by {text_of(key, below.columns)}"
                rows = {row: f"JOIN {table}"} if kind == "inner" else {}
                return self._further(below, rows, {name: f"{row}.{_quoted(name)}" for name in looked_up.names}, [key])
            case LateRows(source, window):
                below = self.of(source)
                times = {column.name: column.name for column in (LATE_TIME, LATE_WATERMARK)}
                origin = f"late({stable_text(window)}) of {below.origin}"
                return replace(below, origin=origin, columns={**below.columns, **times})
            case Over(source, _, functions):
                below = self.of(source)
                places = {function.name: over_text(function, below.columns) for function in functions}
                return self._further(below, {}, places, [part for call in functions for part in call.arguments])
            case Top(source, window, order, limit, offset):
                below = self.of(source)
                text = f"{limit} after {offset} of {below.columns.get(window)} by {order_text(order, below.columns)}"
                return self._further(below, {text: "LIMIT"}, {}, [])
        raise TypeError(type(node).__name__)

    def _text_of_test(self, test: Expr, columns: Columns) -> str:
        # the width of a number says nothing about its place
        test = turned(test, lambda side: apart(text_of(side, columns))[0]) if self.turns else test
        return text_of(test, columns)

    def _further(self, below: Meaning, rows: Columns, columns: Columns, exprs: Sequence[Expr]) -> Meaning:
        """Return the rows of a relation with more conditions and more columns."""
        called = below.functions | self.functions_in(exprs)
        return Meaning(below.origin, {**below.rows, **rows}, {**below.columns, **columns}, called)

    def _of_operator(self, node: Grouping) -> Meaning:
        """Return the canonical form of a grouping's output, for the nodes above it."""
        inputs = self.inputs(node)
        origin = self.origin_of(node)
        name = digest(origin)
        columns = {column: f"{name}.{text}" for column, text in self._columns_out(node).items()}
        time = f"{name}.end" if isinstance(node, WindowAggregate) else f"{name}.time"
        rows = {f"{name} of {' '.join(below.row_digest for below in inputs)}": f"{OF_ROWS_BELOW}{name}"}
        return Meaning(origin, rows, {EVENT_TIME: time, **columns})

    def inputs(self, node: Node) -> list[Meaning]:
        """Return the canonical forms of a relation's inputs."""
        return [self.of(below) for below in inputs_of(node)]

    def origin_of(self, node: Grouping) -> str:
        """Return the identity of a grouping: what it groups, by which keys, and where its rows come from. Aggregates,
        retention and filters are no part of it."""
        below, *others = self.inputs(node)
        match node:
            case WindowAggregate(_, window, _, keys):
                kind = f"{below.columns.get(window.column)}" if isinstance(window, Carried) else stable_text(window)
                return f"{kind} by {_unordered(text_of(key.expr, below.columns) for key in keys)} of {below.origin}"
            case UpdatingAggregate(_, keys):
                return f"group by {_unordered(text_of(key.expr, below.columns) for key in keys)} of {below.origin}"
            case UpdatingTop(_, _, partition):
                return f"ranking by {_unordered(text_of(part, below.columns) for part in partition)} of {below.origin}"
            case EventTimeOver(_, partition):
                return f"over by {_unordered(text_of(part, below.columns) for part in partition)} of {below.origin}"
            case UpdatingJoin() | WindowJoin():
                return f"{self._match_of(node)} of {below.origin} and {others[0].origin}"

    def _match_of(self, node: UpdatingJoin | WindowJoin) -> str:
        """Return the canonical text of a join's condition."""
        sides = self.columns_of_sides(node)
        pairs = [f"{text_of(left, sides)} = {text_of(right, sides)}" for left, right in node.equal]
        tests = [] if node.condition is None else [text_of(test, sides) for test in conjuncts_of(node.condition)]
        if isinstance(node, WindowJoin):
            pairs += ["windows" if node.windows is None else " = ".join(sides[name] for name in node.windows)]
        return f"{type(node).__name__} {node.kind} on {_unordered([*pairs, *tests])}"

    def columns_of_sides(self, node: UpdatingJoin | WindowJoin) -> Columns:
        """Return the canonical texts of the columns of both sides of a join; one table may be on both."""
        sides = ("left", node.left), ("right", node.right)
        return {name: f"{side} {self.of(below).columns[name]}" for side, below in sides for name in below.schema.names}

    def _columns_out(self, node: Grouping) -> Columns:
        """Return the output columns, with their meanings within the operator."""
        if isinstance(node, UpdatingJoin | WindowJoin):
            sides = self.columns_of_sides(node)
            return {name: sides[name] for name in node.schema.names}
        below = self.of(node.input).columns
        if isinstance(node, UpdatingTop):
            place = f"{node.function} by {order_text(node.order, below)}"
            return {name: place if name == node.number else below[name] for name in node.schema.names}
        if isinstance(node, EventTimeOver):
            by = order_text(node.order, below)
            return {
                **{name: below[name] for name in node.input.schema.names},
                **{function.name: f"{over_text(function, below)} {by}" for function in node.functions},
            }
        columns = {key.name: text_of(key.expr, below) for key in node.keys}
        if isinstance(node, WindowAggregate):
            columns[node.window_name] = "window"
        return columns | {named.name: aggregate_text(named.aggregate, below) for named in node.aggregates}


def _of_scan(scan: Scan) -> Meaning:
    kind = "changes of" if scan.is_changes else "rows of"
    table = _quoted(scan.table)
    columns = {name: f"{table}.{_quoted(name)}" for name in scan.decoded}
    time = "reading" if scan.event_time is None else text_of(scan.event_time, columns)
    return Meaning(f"{kind} {table}", {}, {**columns, EVENT_TIME: f"time {time} of {table}"})


def _of_union(union: Union, parts: Sequence[Meaning]) -> Meaning:
    """Return the union of several relations, in any order. Conditions of only some of them stay with those."""
    order = sorted(range(len(parts)), key=lambda index: (parts[index].origin, sorted(parts[index].rows)))
    sorted_parts = [parts[index] for index in order]
    names = [union.inputs[index].schema.names for index in order]
    if len({frozenset(part.rows) for part in parts}) == 1:
        rows = sorted_parts[0].rows
    else:
        rows = {
            f"{place} {part.origin}: {', '.join(sorted(part.rows))}": _tests(part)
            for place, part in enumerate(sorted_parts)
        }
    columns = {EVENT_TIME: _either(part.columns[EVENT_TIME] for part in sorted_parts)}
    for position, column in enumerate(union.schema.names):
        columns[column] = _either(part.columns[own[position]] for part, own in zip(sorted_parts, names, strict=True))
    functions = frozenset[str]().union(*(part.functions for part in parts))
    return Meaning(f"all of {', '.join(part.origin for part in sorted_parts)}", rows, columns, functions)


def _tests(part: Meaning) -> str:
    return f"{part.origin} where {' AND '.join(part.rows.values())}" if part.rows else f"all {part.origin}"


def _either(texts: Iterable[str]) -> str:
    different = list(texts)
    return different[0] if len(set(different)) == 1 else f"either({', '.join(different)})"


def _unordered(texts: Iterable[str]) -> str:
    return f"({', '.join(sorted(set(texts)))})"
