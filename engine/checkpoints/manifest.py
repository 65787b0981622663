"""Manifest of a savepoint. It is written last: a directory without a manifest is no savepoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from engine.checkpoints.layout import read_json
from engine.delivery.durable import replace_durably
from engine.errors import DamagedSavepointError, SavepointNotFoundError, UnreadableStateError, message_of

NAME = "manifest.json"
VERSION = 1
_NEVER = frozenset({NAME, "sinks", "generation", "owner.json", "savepoints", "lock", "logs", "staging", "replaced"})
"""Parts of a state directory that no manifest may list, since a restore would overwrite them."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file of a savepoint; `path` is relative to it."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Pipeline and reason of a savepoint, as far as known. `version` is the number of the pipeline version that the
    state belongs to."""

    version: int | None = None
    creator: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SavepointManifest:
    """A savepoint: the state of a pipeline after `epoch`. `watermark` (microseconds) is that of its committed output,
    None if there was none yet; `parents` are the ancestors of its lineage, nearest first. `sql` is the script,
    `offsets` the positions of each source table, `operators` the names of stateful operators; None or empty in
    savepoints of earlier versions."""

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
    sql: str | None = None
    offsets: Mapping[str, object] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    origin: Origin = Origin()


def write_manifest(folder: Path, manifest: SavepointManifest) -> None:
    """Make the savepoint exist."""
    replace_durably(folder / NAME, manifest_bytes(manifest))


def manifest_bytes(manifest: SavepointManifest) -> bytes:
    """The content of its file."""
    micros = (manifest.created_at - _EPOCH) // timedelta(microseconds=1)
    return json.dumps({"version": VERSION, **asdict(manifest), "created_at": micros}, indent=1).encode()


def read_manifest(folder: Path) -> SavepointManifest:
    """Read the manifest of a savepoint; refuse one that is missing or makes no sense."""
    try:
        content = read_json(folder / NAME)
    except UnreadableStateError as error:
        raise damaged(folder, f"its {NAME} cannot be read") from error
    if content is None:
        raise SavepointNotFoundError(
            f"there is no savepoint in {folder}",
            hint="an unfinished savepoint has no manifest and cannot be used",
        )
    return _read(folder, content)


def parse_manifest(folder: Path, content: bytes) -> SavepointManifest:
    """The manifest that a file from elsewhere is; refused when it is none."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"its {NAME} cannot be read") from error
    if not isinstance(parsed, dict):
        raise damaged(folder, f"its {NAME} is none of this engine's")
    return _read(folder, parsed)


def _read(folder: Path, content: Mapping[str, object]) -> SavepointManifest:
    try:
        return _from_json(content)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged(folder, f"{message_of(error)} is missing from its {NAME} or makes no sense there") from error


def check_files(folder: Path, manifest: SavepointManifest) -> None:
    """See that every file is there and as long as it was; what is in it is not read."""
    for file in manifest.files:
        try:
            length = (folder / file.path).stat().st_size
        except FileNotFoundError as error:
            raise damaged(folder, f"{file.path} is missing") from error
        if length != file.bytes:
            raise damaged(folder, f"{file.path} has changed")


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
    offsets, operators = content.get("offsets", {}), content.get("operators", [])
    if not isinstance(offsets, dict) or not isinstance(operators, list):
        raise TypeError("offsets")
    label, watermark = content["label"], content["watermark"]
    return SavepointManifest(
        id=str(content["id"]),
        label=_text(label),
        epoch=_whole(content["epoch"]),
        watermark=None if watermark is None else _whole(watermark),
        lineage=str(content["lineage"]),
        parents=tuple((str(lineage), _whole(epoch)) for lineage, epoch in parents),
        parallelism=_whole(content["parallelism"]),
        fingerprint=str(content["fingerprint"]),
        created_at=_EPOCH + timedelta(microseconds=_whole(content["created_at"])),
        files=tuple(SavedFile(_inner(file["path"]), _size(file["bytes"]), str(file["sha256"])) for file in files),
        sql=_text(content.get("sql")),
        offsets=offsets,
        operators=tuple(map(str, operators)),
        origin=_origin(content.get("origin", {})),
    )


def _origin(content: object) -> Origin:
    if not isinstance(content, dict):
        raise TypeError("origin")
    version = content.get("version")
    number = None if version is None else _whole(version)
    return Origin(number, _text(content.get("creator")), _text(content.get("reason")))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _inner(value: object) -> str:
    """A path that stays below the savepoint, whoever has written the manifest."""
    path = PurePosixPath(str(value))
    if (
        value in ("", ".")
        or str(path) != value
        or path.is_absolute()
        or "\0" in str(value)
        or {"..", "."} & set(path.parts)
    ):
        raise ValueError(f"file {value!r}")
    if path.parts[0] in _NEVER or path.parts[0].startswith("."):
        raise ValueError(f"file {value!r}")
    return str(path)


def _size(value: object) -> int:
    if (size := _whole(value)) < 0:
        raise ValueError(f"bytes {size}")
    return size


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(repr(value))
    return value
