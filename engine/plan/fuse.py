"""What of a plan is done in the tasks of its sources, on the rows as they are decoded, before Spark has them.

    Project auction, price                       Project auction, price
      Filter price > 10 AND url LIKE '%x'    ->    Filter url LIKE '%x'
        Scan bids (auction, price, url)              Fused price > 10, columns (auction, price, url)
                                                       Scan bids (auction, price, url)

Tests move through projections and other tests down to the scan, but never past a test or a projection that may fail: it
must meet the rows that the script has it meet. A column that only moved tests read stays in the task.

A plan means the same with it and without, and so does its state: it is no part of the fingerprint. A table that is read
in several places is one source to Spark, whose rows go to all of them, and stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.plan.conjuncts import all_of, cannot_fail, conjuncts_of
from engine.plan.expr import Column, Expr, columns_of, substitute
from engine.plan.fusable import is_fusable
from engine.plan.hidden import EVENT_TIME, is_hidden
from engine.plan.nodes import Filter, Fused, Project, Scan, UpdatingAggregate, WindowAggregate
from engine.plan.reads import read_by
from engine.plan.split import Parts
from engine.plan.tree import Node, inputs_of, walk, with_inputs
from engine.schema import Schema
from engine.types import TIMESTAMP


def fuse(parts: Parts) -> Parts:
    """The same parts, with what can be done in the tasks of the sources in a `Fused` above each scan."""
    scans = Counter(node.table for branch in parts.branches for node in walk(branch) if isinstance(node, Scan))
    alone = frozenset(table for table, readers in scans.items() if readers == 1)
    return replace(parts, branches=tuple(_fuse(branch, None, alone) for branch in parts.branches))


def fused_tables(branches: Sequence[Node]) -> Mapping[str, Fused]:
    """What is done in the task of each source, by table; without those where nothing is."""
    nodes = (node for branch in branches for node in walk(branch))
    return {node.input.table: node for node in nodes if isinstance(node, Fused)}


def _fuse(node: Node, reader: Node | None, alone: frozenset[str]) -> Node:
    """The relation, which the `reader` above it reads, with all that can move moved."""
    chain: list[Filter | Project] = []
    source = node
    while isinstance(source, Filter | Project):
        chain.append(source)
        source = source.input
    if isinstance(source, Scan):
        return _fuse_chain(node, chain, source, reader) if source.table in alone and _is_plain(source) else node
    return with_inputs(node, [_fuse(below, node, alone) for below in inputs_of(node)])


def _is_plain(scan: Scan) -> bool:
    """Whether its rows are only ever added, and its columns cannot be taken for hidden ones."""
    return not scan.is_changes and not any(map(is_hidden, scan.columns.names))


def _fuse_chain(top: Node, chain: Sequence[Filter | Project], scan: Scan, reader: Node | None) -> Node:
    descent = _Descent.to(scan)
    steps: list[Filter | Project] = []
    for step in reversed(chain):
        match step:
            case Filter(_, condition):
                remaining = all_of(descent.take(conjuncts_of(condition)))
                if remaining is not None:
                    steps.append(replace(step, condition=remaining))
            case Project():
                descent.pass_through(step)
                steps.append(step)
    moved = all_of(descent.moved)
    if moved is None:
        return top
    rows: Node = Fused(scan, moved, _crossing(scan, [*steps, *([] if reader is None else [reader])]))
    for step in steps:
        rows = replace(step, input=rows)
    return rows


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
    computed in the task; `moved` are the tests that have come through; it `is_open` until something is met that none
    may pass."""

    values: dict[str, Expr]
    moved: list[Expr] = field(default_factory=list)
    is_open: bool = True

    @classmethod
    def to(cls, scan: Scan) -> _Descent:
        """One that begins at a scan."""
        time = Column(EVENT_TIME, TIMESTAMP, nullable=False)
        columns = {field.name: Column(field.name, field.type, field.nullable) for field in scan.columns}
        return cls({**columns, EVENT_TIME: time})

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
