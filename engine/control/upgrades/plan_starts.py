"""Check before anything stops whether a run would refuse its start positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.jobs.decisions.spec import Upgrade
from engine.values.start_positions import StartPosition

if TYPE_CHECKING:
    from engine.compile import Program
    from engine.udf.declared import UdfFile


def check_starts(
    place: Path | None,
    query: str,
    udfs: Sequence[str],
    starts: Mapping[str, StartPosition],
    wish: Upgrade,
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> None:
    """Raise StartPositionError for a position that would be ignored, or that its table does not have, for a query that
    continues from the state or savepoint at a location, or starts empty. The compiler is imported late, so that the
    server starts sooner."""
    from engine.spark.read.starts import begun_for, counting_starts  # noqa: PLC0415

    if not starts:
        return
    program, files = _compiled(query, udfs, connections, may_hold_secrets=may_hold_secrets)
    begun = {} if place is None else begun_for(place, program, wish.reset, files, connections)
    counting_starts(program, starts, begun)


def check_redone(
    savepoint: Path,
    query: str,
    udfs: Sequence[str],
    starts: Mapping[str, StartPosition],
    wish: Upgrade,
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> None:
    """Raise StartPositionError if a query that takes over a savepoint again would start to read a table elsewhere than
    the first time."""
    from engine.spark.read.starts import begun_for, refuse_moved_starts  # noqa: PLC0415

    program, files = _compiled(query, udfs, connections, may_hold_secrets=may_hold_secrets)
    refuse_moved_starts(program, starts, begun_for(savepoint, program, wish.reset, files, connections))


def _compiled(
    query: str, udfs: Sequence[str], connections: str, *, may_hold_secrets: bool
) -> tuple[Program, tuple[UdfFile, ...]]:
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    files = name_files(udfs)
    return compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets), files
