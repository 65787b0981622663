"""What a savepoint says of itself. It is written last: a savepoint without a manifest does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.checkpoints.layout import read_json, write_json
from engine.errors import DamagedSavepointError, SavepointNotFoundError, UnreadableStateError

NAME = "manifest.json"
VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file of a savepoint; `path` is relative to it."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SavepointManifest:
    """A savepoint: the state of a pipeline after `epoch`. `watermark`, in microseconds, is that of its committed
    output, None when there was none yet; `parents` are the histories its own one came from, nearest first."""

    id: str
    label: str | None
    epoch: int
    watermark: int | None
    lineage: str
    parents: tuple[tuple[str, int], ...]
    parallelism: int
    fingerprint: str
    created_at: datetime
    files: tuple[SavedFile, ...]


def write_manifest(folder: Path, manifest: SavepointManifest) -> None:
    """Make the savepoint exist."""
    micros = (manifest.created_at - _EPOCH) // timedelta(microseconds=1)
    write_json(folder / NAME, {"version": VERSION, **asdict(manifest), "created_at": micros})


def read_manifest(folder: Path) -> SavepointManifest:
    """What a savepoint says of itself; refused when there is none or it makes no sense."""
    try:
        content = read_json(folder / NAME)
    except UnreadableStateError as error:
        raise damaged(folder, f"its {NAME} cannot be read") from error
    if content is None:
        raise SavepointNotFoundError(
            f"there is no savepoint in {folder}",
            hint="an unfinished savepoint has no manifest and cannot be used",
        )
    try:
        return _from_json(content)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder, f"{error} is missing from its {NAME} or makes no sense there") from error


def damaged(folder: Path, fault: str) -> DamagedSavepointError:
    """The error of a savepoint that must not be used."""
    return DamagedSavepointError(
        f"the savepoint {folder.name} is damaged: {fault}", hint="restore another savepoint; this one can be deleted"
    )


def _from_json(content: Mapping[str, object]) -> SavepointManifest:
    version, files, parents = content["version"], content["files"], content["parents"]
    if version != VERSION:
        raise ValueError(f"version {version}")
    if not isinstance(files, list) or not isinstance(parents, list):
        raise TypeError("files")
    label, watermark = content["label"], content["watermark"]
    return SavepointManifest(
        id=str(content["id"]),
        label=None if label is None else str(label),
        epoch=_whole(content["epoch"]),
        watermark=None if watermark is None else _whole(watermark),
        lineage=str(content["lineage"]),
        parents=tuple((str(lineage), _whole(epoch)) for lineage, epoch in parents),
        parallelism=_whole(content["parallelism"]),
        fingerprint=str(content["fingerprint"]),
        created_at=_EPOCH + timedelta(microseconds=_whole(content["created_at"])),
        files=tuple(SavedFile(str(file["path"]), _whole(file["bytes"]), str(file["sha256"])) for file in files),
    )


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(repr(value))
    return value
