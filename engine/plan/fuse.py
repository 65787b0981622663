"""What of a plan is done in the tasks of its sources, on the rows as they are decoded, before Spark has them.

    Project auction, price                       Project auction, price
      Filter price > 10 AND url ILIKE '%x'    ->    Filter url LIKE '%x'
        Scan bids (auction, price, url)              Fused price > 10, columns (auction, price, url)
                                                       Scan bids (auction, price, url)

Tests move through projections and other tests down to the scan, but never past a test or a projection that may fail: it
must meet the rows that the script has it meet. A column that only moved tests read stays in the task.

A table that is read in several places is one source to Spark, whose rows go to all of them. They keep their filters,
and the task leaves out what none of them wants, if each of them has a test that moves:

    Filter price > 10                            Filter price > 10
      Scan bids                            ->      Fused price > 10 OR hot
    Filter hot                                   Filter hot
      Scan bids                                    Fused price > 10 OR hot

A plan means the same with it and without, and so does its state: it is no part of the fingerprint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engine.plan.conjuncts import all_of, cannot_fail, conjuncts_of
from engine.plan.expr import Call, Column, Expr, columns_of, substitute
from engine.plan.fusable import is_fusable
from engine.plan.hidden import EVENT_TIME, is_hidden
from engine.plan.nodes import Filter, Fused, Project, Scan, UpdatingAggregate, WindowAggregate
from engine.plan.reads import read_by
from engine.plan.split import Parts
from engine.plan.tree import Node, inputs_of, rewrite, walk, with_inputs
from engine.schema import Schema
from engine.types import BOOLEAN, TIMESTAMP


def fuse(parts: Parts) -> Parts:
    """The same parts, with what can be done in the tasks of the sources in a `Fused` above each scan."""
    conditions: defaultdict[str, list[Expr | None]] = defaultdict(list)
    for branch in parts.branches:
        for chain, scan in _chains(branch):
            conditions[scan.table].append(_descended(chain, scan).condition)
    alone = frozenset(table for table, moved in conditions.items() if len(moved) == 1)
    shared = {table: moved for table, moved in conditions.items() if table not in alone}

    def fuse_shared(node: Node) -> Node:
        if not isinstance(node, Scan) or node.table in alone:
            return node
        condition = _any_of(shared[node.table])
        return node if condition is None else Fused(node, condition, node.columns)

    fused = [rewrite(_fuse(branch, None, alone), fuse_shared) for branch in parts.branches]
    return replace(parts, branches=tuple(fused))


def fused_tables(branches: Sequence[Node]) -> Mapping[str, Fused]:
    """What is done in the task of each source, by table; without those where nothing is."""
    nodes = (node for branch in branches for node in walk(branch))
    return {node.input.table: node for node in nodes if isinstance(node, Fused)}


_Chain: TypeAlias = Sequence[Filter | Project]
"""Filters and projections above a scan, the top first."""


def _chains(node: Node) -> Iterator[tuple[_Chain, Scan]]:
    """Every scan of a tree, with what stands right above it."""
    chain, source = _chain(node)
    if isinstance(source, Scan):
        yield chain, source
    for below in inputs_of(source):
        yield from _chains(below)


def _chain(node: Node) -> tuple[_Chain, Node]:
    """The filters and projections at the top of a tree, and what they read."""
    chain: list[Filter | Project] = []
    while isinstance(node, Filter | Project):
        chain.append(node)
        node = node.input
    return chain, node


def _fuse(node: Node, reader: Node | None, alone: frozenset[str]) -> Node:
    """The relation, which the `reader` above it reads, with all that can move moved into tables that it is alone to
    read."""
    chain, source = _chain(node)
    if not isinstance(source, Scan):
        return with_inputs(node, [_fuse(below, node, alone) for below in inputs_of(node)])
    descent = _descended(chain, source)
    if descent.condition is None or source.table not in alone:
        return node
    readers = [*descent.steps, *([] if reader is None else [reader])]
    rows: Node = Fused(source, descent.condition, _crossing(source, readers))
    for step in descent.steps:
        rows = replace(step, input=rows)
    return rows


def _any_of(conditions: Sequence[Expr | None]) -> Expr | None:
    """The condition that at least one is true; None when one of them is always."""
    tests = [test for test in dict.fromkeys(conditions) if test is not None]
    if len(tests) < 2 or None in conditions:
        return None if None in conditions else tests[0]
    return Call("or", tuple(tests), BOOLEAN)


def _descended(chain: _Chain, scan: Scan) -> _Descent:
    """What has come down to the scan. Nothing does where rows are taken back, or columns could be taken for hidden
    ones."""
    descent = _Descent.to(scan)
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


def _crossing(scan: Scan, readers: Sequence[Node]) -> Schema:
    """The columns that are read above the task."""
    names = frozenset[str]()
    for reader in readers:
        names |= read_by(reader)
        if isinstance(reader, Project | WindowAggregate | UpdatingAggregate):
            fields = tuple(column for column in scan.columns if column.name in names)
            # a row without any column could not be counted, so the first one stays
            return Schema(fields or scan.columns.fields[:1])
    return scan.columns


@dataclass(slots=True)
class _Descent:
    """Tests on their way down to a scan. `values` has what each column is, read off the scan, where that may be
    computed in the task; `moved` are the tests that have come through, `steps` what remains above them, the lowest
    first; it `is_open` until something is met that none may pass."""

    values: dict[str, Expr]
    moved: list[Expr] = field(default_factory=list)
    steps: list[Filter | Project] = field(default_factory=list)
    is_open: bool = True

    @classmethod
    def to(cls, scan: Scan) -> _Descent:
        """One that begins at a scan."""
        time = Column(EVENT_TIME, TIMESTAMP, nullable=False)
        columns = {field.name: Column(field.name, field.type, field.nullable) for field in scan.columns}
        return cls({**columns, EVENT_TIME: time})

    @property
    def condition(self) -> Expr | None:
        """All tests that have come through; None without any."""
        return all_of(self.moved)

    def take(self, tests: Sequence[Expr]) -> list[Expr]:
        """Move those of the tests of a filter that may move; the others remain."""
        remaining = [test for test in tests if not (self.is_open and self._is_movable(test))]
        if any(not cannot_fail(test) or self._reads_unknown(test) for test in remaining):
            self.is_open = False
            return list(tests)
        self.moved += [substitute(test, self.values) for test in tests if test not in remaining]
        return remaining

    def pass_through(self, project: Project) -> None:
        """Go on above a projection."""
        values = {EVENT_TIME: self.values[EVENT_TIME]}
        for named in project.columns:
            value = None if self._reads_unknown(named.expr) else substitute(named.expr, self.values)
            if is_hidden(named.name) or not (cannot_fail(named.expr) or (value is not None and is_fusable(value))):
                self.is_open = False
            if value is not None and is_fusable(value):
                values[named.name] = value
        self.values = values

    def _is_movable(self, test: Expr) -> bool:
        return bool(columns_of(test)) and not self._reads_unknown(test) and is_fusable(substitute(test, self.values))

    def _reads_unknown(self, expr: Expr) -> bool:
        return not columns_of(expr) <= self.values.keys()
