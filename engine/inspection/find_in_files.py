"""Find damage in our small files of a state directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json, read_text
from engine.checkpoints.lineage import read_lineage
from engine.errors import EngineError
from engine.inspection.attempts import attempt
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.damage import Damage, Kind


def state_file_damage(paths: StatePaths) -> Iterator[Damage]:
    """Yield the damage of a state's own records, and of the readers' notes."""
    has_begun = bool(spark_log.numbers(paths.checkpoint / "offsets"))
    for kind, path, read in (
        (Kind.QUERY, paths.pipeline, _query),
        (Kind.LINEAGE, paths.lineage, read_lineage),
        (Kind.GENERATION, paths.generation, _generation),
        (Kind.OWNER, paths.owner, _owner),
    ):
        # directories of earlier versions have no owner, and those that were never run nothing at all
        if path.exists() or (has_begun and path != paths.owner):
            yield from attempt(kind, path, read)
    yield from note_damage(paths.watermarks)
    yield from _width_damage(paths)


def note_damage(folder: Path) -> Iterator[Damage]:
    """Yield the damage of readers' notes, which have no checksums."""
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else ():
        yield from attempt(Kind.NOTE, path, _note)


def _query(path: Path) -> None:
    match read_json(path):
        case None:
            raise FileNotFoundError(2, "missing", str(path))
        case {"name": str(), "sql": str(), "fingerprint": str(), "parallelism": int()}:
            return
    raise NotAsWrittenError("does not say which query the state is of")


def _generation(path: Path) -> None:
    if not read_text(path).isdigit():
        raise NotAsWrittenError("is no number")


def _owner(path: Path) -> None:
    content = read_json(path)
    if content is None or not isinstance(content.get("owner"), str):
        raise NotAsWrittenError("names no owner")


def _note(path: Path) -> None:
    if not isinstance(json.loads(path.read_bytes()), dict):
        raise NotAsWrittenError("is no note")


def _width_damage(paths: StatePaths) -> Iterator[Damage]:
    """A state is as wide as its newest epoch says, and so it is recorded."""
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None or not (paths.checkpoint / "state").is_dir():
        return
    try:
        recorded = (read_json(paths.pipeline) or {}).get("parallelism")
        width = spark_log.read_planned(paths.checkpoint, epoch).parallelism
    except (OSError, EngineError):
        return  # that is found elsewhere
    if isinstance(recorded, int) and recorded != width:
        yield Damage(Kind.WIDTH, paths.pipeline, f"says {recorded} parts, and the state has {width}")
