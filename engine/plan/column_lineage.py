"""Column lineage: the source columns of each column of a relation, and how they are used.

    SELECT tumble('1 minute') AS w, upper(city) AS place, sum(price) AS total FROM orders WHERE paid GROUP BY w, place

    w        TRANSFORMATION of orders.at
    place    TRANSFORMATION of orders.city
    total    AGGREGATION of orders.price
    rows     FILTER by orders.paid, WINDOW by orders.at, GROUP_BY orders.city

The columns under `rows` decide which rows there are, and so affect every column. A source column that is named neither
there nor at a column does not affect it, except for ties in an order. The terms are OpenLineage's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from engine.functions import find_aggregate, find_function
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Member
from engine.plan.expressions.expr import Literal as Constant
from engine.plan.nodes import (
    LATE_TIME,
    LATE_WATERMARK,
    Carried,
    EventTimeOver,
    Filter,
    LateRows,
    LookupJoin,
    NamedAggregate,
    NamedOver,
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
from engine.plan.tree import EVENT_TIME, WATERMARK, Node

Direct: TypeAlias = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
"""The value is in the column: unchanged, transformed, or aggregated."""
Indirect: TypeAlias = Literal["FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"]
"""The value affects the column, and is not in it."""
Use: TypeAlias = Direct | Indirect

_STRENGTH: Mapping[Use, int] = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}
_NUMBERS_OF_ROWS = frozenset({"count", "approx_distinct", "approx_count_distinct"})
"""Aggregates that count values, and contain none of them."""
_CHOICES_OF_A_ROW = frozenset({"first_value", "last_value", "nth_value", "lag", "lead"})
"""Functions that return a value of another row unchanged."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A column of a source or lookup table, and how it is used. It `is_masked` if its values cannot be recovered: a
    digest, a count."""

    table: str
    column: str
    use: Use
    is_masked: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the value is computed from the column."""
        return self.use in _STRENGTH

    def used(self, use: Use, *, is_masked: bool = False) -> Origin:
        """Return this origin after another use of its column; the stronger use counts."""
        if self.is_direct and use in _STRENGTH:
            use = max(self.use, use, key=lambda kind: _STRENGTH[kind])
        elif not self.is_direct:
            use = self.use
        return Origin(self.table, self.column, use, self.is_masked or is_masked)


Origins: TypeAlias = frozenset[Origin]
NOTHING: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Origins of the columns of a relation, by name and in order, and the columns that decide which rows it has."""

    columns: Mapping[str, Origins]
    rows: Origins = NOTHING

    @property
    def all_origins(self) -> Origins:
        """Everything that is in it in any way."""
        return self.rows.union(*self.columns.values())


def lineage_of_writes(
    writes: Iterable[Write], primary_keys: Mapping[str, Sequence[str]] | None = None
) -> Mapping[str, ColumnLineage]:
    """Return, for each table that is written, where its columns come from. `primary_keys` are those of lookup tables,
    by name."""
    reader = _Reader(primary_keys or {})
    written: dict[str, ColumnLineage] = {}
    for write in writes:
        below = reader.of(write.input)
        rows = ColumnLineage({name: below.columns[name] for name in write.input.schema.names}, below.rows)
        written[write.table] = _either([written[write.table], rows]) if write.table in written else rows
    return written


def origins_of(expr: Expr, columns: Mapping[str, Origins]) -> Origins:
    """Return the origins of an expression's value over columns with known origins."""
    match expr:
        case Column(name):
            return columns[name]
        case Constant():
            return NOTHING
        case Call(function, arguments, when=when):
            return _of_call(function, arguments, [] if when is None else [when], columns)
        case Cast(inner) | Member(inner):
            return _used(origins_of(inner, columns), "TRANSFORMATION")
        case Case(branches, default):
            values = [value for _, value in branches] + ([] if default is None else [default])
            tests = [test for test, _ in branches]
            return _used(_all(values, columns), "TRANSFORMATION") | _used(_all(tests, columns), "CONDITIONAL")


def _of_call(
    function: str, arguments: Sequence[Expr], tests: Sequence[Expr], columns: Mapping[str, Origins]
) -> Origins:
    """Return the origins of a call. Some arguments of some functions only choose among the other arguments."""
    declared = find_function(function)
    is_masked = declared is not None and declared.family == "hashing"
    values: Sequence[Expr] = arguments
    match function:
        case "nullif":
            values, tests = arguments[:1], [*tests, *arguments[1:]]
        case "nvl2":
            values, tests = arguments[1:], [*tests, arguments[0]]
        case "coalesce" | "nvl":
            tests = [*tests, *arguments[:-1]]
    taken = _used(_all(values, columns), "TRANSFORMATION", is_masked=is_masked)
    return taken | _used(_all(tests, columns), "CONDITIONAL")


@dataclass(slots=True)
class _Reader:
    """Analyses relations. A relation may occur several times in a plan. It also tracks the event time, and the
    watermark, which affects rows wherever windows close."""

    primary_keys: Mapping[str, Sequence[str]]
    _known: dict[int, ColumnLineage] = field(default_factory=dict)

    def of(self, node: Node) -> ColumnLineage:
        """Return the lineage of a relation. The node must live as long as this does."""
        if id(node) not in self._known:
            self._known[id(node)] = self._read(node)
        return self._known[id(node)]

    def _read(self, node: Node) -> ColumnLineage:
        match node:
            case Scan():
                return _of_scan(node)
            case Project(source, columns):
                below = self.of(source)
                times = {name: below.columns[name] for name in (EVENT_TIME, WATERMARK)}
                named = {column.name: origins_of(column.expr, below.columns) for column in columns}
                return ColumnLineage(times | named, below.rows)
            case Filter(source, condition):
                below = self.of(source)
                return _chosen(below, _used(origins_of(condition, below.columns), "FILTER"))
            case Union(inputs):
                return _either([_renamed(self.of(part), part, node) for part in inputs])
            case Unnest(source, name, array):
                below = self.of(source)
                origins = origins_of(array, below.columns)
                # an array decides how often its row is there
                return _chosen(_with(below, {name: _used(origins, "TRANSFORMATION")}), _used(origins, "JOIN"))
            case LookupJoin():
                return self._of_lookup(node)
            case LateRows(source):
                below = self.of(source)
                times = {LATE_TIME.name: below.columns[EVENT_TIME], LATE_WATERMARK.name: below.columns[WATERMARK]}
                return _chosen(_with(below, times), _times(below))
            case WindowAggregate():
                return self._of_windows(node)
            case UpdatingAggregate(source, keys, aggregates):
                below = self.of(source)
                kept = _last(below) | {key.name: origins_of(key.expr, below.columns) for key in keys}
                grouped = _used(_all([key.expr for key in keys], below.columns), "GROUP_BY")
                return ColumnLineage(kept | _of_aggregates(aggregates, below), below.rows | grouped)
            case WindowJoin() | UpdatingJoin():
                return self._of_join(node)
            case Over(source, window, functions):
                below = self.of(source)
                at = _used(below.columns[window], "WINDOW")
                return _with(below, {function.name: at | _of_function(function, below) for function in functions})
            case EventTimeOver(source, partition, order, functions):
                below = self.of(source)
                parts = (*partition, *(key.expr for key in order))
                placed = _used(_all(parts, below.columns) | below.columns[EVENT_TIME], "WINDOW")
                rows = _with(below, {function.name: placed | _of_function(function, below) for function in functions})
                return _chosen(rows, _times(below))
            case Top(source, window, order):
                below = self.of(source)
                by = _used(_all([key.expr for key in order], below.columns), "SORT")
                return _chosen(below, by | _used(below.columns[window], "WINDOW"))
            case UpdatingTop():
                return self._of_updating_top(node)
        raise TypeError(type(node).__name__)

    def _of_lookup(self, node: LookupJoin) -> ColumnLineage:
        """Return the origins of a lookup: with an inner join the key decides on the rows, with a left one on the
        looked-up columns."""
        below = self.of(node.input)
        key = _used(origins_of(node.key, below.columns), "JOIN")
        key |= {Origin(node.table, name, "JOIN") for name in self.primary_keys.get(node.table, ())}
        looked_up = {name: frozenset({Origin(node.table, name, "IDENTITY")}) for name in node.columns.names}
        if node.kind == "inner":
            return _chosen(_with(below, looked_up), key)
        return _with(below, {name: origins | key for name, origins in looked_up.items()})

    def _of_windows(self, node: WindowAggregate) -> ColumnLineage:
        below = self.of(node.input)
        keys = [key.expr for key in node.keys]
        grouped = _used(_all(keys, below.columns), "GROUP_BY")
        if isinstance(node.window, Carried):
            window = below.columns[node.window.column]
            rows = grouped | _used(window, "WINDOW")
        else:
            window = _used(below.columns[EVENT_TIME], "TRANSFORMATION")
            rows = grouped | _times(below)
        columns = {key.name: origins_of(key.expr, below.columns) for key in node.keys}
        columns |= {node.window_name: window, EVENT_TIME: window, WATERMARK: below.columns[WATERMARK]}
        return ColumnLineage(columns | _of_aggregates(node.aggregates, below), below.rows | rows)

    def _of_join(self, node: WindowJoin | UpdatingJoin) -> ColumnLineage:
        left, right = self.of(node.left), self.of(node.right)
        times = {
            name: _used(left.columns[name] | right.columns[name], "TRANSFORMATION") for name in (EVENT_TIME, WATERMARK)
        }
        sides = {name: left.columns[name] for name in node.left.schema.names}
        sides |= {name: right.columns[name] for name in node.right.schema.names}
        matched = _all([part for pair in node.equal for part in pair], sides)
        if node.condition is not None:
            matched |= origins_of(node.condition, sides)
        if isinstance(node, WindowJoin):
            windows = node.windows
            matched |= times[EVENT_TIME] if windows is None else sides[windows[0]] | sides[windows[1]]
        columns = {name: sides[name] for name in node.schema.names}
        return ColumnLineage(times | columns, left.rows | right.rows | _used(matched, "JOIN"))

    def _of_updating_top(self, node: UpdatingTop) -> ColumnLineage:
        """Return the column lineage of an updating top-n. Without a limit, the order decides on the rank alone."""
        below = self.of(node.input)
        by = _used(_all(node.partition, below.columns), "WINDOW")
        by |= _used(_all([key.expr for key in node.order], below.columns), "SORT")
        placed = below if node.number is None else _with(below, {node.number: by})
        return placed if node.limit is None else _chosen(placed, by)


def _of_scan(scan: Scan) -> ColumnLineage:
    columns = {name: frozenset({Origin(scan.table, name, "IDENTITY")}) for name in scan.decoded}
    columns[EVENT_TIME] = NOTHING if scan.event_time is None else origins_of(scan.event_time, columns)
    columns[WATERMARK] = origins_of(scan.watermark, columns)
    return ColumnLineage(columns)


def _of_aggregates(aggregates: Iterable[NamedAggregate], below: ColumnLineage) -> dict[str, Origins]:
    """Return the origins of aggregates over groups. That a group depends on its rows is recorded with the rows."""
    origins = {}
    for named in aggregates:
        aggregate = named.aggregate
        is_masked = aggregate.function in _NUMBERS_OF_ROWS
        values = _used(_all(aggregate.arguments, below.columns), "AGGREGATION", is_masked=is_masked)
        order = _used(_all([key.expr for key in aggregate.order], below.columns), "SORT")
        tests = [] if aggregate.condition is None else [aggregate.condition]
        origins[named.name] = values | order | _used(_all(tests, below.columns), "CONDITIONAL")
    return origins


def _of_function(function: NamedOver, below: ColumnLineage) -> Origins:
    """Return a function over the rows of a partition in an order."""
    is_masked = function.function in _NUMBERS_OF_ROWS
    sums_up = find_aggregate(function.function) is not None and function.function not in _CHOICES_OF_A_ROW
    use: Use = "AGGREGATION" if sums_up else "TRANSFORMATION"
    values = _used(_all(function.arguments, below.columns), use, is_masked=is_masked)
    by = (*function.partition, *(key.expr for key in function.order))
    return values | _used(_all(by, below.columns), "WINDOW")


def _times(below: ColumnLineage) -> Origins:
    """Return the origins of event time and watermark: they decide which window a row is in, and whether it is late."""
    return _used(below.columns[EVENT_TIME] | below.columns[WATERMARK], "WINDOW")


def _last(below: ColumnLineage) -> dict[str, Origins]:
    """Return the times of a row that is computed from several rows."""
    return {name: _used(below.columns[name], "AGGREGATION") for name in (EVENT_TIME, WATERMARK)}


def _all(exprs: Iterable[Expr], columns: Mapping[str, Origins]) -> Origins:
    return NOTHING.union(*(origins_of(expr, columns) for expr in exprs))


def _used(origins: Collection[Origin], use: Use, *, is_masked: bool = False) -> Origins:
    return frozenset(origin.used(use, is_masked=is_masked) for origin in origins)


def _with(below: ColumnLineage, columns: Mapping[str, Origins]) -> ColumnLineage:
    return replace(below, columns={**below.columns, **columns})


def _chosen(below: ColumnLineage, rows: Origins) -> ColumnLineage:
    return replace(below, rows=below.rows | rows)


def _renamed(below: ColumnLineage, part: Node, union: Union) -> ColumnLineage:
    """Return an input of a union, under the names that the union has."""
    names = dict(zip(part.schema.names, union.schema.names, strict=True))
    times = {name: below.columns[name] for name in (EVENT_TIME, WATERMARK)}
    return replace(below, columns=times | {new: below.columns[old] for old, new in names.items()})


def _either(parts: Sequence[ColumnLineage]) -> ColumnLineage:
    """Return rows of several relations with the same columns."""
    columns = {name: NOTHING.union(*(part.columns[name] for part in parts)) for name in parts[0].columns}
    return ColumnLineage(columns, NOTHING.union(*(part.rows for part in parts)))
