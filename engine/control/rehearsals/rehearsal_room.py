"""Room on the disk and in memory for rehearsals, which must not take that of the pipelines."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from engine.errors import RehearsalMemoryError, RehearsalRoomError
from engine.jobs.decisions.spec import bytes_of_memory, read_run_settings

_COPIES = 3
"""Of the state: the savepoint, and one for each of the two queries."""


def free_bytes(folder: Path) -> int:
    """The bytes that are free on the disk of a directory."""
    return shutil.disk_usage(folder).free


def refuse_without_room(free: int, state_bytes: int, left_free: int) -> None:
    """Refuse to begin where copies of so large a state would take of what is left to the pipelines. How many rows there
    will be nobody knows: that is watched meanwhile."""
    needed = _COPIES * state_bytes + left_free
    if free < needed:
        raise RehearsalRoomError(
            f"{_mebibytes(free)} MiB are free on the disk of the control plane, and a rehearsal needs "
            f"{_mebibytes(needed)}; {_mebibytes(left_free)} of that are left to the pipelines",
            hint="free space on the disk, or set rehearsal.free_bytes lower",
        )


def refuse_without_memory(free: int | None, settings: Mapping[str, str]) -> None:
    """Refuse to begin where a process with these settings could take memory that is not free; where it is not known
    how much is, nothing is refused."""
    needed = bytes_of_memory(read_run_settings({"memory": settings["memory"]} if "memory" in settings else {}).memory)
    if free is not None and free < needed:
        raise RehearsalMemoryError(
            f"{_mebibytes(free)} MiB of memory are free on the machine of the control plane, and Java may take "
            f"{_mebibytes(needed)} for a rehearsal",
            hint="try again when less runs there, or give the rehearsal less with the setting memory",
        )


def why_ended(free: int, left_free: int) -> RehearsalRoomError | None:
    """Why a rehearsal that is being played has to end; None as long as it may go on."""
    if free >= left_free // 2:
        return None
    return RehearsalRoomError(
        f"only {_mebibytes(free)} MiB are left on the disk of the control plane, which the pipelines need",
        hint="free space on the disk, or rehearse from a newer savepoint, which has fewer rows behind it",
    )


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f}"
