"""Whether a query can be rehearsed in the place of another one, found out before anything is played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import NothingToSaveError
from engine.jobs.decisions.rehearsal import RehearsedChange
from engine.values.start_positions import StartPosition


@dataclass(frozen=True, slots=True)
class RehearsalCheck:
    """What is known of a rehearsal beforehand: the plan by which the state is carried over, and how large that is."""

    plan_id: str
    state_bytes: int


def check_rehearsal(
    place: Path,
    change: RehearsedChange,
    starts: Mapping[str, StartPosition],
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> RehearsalCheck:
    """Compare a query with that of the state or savepoint at a place, which is only looked at. Raises
    UpgradeRefusedError when it cannot take it over, RehearsalError when the input cannot be read again, and
    NothingToSaveError when no epoch is committed. The compiler is loaded late: the server is there sooner."""
    from engine.checkpoints import contents  # noqa: PLC0415
    from engine.checkpoints.layout import StatePaths  # noqa: PLC0415
    from engine.checkpoints.manifest import NAME, read_manifest  # noqa: PLC0415
    from engine.checkpoints.running_query import RunningQuery, query_of_savepoint, query_of_state  # noqa: PLC0415
    from engine.checkpoints.spark_log import newest_commit  # noqa: PLC0415
    from engine.inspection.reading_again import read_again  # noqa: PLC0415
    from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_against  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    paths = StatePaths(place)

    def read() -> tuple[RunningQuery, int]:
        epoch = newest_commit(paths.checkpoint) if paths.pipeline.exists() else None
        if epoch is None:
            raise NothingToSaveError(
                "the pipeline has not yet committed an epoch", hint="wait for its first epoch, then try again"
            )
        files = contents.files_of(paths.checkpoint, epoch)
        return query_of_state(place), sum((paths.checkpoint / file).stat().st_size for file in files)

    if (place / NAME).exists():
        running, size = query_of_savepoint(place), sum(file.bytes for file in read_manifest(place).files)
    else:
        running, size = read_again(paths, read)
    spec = RehearsalSpec(
        place,
        change.query,
        udfs=name_files(change.udfs),
        old_udfs=name_files(change.old_udfs),
        connections=connections,
        keep_state=change.keep_state,
        reset=change.reset,
        hold_back=change.hold_back,
        start_from=starts,
        may_hold_secrets=may_hold_secrets,
    )
    return RehearsalCheck(plan_against(running, spec).plan.id, size)
