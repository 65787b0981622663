"""Take over the state of another query before a run begins: keep the state of unchanged operators, start the others
empty.

    state of version 1        tumble of clicks by user, a filter after it, into table hourly
    version 2                 the same tumble, another filter, into hourly; and a second tumble, by page, into pages

    compare                   tumble by user STATE_KEPT, tumble by page STATE_NEW; nothing is lost
    finish                    epoch 42, if it had begun and an append-only sink may have it
    savepoint                 of the old state, for a rollback
    empty checkpoint          run version 2 over no rows, in scratch, to get Spark's names of its operators
    carry over                the old positions, and the kept state under its new number; then swap the directories

A crash leaves either the old state or the new one; the next run starts over or continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from pyspark.sql import SparkSession

from engine.changes.compare import compare
from engine.changes.hand_over import plan_fork
from engine.changes.show import show
from engine.changes.sources import can_tell, tells_the_same
from engine.changes.verdict import UpgradePlan, Wording, why_not
from engine.checkpoints import spark_log
from engine.checkpoints.carry_over import SourceChoice, carry_over
from engine.checkpoints.claim import Claim, StatefulQuery
from engine.checkpoints.forms import carried_forms, read_forms, untold
from engine.checkpoints.late_batches import carried, read_withheld
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.relocate import bring_home
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.checkpoints.savepoints import Request, take_requested
from engine.checkpoints.swap import StatePoint, scratch
from engine.compile import Program
from engine.connectors import sink_kind_of
from engine.delivery.faults import reach
from engine.delivery.manifests import find_manifest
from engine.errors import NoStateError, NothingToSaveError, StateNotKeptError, UpgradeRefusedError
from engine.plan.nodes import Retelling
from engine.plan.state.panes import with_panes
from engine.spark.printers.expressions import to_sql
from engine.spark.read.starts import begun_after, begun_tables, counting_starts
from engine.spark.run.run_spec import StateUpgrade
from engine.spark.upgrade.empty_checkpoint import build_skeleton
from engine.spark.upgrade.left_sinks import refuse_left_sinks
from engine.spark.upgrade.migrate import migrate, nodes_by_pane, open_in_panes, panes_after
from engine.spark.write.targets import sink_directory
from engine.udf.declared import UdfFile
from engine.values.start_positions import StartPosition

_WORDING = Wording(
    "--reset", "--accept-loss", "give another --state-dir, or start empty with --force, which gives up all state"
)


def take_over(
    spark: SparkSession,
    paths: StatePaths,
    program: Program,
    query: StatefulQuery,
    held: Claim,
    upgrade: StateUpgrade,
    connections: str,
    clock: Callable[[], datetime],
    finish: Callable[[Program], None],
    start_from: Mapping[str, StartPosition],
    *,
    by_pane: bool = False,
) -> Claim:
    """Convert the claimed state into the query's own. If a sink may have irrevocably taken an epoch, the old query
    finishes that first: `finish` runs a program until it has committed it. Any other epoch in progress becomes the new
    query's. `start_from` must name only tables that the old query has not read, or that are read from the start.
    Windows that start empty are stored `by_pane` if possible, all others as before. Raise, with the old state
    unchanged, if something would be lost that the upgrade does not accept."""
    refuse_another_history(paths, upgrade)
    before = compile_running(query_of_state(paths.root), udfs=_files(query), connections=connections)
    compared = plan_fork if upgrade.is_fork else compare
    plan = compared(
        before, program, keep_state=upgrade.keep_state, reset=upgrade.reset, hold_back=upgrade.hold_back
    ).with_starts(start_from)
    _refuse_loss(plan, upgrade)
    if not upgrade.is_fork and (epoch := spark_log.newest_commit(paths.checkpoint)) is not None:
        refuse_left_sinks(paths, program, read_lineage(paths.lineage), epoch)
    counting_starts(program, start_from, begun_after(begun_tables(paths.checkpoint), plan.dropped_sources))
    if is_begun_for_good(paths, before, held.lineage):
        finish(before)
    retellings = retellings_of(paths, before, program, plan, frozenset(upgrade.reset))
    save_before(paths, upgrade, clock)
    with scratch(paths) as folder:
        skeleton = folder / "checkpoint"
        panes = panes_after(before, program, plan, by_pane=by_pane)
        paned = replace(program, parts=with_panes(program.parts, panes, program.operators))
        build_skeleton(spark, paned, held.parallelism, skeleton)
        reach(StatePoint.AFTER_SKELETON)
        sources = SourceChoice(plan.sources, plan.dropped_sources)
        by_number = {operator.number: operator for operator in program.operators}
        # state by pane continues unchanged, whatever happens to its aggregates
        moved = {number: migration for number, migration in plan.migrated.items() if number not in panes}
        left = {number: migration for number, migration in plan.migrated.items() if number in panes}
        open_windows = {
            **open_in_panes(paths.checkpoint, by_number, left),
            **migrate(spark, paths.checkpoint, skeleton, by_number, moved, nodes_by_pane(before, paths.checkpoint)),
        }
        kept = {number: old for number, old in plan.kept.items() if number not in plan.migrated}
        withheld = carried(read_withheld(paths.checkpoint), kept, plan.migrated, open_windows)
        reformed = {number: migration.reform for number, migration in left.items() if migration.reform is not None}
        forms = carried_forms(read_forms(paths.checkpoint), kept, {**plan.reformed, **reformed}, retellings)
        lying = {number: old for number, old in plan.kept.items() if number not in moved}
        carry_over(paths, skeleton, lying, query, sources=sources, withheld=withheld, forms=forms, panes=panes)
    bring_home(paths.checkpoint)
    lineage = read_lineage(paths.lineage)
    return replace(held, lineage=lineage.id, parents=lineage.parents, is_foreign=False)


def retellings_of(
    paths: StatePaths, before: Program, program: Program, plan: UpgradePlan, reset: frozenset[str]
) -> Mapping[int, Retelling]:
    """Return the re-emissions that start with the next epoch. Re-emissions that the previous query has not finished
    continue, since its sinks have the output of the query before that. Refuse if the new query has other sinks, which
    would receive retractions of rows that they never had."""
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None:
        return {}
    name = f"{epoch}:{plan.before[:8]}:{plan.after[:8]}"
    retellings = {number: Retelling(name, to_sql(passed), epoch + 1) for number, passed in plan.retold.items()}
    pending = untold(read_forms(paths.checkpoint), epoch)
    for number, old in plan.kept.items():
        if old in pending:
            if number in plan.reformed or not can_tell(program, program.operators[number]):
                raise StateNotKeptError(
                    "the query before has changed a condition, and has not committed an epoch since, in which its "
                    "sinks would have received the rows that this lets through",
                    hint="go back to the query before that, or let this one commit an epoch first",
                )
            if not tells_the_same(before, before.operators[old], program, program.operators[number], reset):
                tables = ", ".join(sorted(before.operators[old].sinks))
                raise StateNotKeptError(
                    f"the query before has changed a condition, and has not committed an epoch since, in which {tables}"
                    " would have received the rows that this lets through; this one writes its rows elsewhere",
                    hint="go back to the query before that, or let one that writes there commit an epoch first",
                )
            retellings[number] = pending[old]
    return retellings


def save_before(paths: StatePaths, upgrade: StateUpgrade, clock: Callable[[], datetime]) -> None:
    """Take the savepoint that a version requires of the state before it, once: a later run finds it. It is also taken
    if the state is the query's own already, because the version in between never ran."""
    if upgrade.savepoint_id is None:
        return
    versions: dict[str, int] = {}
    if upgrade.from_plan is not None and upgrade.from_version is not None:
        versions[upgrade.from_plan] = upgrade.from_version
    request = Request(upgrade.savepoint_id, reason="upgrade", versions=versions)
    with suppress(NothingToSaveError):
        take_requested(paths.root, request, clock)


def refuse_empty(paths: StatePaths) -> None:
    """Raise if a fork would start empty, because its savepoint was not restored."""
    if spark_log.newest_commit(paths.checkpoint) is None:
        raise NoStateError(
            f"{paths.root} has nothing of the savepoint that the pipeline was forked from",
            hint="delete the pipeline, and fork it again",
        )


def refuse_another_history(paths: StatePaths, upgrade: StateUpgrade) -> None:
    """Raise if the pipeline would continue from its own state although another pipeline's was to replace it."""
    lineage = read_lineage(paths.lineage)
    if upgrade.of_history is not None and upgrade.of_history not in (lineage.id, *dict(lineage.parents)):
        raise NoStateError(
            f"{paths.root} has nothing of the savepoint that was to be put there",
            hint="roll the pipeline back to the version before, and hand over again",
        )


def _files(query: StatefulQuery) -> tuple[UdfFile, ...]:
    """Return the functions of the new query, or those of the old one if its state names none."""
    return tuple(UdfFile(name, text) for name, text in query.udfs)


def _refuse_loss(plan: UpgradePlan, upgrade: StateUpgrade) -> None:
    if (refused := why_not(plan, upgrade.accept_loss, show(plan), _WORDING)) is not None:
        raise UpgradeRefusedError(refused.message, hint=refused.hint)


def is_begun_for_good(paths: StatePaths, before: Program, lineage: str) -> bool:
    """Whether a sink that cannot rewind may have rows of an epoch that is not committed."""
    planned = max(spark_log.numbers(paths.checkpoint / "offsets"), default=None)
    if planned is None or planned == spark_log.newest_commit(paths.checkpoint):
        return False
    written = {*(write.table for write in before.writes), *before.dead_letter_tables}
    tables = [name for name in sorted(written) if not sink_kind_of(before.tables[name]).takes_back]
    return any(find_manifest(sink_directory(paths.root, name), lineage, planned) for name in tables)
