"""Plan a reprocessing for the API, and check start positions before anything stops. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import BackfillError, MissingPackageError
from engine.jobs.decisions.spec import Upgrade
from engine.values.run_settings import read_run_settings
from engine.values.start_positions import StartPosition

if TYPE_CHECKING:
    from engine.compile import Program
    from engine.udf.declared import UdfFile


def changing_sinks(
    query: str, udfs: Sequence[str], connections: str = "", *, may_hold_secrets: bool = False
) -> Sequence[str]:
    """Return the tables whose rows a query updates. The compiler is imported late, too."""
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.plan.nodes import is_updating  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    program = compile_script(query, udfs=name_files(udfs), connections=connections, may_hold_secrets=may_hold_secrets)
    return sorted({write.table for write in program.writes if is_updating(write.input)})


def plan_reprocess(
    query: str,
    udfs: Sequence[str],
    settings: Mapping[str, str],
    connections: str = "",
    *,
    may_hold_secrets: bool = False,
) -> Sequence[str]:
    """Return where each sink writes; refuse if a table cannot be read again as the settings ask. Brokers and files are
    not asked: deleted input is found when the pipeline starts. The compiler is imported late, so that the server starts
    sooner."""
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.connectors.redirected import describe_redirected  # noqa: PLC0415
    from engine.spark.read.starts import counting_starts, histories_of  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415

    program = compile_script(query, udfs=name_files(udfs), connections=connections, may_hold_secrets=may_hold_secrets)
    read = read_run_settings(settings)
    for name, start in counting_starts(program, read.start_from, {}).items():
        if start.word == "latest":
            raise BackfillError(f"{name} is to begin at its end, where nothing is to be read again")
    with suppress(MissingPackageError):  # a server need not have what a driver reads with, which then says the same
        histories_of(program, read.backfill, {})
    return list(describe_redirected(program.without_prefix, program.declared))


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
