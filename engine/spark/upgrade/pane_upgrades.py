"""Upgrade the state of windows that are stored by pane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from engine.changes.verdict import Migration, UpgradePlan
from engine.checkpoints import spark_log
from engine.checkpoints.forms import read_forms
from engine.checkpoints.whole_state import files_of_partitions
from engine.compile import Program
from engine.inspection.store import read_store
from engine.plan.nodes import Hop, WindowAggregate
from engine.plan.state.forms import with_forms
from engine.plan.state.operators import Operator
from engine.plan.state.panes import fit_for_panes, panes_in
from engine.plan.state.withheld import Range, ranges_of, step_of
from engine.updating.panes import starts_of

_TICK = timedelta(microseconds=1)


def panes_after(before: Program, after: Program, plan: UpgradePlan, *, by_pane: bool) -> frozenset[int]:
    """Return the operators of the new query whose state is stored by pane: those that keep a state of this kind and, if
    `by_pane` is set, all those that start empty and support it."""
    old = panes_in(before.parts)
    leaving = {number for number, migration in plan.migrated.items() if migration.leave_panes}
    going_on = {number for number, operator in plan.kept.items() if operator in old} - leaving
    return frozenset(going_on | (fit_for_panes(after.operators) - plan.kept.keys() if by_pane else set()))


def nodes_by_pane(before: Program, checkpoint: Path) -> Mapping[int, WindowAggregate]:
    """Return the operators of the old query whose state is stored by pane, as they have run."""
    parts = with_forms(before.parts, read_forms(checkpoint), before.operators, 0)
    nodes = {operator.number: operator.node for operator in replace(before, parts=parts).operators}
    return {number: node for number, node in nodes.items() if isinstance(node, WindowAggregate) and node.by_pane}


def open_in_panes(
    checkpoint: Path, operators: Mapping[int, Operator], migrated: Mapping[int, Migration]
) -> Mapping[int, Sequence[Range]]:
    """Return the windows of the panes in the state of these operators of a new query."""
    epoch = spark_log.newest_commit(checkpoint)
    if epoch is None or not migrated:
        return {}
    partitions = files_of_partitions(checkpoint, epoch)
    open_windows: dict[int, Sequence[Range]] = {}
    for number, migration in migrated.items():
        node = operators[number].node
        assert isinstance(node, WindowAggregate)
        starts = {
            start
            for partition, files in partitions.items()
            if partition.operator == migration.operator
            for start in _starts(node, [checkpoint / file for file in files])
        }
        open_windows[number] = ranges_of(sorted(starts), step_of(node))
    return open_windows


def _starts(node: WindowAggregate, files: Sequence[Path]) -> Iterator[int]:
    assert isinstance(node.window, Hop)
    for _, table in read_store(files).tables_of_buckets():
        yield from starts_of(table, step_of(node), node.window.width // _TICK).tolist()
