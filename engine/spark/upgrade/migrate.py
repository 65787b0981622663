"""Migrate the state of an old operator to the form of the new one, in the empty checkpoint of the new query.

    plan                operator 1 is the old operator 0, with columns sum, isEmpty, count; the new has count and max
    old state           version 42 of state/0: its rows are read, partition by partition
    empty checkpoint    state/1 gets them, with the same count and max as NULL; it gets a new id
    open windows        00:00 and 00:10, since they are in the rows: their max is not known

If keys have a wider numeric type, Spark looks for their rows in other partitions, and each row is written there.
Windows that change from panes to Spark's form are converted first (`spark/state/panes.py`).

For `carry_over`, such an operator is a new one that has rows. Only the empty checkpoint is written, so a crash leaves
the old state intact. No row of Spark's windows passes through Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from engine.changes.verdict import Migration, UpgradePlan
from engine.checkpoints import spark_log
from engine.checkpoints.forms import read_form, read_forms
from engine.checkpoints.layout import write_text
from engine.checkpoints.whole_state import files_of_partitions
from engine.compile import Program
from engine.errors import StateNotKeptError
from engine.inspection.store import read_store
from engine.plan.nodes import Hop, WindowAggregate
from engine.plan.state.forms import with_forms
from engine.plan.state.operators import Operator
from engine.plan.state.panes import fit_for_panes, panes_in
from engine.plan.state.withheld import Range, ranges_of, step_of
from engine.spark.jvm.local_files.java_classes import StateRewriter, filler, state_rewriter
from engine.spark.state.panes import rows_of_windows
from engine.spark.upgrade.empty_checkpoint import as_snapshots
from engine.updating.panes import starts_of


def migrate(
    spark: SparkSession,
    old: Path,
    skeleton: Path,
    operators: Mapping[int, Operator],
    migrated: Mapping[int, Migration],
    panes: Mapping[int, WindowAggregate],
) -> Mapping[int, Sequence[Range]]:
    """Fill the `migrated` operators of an empty checkpoint with the state in the checkpoint `old`; return their open
    windows. `operators` are those of the new query, `panes` the old ones whose state is stored by pane. Raise
    StateNotKeptError if the state is not as planned."""
    epoch = spark_log.newest_commit(old)
    if epoch is None or not migrated:
        return {}
    old_ids = spark_log.read_committed(old, epoch).state_ids_of
    committed = spark_log.read_committed(skeleton, 0)
    ids = dict(committed.state_ids_of)
    open_windows: dict[int, Sequence[Range]] = {}
    with as_snapshots(spark, len(_ids_of(ids, min(migrated)))):
        for number, migration in migrated.items():
            sources, width = _ids_of(old_ids, migration.operator), len(_ids_of(ids, number))
            if len(sources) != width:
                raise StateNotKeptError(
                    f"the state is laid out for {len(sources)} tasks, and the new query for {width}",
                    hint="change the parallelism of the old query first",
                )
            if migration.leave_panes:
                node, folder = panes[migration.operator], skeleton.with_name(f"windows of {number}")
                rows = rows_of_windows(spark, old, migration.operator, node, migration.columns_before, folder)
                rewriter = filler(spark, rows, 1 + len(node.keys), skeleton, number)
                _check_columns(rewriter, migration, has_keys=rewriter.has_wider_keys)
                fresh: Sequence[str] = rewriter.fill(width, migration.origins)
            else:
                rewriter = state_rewriter(spark, old, migration.operator, skeleton, number)
                _check(rewriter, old, skeleton, number, migration)
                fresh = _rewritten(rewriter, epoch + 1, sources, migration)
            ids[number] = [[state_id] for state_id in fresh]
            open_windows[number] = _open_windows(rewriter, operators[number])
    write_text(skeleton / "commits" / "0", committed.with_state_ids(ids).text())
    return open_windows


def _rewritten(rewriter: StateRewriter, version: int, sources: Sequence[str], migration: Migration) -> Sequence[str]:
    if migration.has_wider_keys:
        return rewriter.rewrite_all(version, sources, migration.origins)
    return [
        rewriter.rewrite(partition, version, state_id, migration.origins) for partition, state_id in enumerate(sources)
    ]


def _ids_of(ids: Mapping[int, object], number: int) -> list[str]:
    """Return the id of the newest state of each partition of an operator with one store."""
    match ids.get(number):
        case list(partitions) if all(isinstance(part, list) and len(part) == 1 for part in partitions):
            return [str(part[0]) for part in partitions]
    raise StateNotKeptError(f"operator {number} has no state of the form that is expected")


def _check(rewriter: StateRewriter, old: Path, skeleton: Path, number: int, migration: Migration) -> None:
    """Raise if Spark stores a state otherwise than planned."""
    before, after = read_form(old, migration.operator), read_form(skeleton, number)
    is_alike = (before.name, before.stores) == (after.name, after.stores)
    has_keys = rewriter.has_wider_keys if migration.has_wider_keys else rewriter.has_same_keys
    _check_columns(rewriter, migration, has_keys=is_alike and has_keys)


def _check_columns(rewriter: StateRewriter, migration: Migration, *, has_keys: bool) -> None:
    planned = (migration.columns_before, migration.columns_after)
    if not has_keys or rewriter.columns != planned:
        raise StateNotKeptError(
            f"the state of operator {migration.operator} is not of the form that was planned: "
            f"it has {rewriter.columns} instead of {planned}",
            hint="let that operator begin empty, or leave the query as it is",
        )


def _open_windows(rewriter: StateRewriter, operator: Operator) -> Sequence[Range]:
    assert isinstance(operator.node, WindowAggregate)
    return ranges_of(rewriter.window_starts, step_of(operator.node))


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
