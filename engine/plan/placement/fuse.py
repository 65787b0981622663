"""Push filters, projections and pre-aggregation into source tasks, where rows are decoded.

    Project auction, price                       Project auction, price
      Filter price > 10 AND url ILIKE '%x'    ->    Filter url LIKE '%x'
        Scan bids (auction, price, url)              Fused price > 10, columns (auction, price, url)
                                                       Scan bids (auction, price, url)

Filters move through projections and other filters down to the scan, but never past one that may fail, because that must
see the same rows as in the script. A column that only moved filters use stays in the task.

A table that is read in several places is one source for Spark, whose rows go to all of them. They keep their filters.
If each of them has a filter that moves, the task drops rows that none of them needs:

    Filter price > 10                            Filter price > 10
      Scan bids                            ->      Fused price > 10 OR hot
    Filter hot                                   Filter hot
      Scan bids                                    Fused price > 10 OR hot

If all filters move, rows may be pre-aggregated there for windows and changelog aggregates: see
`engine.plan.placement.fuse`.

Results and state are the same without fusing, so it is not part of the fingerprint
(docs/decisions/sources-leave-out-what-no-query-wants.md).

Push filters down to a scan, through the filters and projections above it.

Project price * 2 AS double      double is price * 2, in terms of the scan
  Filter price > 10              is pushed down
    Filter url ILIKE '%x'        stays, and lets others pass, since it cannot fail
      Scan bids

Pre-aggregate the rows of windows in the source task.

    WindowAggregate count(*), max(price) by hop(2 s, 10 s), auction % 7
      Filter hot
        Scan bids

    12:00:01  auction 3, price 5, hot          12:00:01  auction 3, 2 rows, max 8
    12:00:01  auction 10, price 8, hot    ->   12:00:02  auction 3, 1 row, max 1
    12:00:02  auction 3, price 1, hot

The first two rows are in one pane of two seconds and have the same key. The merged row looks like the first of them, so
windows, keys, late rows and state work as for any row; only the aggregates use the merged values. This requires that
all filters have moved into the task, and that it computes every key exactly like Spark.

Sessions have no panes. There the rows of a burst are merged (each less than the gap after the previous one), and Spark
gets the first of them with the time of the last: a session that begins with the one and continues from the other.

Changelog aggregates use no time but that of a key's last change: all rows of a key are merged, at that time. See
docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeAlias

from engine import types
from engine.plan.expressions.conditions import all_of, cannot_fail, conjuncts_of
from engine.plan.expressions.expr import Call, Cast, Column, Expr, Member, Named, columns_of, substitute
from engine.plan.nodes import (
    Aggregate,
    Burst,
    Cumulate,
    Filter,
    Fused,
    Hop,
    NamedAggregate,
    Pane,
    Partials,
    Project,
    Scan,
    Session,
    Tumble,
    UpdatingAggregate,
    Window,
    WindowAggregate,
    count_of,
)
from engine.plan.placement.reads import read_by
from engine.plan.placement.split import Parts
from engine.plan.placement.whole import is_fusable
from engine.plan.tree import EVENT_TIME, Node, inputs_of, is_hidden, rewrite, walk, with_inputs
from engine.schema import Schema
from engine.types import BOOLEAN, TIMESTAMP


def fuse(parts: Parts) -> Parts:
    """Return the parts with a `Fused` node above each scan whose source task can do part of the work."""
    conditions: defaultdict[str, list[Expr | None]] = defaultdict(list)
    for branch in parts.branches:
        for chain, scan in _chains(branch):
            conditions[scan.table].append(descended(chain, scan).condition)
    alone = frozenset(table for table, moved in conditions.items() if len(moved) == 1)
    shared = {table: moved for table, moved in conditions.items() if table not in alone}

    def fuse_shared(node: Node) -> Node:
        if not isinstance(node, Scan) or node.table in alone:
            return node
        condition = _any_of(shared[node.table])
        return node if condition is None else Fused(node, condition, node.columns)

    fused = [rewrite(_fuse(branch, None, alone), fuse_shared) for branch in parts.branches]
    return replace(parts, branches=tuple(fused))


def fused_tables(branches: Sequence[Node]) -> Mapping[str, Fused | Partials]:
    """Return the work that each source task does, by table; tables whose tasks only read are left out."""
    nodes = (node for branch in branches for node in walk(branch))
    return {node.input.table: node for node in nodes if isinstance(node, Fused | Partials)}


def _chains(node: Node) -> Iterator[tuple[Chain, Scan]]:
    """Yield every scan of a tree, with the nodes directly above it."""
    chain, source = chain_of(node)
    if isinstance(source, Scan):
        yield chain, source
    for below in inputs_of(source):
        yield from _chains(below)


def _fuse(node: Node, reader: Node | None, alone: frozenset[str]) -> Node:
    """Return the relation, which the `reader` above it reads, with all work that can be pushed down into tables that
    only it reads."""
    if isinstance(node, WindowAggregate | UpdatingAggregate) and (merging := with_partials(node, alone)) is not None:
        return merging
    chain, source = chain_of(node)
    if not isinstance(source, Scan):
        return with_inputs(node, [_fuse(below, node, alone) for below in inputs_of(node)])
    descent = descended(chain, source)
    if descent.condition is None or source.table not in alone:
        return node
    readers = [*descent.steps, *([] if reader is None else [reader])]
    rows: Node = Fused(source, descent.condition, _crossing(source, readers))
    for step in descent.steps:
        rows = replace(step, input=rows)
    return rows


def _any_of(conditions: Sequence[Expr | None]) -> Expr | None:
    """Return the condition that at least one is true; None if one of them always is."""
    tests = [test for test in dict.fromkeys(conditions) if test is not None]
    if len(tests) < 2 or None in conditions:
        return None if None in conditions else tests[0]
    return Call("or", tuple(tests), BOOLEAN)


def _crossing(scan: Scan, readers: Sequence[Node]) -> Schema:
    """Return the columns that are read above the source task."""
    names = frozenset[str]()
    for reader in readers:
        names |= read_by(reader)
        if isinstance(reader, Project | WindowAggregate | UpdatingAggregate):
            fields = tuple(column for column in scan.columns if column.name in names)
            # a row without any column could not be counted, so the first one stays
            return Schema(fields or scan.columns.fields[:1])
    return scan.columns


Aggregation: TypeAlias = WindowAggregate | UpdatingAggregate
_LONGEST_GAP = timedelta(days=366_000)
"""Largest gap: the length of a burst plus its gap must be a Spark interval, which has twelve digits of seconds."""
_GROUPED = (
    types.Boolean | types.Integer | types.Float | types.Decimal | types.Text | types.Json | types.Timestamp | types.Date
)
_ORDERED = types.Boolean | types.Integer | types.Text | types.Timestamp | types.Date
"""Types whose minimum and maximum are the same in Arrow and in Spark; NaN and -0.0 exclude DOUBLE."""


def with_partials(node: Aggregation, alone: frozenset[str]) -> Node | None:
    """Return the same aggregation over rows that the source task pre-aggregates, or None if it cannot. `alone` are the
    tables that are read in one place only."""
    chain, scan = chain_of(node.input)
    if not isinstance(scan, Scan) or scan.table not in alone or any(map(_is_like_ours, scan.columns.names)):
        return None
    stretch = None if isinstance(node, UpdatingAggregate) else _stretch(node.window)
    descent = descended(chain, scan)
    has_all_tests = descent.is_open and not any(isinstance(step, Filter) for step in descent.steps)
    if not has_all_tests or (stretch is None and isinstance(node, WindowAggregate)):
        return None
    keys = [Named(key.name, value) for key in node.keys if (value := _key(descent, key.expr)) is not None]
    aggregates = [
        replace(named, aggregate=aggregate)
        for named in node.aggregates
        if (aggregate := _aggregate(descent, named.aggregate)) is not None
    ]
    if len(keys) < len(node.keys) or len(aggregates) < len(node.aggregates):
        return None
    exprs = tuple(key.expr for key in keys)
    columns = _columns(scan, exprs)
    merged = Partials(scan, descent.condition, stretch, exprs, columns, _partials(node, aggregates))
    return replace(node, input=merged, keys=tuple(keys), aggregates=tuple(aggregates))


def _is_like_ours(name: str) -> bool:
    """Whether a column could be confused with one that pre-aggregation adds."""
    return name.startswith("__")


def _stretch(window: Window) -> Pane | Burst | None:
    """Return the longest stretch of time in which all rows have the same windows."""
    match window:
        case Tumble(width):
            return Pane(width)
        case Hop():
            return Pane(window.pane)
        case Cumulate(step, Tumble()):
            return Pane(step)
        case Session(gap) if gap < _LONGEST_GAP:
            return Burst(gap)
    return None


def _key(descent: Descent, key: Expr) -> Expr | None:
    return descent.read_off(key) if isinstance(key.type, _GROUPED) else None


def _columns(scan: Scan, keys: Sequence[Expr]) -> Schema:
    names = frozenset[str]().union(*map(columns_of, keys))
    return Schema(tuple(column for column in scan.columns if column.name in names))


def _partials(node: Aggregation, aggregates: Sequence[NamedAggregate]) -> tuple[NamedAggregate, ...]:
    """Return the distinct aggregates, without the row count, which always exists. An updating sum is stored with the
    count of its numbers."""
    different = dict.fromkeys(named.aggregate for named in aggregates if named.aggregate.arguments)
    if isinstance(node, UpdatingAggregate):
        different |= dict.fromkeys(count_of(aggregate) for aggregate in different if aggregate.function == "sum")
    return tuple(NamedAggregate(f"__partial{index}", aggregate) for index, aggregate in enumerate(different))


def _aggregate(descent: Descent, aggregate: Aggregate) -> Aggregate | None:
    """Return the aggregate over the scan's columns, if its partial values are exact."""
    if aggregate.distinct or aggregate.order or aggregate.condition is not None:
        return None
    if not aggregate.arguments:
        return aggregate if aggregate.function == "count" else None
    if aggregate.function not in ("count", "sum", "min", "max"):
        return None
    argument = descent.read_off(aggregate.arguments[0])
    return replace(aggregate, arguments=(argument,)) if argument and _is_exact(aggregate, argument) else None


def _is_exact(aggregate: Aggregate, argument: Expr) -> bool:
    """Whether the aggregate is of a column as it is read. Spark merges equal aggregates, and would consider others
    equal than we do if more were computed."""
    if aggregate.function == "sum":
        is_whole = isinstance(argument.type, types.Integer) and argument.type.signed
        return is_whole and _is_column(argument.input if isinstance(argument, Cast) and _widens(argument) else argument)
    return _is_column(argument) and isinstance(argument.type, _GROUPED if aggregate.function == "count" else _ORDERED)


def _widens(cast: Cast) -> bool:
    match cast.input.type, cast.type:
        case types.Integer(bits, True), types.Integer(wider, True):
            return bits < wider and not cast.lenient
    return False


def _is_column(expr: Expr) -> bool:
    return isinstance(expr, Column) or (isinstance(expr, Member) and _is_column(expr.input))


Chain: TypeAlias = Sequence[Filter | Project]
"""Filters and projections above a scan, topmost first."""


def chain_of(node: Node) -> tuple[Chain, Node]:
    """Return the filters and projections at the top of a tree, and their input."""
    chain: list[Filter | Project] = []
    while isinstance(node, Filter | Project):
        chain.append(node)
        node = node.input
    return chain, node


def descended(chain: Chain, scan: Scan) -> Descent:
    """Return what can be pushed down to the scan. Nothing can if rows are retractions, or if columns could be taken for
    hidden ones."""
    descent = Descent.to(scan)
    descent.is_open = not scan.is_changes and not any(map(is_hidden, scan.columns.names))
    for step in reversed(chain):
        match step:
            case Filter(_, condition):
                remaining = all_of(descent.take(conjuncts_of(condition)))
                if remaining is not None:
                    descent.steps.append(replace(step, condition=remaining))
            case Project():
                descent.pass_through(step)
                descent.steps.append(step)
    return descent


@dataclass(slots=True)
class Descent:
    """Filters on their way to a scan. `values` has each column in terms of the scan, if the source task can compute it;
    `moved` are the filters that have arrived, `steps` what remains above them, lowest first; it `is_open` until an
    obstacle is met."""

    values: dict[str, Expr]
    moved: list[Expr] = field(default_factory=list)
    steps: list[Filter | Project] = field(default_factory=list)
    is_open: bool = True

    @classmethod
    def to(cls, scan: Scan) -> Descent:
        """Return a descent that begins at a scan."""
        time = Column(EVENT_TIME, TIMESTAMP, nullable=False)
        columns = {field.name: Column(field.name, field.type, field.nullable) for field in scan.columns}
        return cls({**columns, EVENT_TIME: time})

    @property
    def condition(self) -> Expr | None:
        """All tests that have come through; None without any."""
        return all_of(self.moved)

    def take(self, tests: Sequence[Expr]) -> list[Expr]:
        """Push down the tests of a filter that may move; the others remain."""
        remaining = [test for test in tests if not (self.is_open and self._is_movable(test))]
        if any(not cannot_fail(test) or self._reads_unknown(test) for test in remaining):
            self.is_open = False
            return list(tests)
        self.moved += [substitute(test, self.values) for test in tests if test not in remaining]
        return remaining

    def pass_through(self, project: Project) -> None:
        """Continue above a projection."""
        values = {EVENT_TIME: self.values[EVENT_TIME]}
        for named in project.columns:
            value = None if self._reads_unknown(named.expr) else substitute(named.expr, self.values)
            if is_hidden(named.name) or not (cannot_fail(named.expr) or (value is not None and is_fusable(value))):
                self.is_open = False
            if value is not None and is_fusable(value):
                values[named.name] = value
        self.values = values

    def read_off(self, expr: Expr) -> Expr | None:
        """Return the expression over the scan's columns; None if the task cannot compute it."""
        if self._reads_unknown(expr):
            return None
        value = substitute(expr, self.values)
        return value if is_fusable(value) else None

    def _is_movable(self, test: Expr) -> bool:
        return bool(columns_of(test)) and not self._reads_unknown(test) and is_fusable(substitute(test, self.values))

    def _reads_unknown(self, expr: Expr) -> bool:
        return not columns_of(expr) <= self.values.keys()
