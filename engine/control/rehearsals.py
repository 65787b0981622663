"""Decide whether a query can be rehearsed, and whether resources suffice."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import NothingToSaveError, RehearsalMemoryError, RehearsalRoomError
from engine.jobs.decisions.rollback import RehearsedChange
from engine.values.declared_settings import bytes_of_memory
from engine.values.run_settings import read_run_settings
from engine.values.start_positions import StartPosition


@dataclass(frozen=True, slots=True)
class RehearsalCheck:
    """Facts about a rehearsal before it runs: the upgrade plan, and the size of the state."""

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
    """Compare a query with that of the state or savepoint at a location, which is only read. Raise UpgradeRefusedError
    if it cannot take over the state, RehearsalError if the input cannot be read again, and NothingToSaveError if no
    epoch is committed. The compiler is imported late, so that the server starts sooner."""
    from engine.checkpoints.layout import StatePaths  # noqa: PLC0415
    from engine.checkpoints.manifest import NAME, read_manifest, size_of  # noqa: PLC0415
    from engine.checkpoints.running_query import RunningQuery, query_of_savepoint, query_of_state  # noqa: PLC0415
    from engine.checkpoints.spark_log import newest_commit  # noqa: PLC0415
    from engine.inspection.retry_reads import read_again  # noqa: PLC0415
    from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_against  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    paths = StatePaths(place)

    def read() -> tuple[RunningQuery, int]:
        epoch = newest_commit(paths.checkpoint) if paths.pipeline.exists() else None
        if epoch is None:
            raise NothingToSaveError(
                "the pipeline has not yet committed an epoch", hint="wait for its first epoch, then try again"
            )
        return query_of_state(place), size_of(paths.checkpoint, epoch)

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


_COPIES = 3
"""Copies of the state: the savepoint, and one per query."""


def free_bytes(folder: Path) -> int:
    """Return the bytes that are free on the disk of a directory."""
    return shutil.disk_usage(folder).free


def refuse_without_room(free: int, state_bytes: int, left_free: int) -> None:
    """Refuse a rehearsal if the copies of its state would leave too little disk space for the pipelines. The number of
    output rows is unknown, so their space is watched during the rehearsal."""
    needed = _COPIES * state_bytes + left_free
    if free < needed:
        raise RehearsalRoomError(
            f"{_mebibytes(free)} MiB are free on the disk of the control plane, and a rehearsal needs "
            f"{_mebibytes(needed)}; {_mebibytes(left_free)} of that are left to the pipelines",
            hint="free space on the disk, or set rehearsal.free_bytes lower",
        )


def refuse_without_memory(free: int | None, settings: Mapping[str, str]) -> None:
    """Refuse a rehearsal if a process with these settings could need more memory than is free; allow it if that is
    unknown."""
    needed = bytes_of_memory(read_run_settings({"memory": settings["memory"]} if "memory" in settings else {}).memory)
    if free is not None and free < needed:
        raise RehearsalMemoryError(
            f"{_mebibytes(free)} MiB of memory are free on the machine of the control plane, and Java may take "
            f"{_mebibytes(needed)} for a rehearsal",
            hint="try again when less runs there, or give the rehearsal less with the setting memory",
        )


def why_ended(free: int, left_free: int) -> RehearsalRoomError | None:
    """Return the reason to end a running rehearsal; None if it may continue."""
    if free >= left_free // 2:
        return None
    return RehearsalRoomError(
        f"only {_mebibytes(free)} MiB are left on the disk of the control plane, which the pipelines need",
        hint="free space on the disk, or rehearse from a newer savepoint, which has fewer rows behind it",
    )


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f}"
