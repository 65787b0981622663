"""Plan an upgrade for the API. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import HandOverError
from engine.jobs.decisions.spec import PlannedFork, ShownUpgrade, Upgrade
from engine.values.start_positions import StartPosition

if TYPE_CHECKING:
    from engine.changes.verdict import UpgradePlan
    from engine.checkpoints.lineage import Lineage
    from engine.checkpoints.running_query import RunningQuery
    from engine.compile import Program

_NONE_SAID: Mapping[str, StartPosition] = {}


def plan_upgrade(
    state: Path,
    query: str,
    udfs: Sequence[str],
    wish: Upgrade,
    starts: Mapping[str, StartPosition] = _NONE_SAID,
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> ShownUpgrade | None:
    """Compare a query with that of the state in a directory; return None if there is no state. The compiler is imported
    late, so that the server starts sooner."""
    from engine.changes.compare import compare  # noqa: PLC0415
    from engine.checkpoints.layout import StatePaths  # noqa: PLC0415
    from engine.checkpoints.lineage import read_lineage  # noqa: PLC0415
    from engine.checkpoints.running_query import compile_running, query_of_state  # noqa: PLC0415
    from engine.checkpoints.spark_log import newest_commit  # noqa: PLC0415
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.inspection.retry_reads import read_again  # noqa: PLC0415
    from engine.inspection.summary import operator_figures  # noqa: PLC0415
    from engine.spark.upgrade.left_sinks import refuse_left_sinks  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    paths = StatePaths(state)

    def read() -> tuple[RunningQuery, Lineage, int] | None:
        epoch = newest_commit(paths.checkpoint) if paths.pipeline.exists() else None
        if epoch is not None:
            paths.lineage.stat()
        return None if epoch is None else (query_of_state(state), read_lineage(paths.lineage), epoch)

    # while it is swapped for another, as at the end of a rescale, its parts are nowhere for a moment
    if (found := read_again(paths, read)) is None:
        return None
    running, history, epoch = found
    files = name_files(udfs)
    before = compile_running(running, udfs=files, connections=connections)
    after = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    plan = compare(before, after, keep_state=wish.keep_state, reset=wish.reset, hold_back=wish.hold_back).with_starts(
        starts
    )
    if not plan.is_same:
        refuse_left_sinks(paths, after, history, epoch)
    return _shown(plan.with_figures(operator_figures(state, before)), before)


def check_sinks(
    state: Path,
    query: str,
    udfs: Sequence[str],
    saved: tuple[Lineage, int],
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> None:
    """Raise LeftSinkError if a query cannot continue with its sinks of a state from an epoch of a lineage that replaces
    its own."""
    from engine.checkpoints.layout import StatePaths  # noqa: PLC0415
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.spark.upgrade.left_sinks import refuse_left_sinks  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    files = name_files(udfs)
    program = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    refuse_left_sinks(StatePaths(state), program, *saved)


def plan_fork(
    savepoint: Path,
    query: str,
    udfs: Sequence[str],
    wish: Upgrade,
    starts: Mapping[str, StartPosition] = _NONE_SAID,
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> PlannedFork:
    """Compare a query with that of a savepoint from whose state a fork is to continue."""
    from engine.changes import hand_over as forks  # noqa: PLC0415
    from engine.checkpoints.running_query import compile_running, query_of_savepoint  # noqa: PLC0415
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.inspection.summary import operator_figures  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    files = name_files(udfs)
    before = compile_running(query_of_savepoint(savepoint), udfs=files, connections=connections)
    after = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    plan = forks.plan_fork(
        before, after, keep_state=wish.keep_state, reset=wish.reset, hold_back=wish.hold_back
    ).with_starts(starts)
    plan = plan.with_figures(operator_figures(savepoint, before))
    return PlannedFork(_shown(plan, before), tuple(forks.shared_places(before, after)))


def plan_hand_over(
    original: Path,
    copy: Path,
    query: str,
    udfs: Sequence[str],
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> tuple[ShownUpgrade, Sequence[str]]:
    """Compare a query with those of two states: it is to continue from that of the copy, with the sinks of the
    original. Return the plan, and remarks about changelog rows. Raise if the two cannot reach the same position."""
    from engine.changes import hand_over  # noqa: PLC0415
    from engine.checkpoints.running_query import compile_running, query_of_state  # noqa: PLC0415
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.inspection.summary import operator_figures  # noqa: PLC0415
    from engine.spark.upgrade.hand_over import unmet  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    files = name_files(udfs)
    before, apart = (
        compile_running(query_of_state(state), udfs=files, connections=connections) for state in (original, copy)
    )
    after = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    if missing := {*before.scans} ^ {*after.scans}:
        raise HandOverError(
            f"only one of the two reads {', '.join(sorted(missing))}, so they never reach the same position"
        )
    if strange := unmet(after):
        raise HandOverError(f"positions in {', '.join(strange)} have no order, so they cannot be compared")
    plan = hand_over.plan_hand_over(before, apart, after).with_figures(operator_figures(copy, apart))
    return _shown(plan, apart), tuple(hand_over.told_of_changes(after))


def _shown(plan: UpgradePlan, before: Program) -> ShownUpgrade:
    from engine.changes.show import show  # noqa: PLC0415
    from engine.control.upgrades.plan_query import objects_of  # noqa: PLC0415

    return ShownUpgrade(
        plan.id,
        before.fingerprint,
        plan.is_refused,
        plan.loses_nothing,
        show(plan),
        show(plan, "markdown"),
        show(plan, "json"),
        plan.repeated,
        plan.keeps_other_objects,
        objects_of(before),
    )
