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

Where all tests move, what windows and updating aggregates keep of the rows may be merged there as well: see
`engine.plan.placement.partials`.

A plan means the same with it and without, and so does its state: it is no part of the fingerprint
(docs/decisions/sources-leave-out-what-no-query-wants.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from engine.plan.expressions.expr import Call, Expr
from engine.plan.nodes import Fused, Partials, Project, Scan, UpdatingAggregate, WindowAggregate
from engine.plan.placement.descent import Chain, chain_of, descended
from engine.plan.placement.partials import with_partials
from engine.plan.placement.reads import read_by
from engine.plan.placement.split import Parts
from engine.plan.tree import Node, inputs_of, rewrite, walk, with_inputs
from engine.schema import Schema
from engine.types import BOOLEAN


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
    """Every scan of a tree, with what stands right above it."""
    chain, source = chain_of(node)
    if isinstance(source, Scan):
        yield chain, source
    for below in inputs_of(source):
        yield from _chains(below)


def _fuse(node: Node, reader: Node | None, alone: frozenset[str]) -> Node:
    """The relation, which the `reader` above it reads, with all that can move moved into tables that it is alone to
    read."""
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
    """The condition that at least one is true; None when one of them is always."""
    tests = [test for test in dict.fromkeys(conditions) if test is not None]
    if len(tests) < 2 or None in conditions:
        return None if None in conditions else tests[0]
    return Call("or", tuple(tests), BOOLEAN)


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
