"""Manifest of a savepoint. It is written last: a directory without a manifest is no savepoint.

List the files of a checkpoint that belong to an epoch: the smallest set from which a query can start.

Epoch 41 of a store that has 40.zip, 41_aa.changelog, 41_bb.changelog, 42_aa.changelog and 43_aa.changelog needs:

    metadata, withheld.json, forms.json, panes.json, sources/*, offsets/40, offsets/41, commits/40, commits/41
    42_aa.changelog    version 42 is the result of epoch 41
    41_aa.changelog    commits/40 names the id aa; 41_bb is from a run that was killed
    40.zip             the newest older snapshot, and the SST files it names
    offsets/42         if it exists: the plan of the next epoch

This was determined by leaving files out one by one and restarting, with Spark 4.2 and state format 2
(docs/decisions/savepoints-are-copies-of-a-running-checkpoint.md):

- `metadata`, everything below `sources/`, `offsets` and `commits` of the epoch and the one before it;
- of every store the newest snapshot at or below version epoch + 1, the changelogs after it up to that version, and the
  `SSTs` that the snapshot names. The commit of epoch v - 1 has the ids of version v; files of that version with other
  ids are from a killed run;
- everything else below `state/` without a version in its name: operators and schemas.

Spark's `.crc` files may be left out. The plan of the next epoch (`offsets` alone) is included if it exists: sinks may
already have used its range and its watermark, and a restart repeats it exactly.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from engine.checkpoints.layout import read_json
from engine.checkpoints.spark_log import read_committed
from engine.checkpoints.state_files import StateFiles, state_files
from engine.checkpoints.state_pointer import read_pointer
from engine.delivery.durable import replace_durably
from engine.errors import DamagedSavepointError, SavepointNotFoundError, UnreadableStateError, message_of

NAME = "manifest.json"
VERSION = 1
_NEVER = frozenset({NAME, "sinks", "generation", "owner.json", "savepoints", "lock", "logs", "staging", "replaced"})
_NEVER |= {"intake"}
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
    """Write the manifest, which makes the savepoint exist."""
    replace_durably(folder / NAME, manifest_bytes(manifest))


def manifest_bytes(manifest: SavepointManifest) -> bytes:
    """Return the content of the manifest file."""
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
    """Parse a manifest from elsewhere; raise an error if it is invalid."""
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
    """Check that every file exists and has its recorded size; contents are not read."""
    for file in manifest.files:
        try:
            length = (folder / file.path).stat().st_size
        except FileNotFoundError as error:
            raise damaged(folder, f"{file.path} is missing") from error
        if length != file.bytes:
            raise damaged(folder, f"{file.path} has changed")


def damaged(folder: Path, fault: str) -> DamagedSavepointError:
    """Return the error of a savepoint that must not be used."""
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
    """Return a path that stays below the savepoint, whatever the manifest contains."""
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


WITHHELD = "withheld.json"
"""File with the suppressed aggregates (`withheld.py`)."""
FORMS = "forms.json"
"""File with the former aggregates of changed operators (`forms.py`)."""
PANES = "panes.json"
"""File with the operators whose state is stored by pane (`panes.py`)."""
_VERSIONED = re.compile(r"(\d+)(?:_([0-9a-f-]+))?\.(zip|changelog|delta|snapshot)$")


def files_of(checkpoint: Path, epoch: int, files: StateFiles | None = None) -> Iterator[Path]:
    """Yield the files of an epoch, relative to the checkpoint, wherever its state is. Raise FileNotFoundError if one
    vanishes meanwhile."""
    yield Path("metadata")
    yield from (Path(name) for name in (WITHHELD, FORMS, PANES) if (checkpoint / name).exists())
    for log in ("offsets", "commits"):
        yield from (Path(log) / str(number) for number in (epoch - 1, epoch) if number >= 0)
    yield from _below(checkpoint, Path("sources"))
    files = files or state_files(checkpoint)
    for store in _stores(files.sizes()):
        yield from _store_files(checkpoint, files, store, epoch)


def size_of(checkpoint: Path, epoch: int) -> int:
    """Return the size of the files of an epoch. Raise FileNotFoundError if one vanishes meanwhile."""
    files = state_files(checkpoint)
    sizes, needed = files.sizes(), files_of(checkpoint, epoch, files)
    return sum(sizes[path] if path in sizes else (checkpoint / path).stat().st_size for path in needed)


def plan_of_the_next(checkpoint: Path, epoch: int) -> Path | None:
    """Return the file of the next epoch if that is planned already, relative to the checkpoint. Call this last."""
    plan = Path("offsets") / str(epoch + 1)
    return plan if (checkpoint / plan).exists() else None


def has_state(checkpoint: Path) -> bool:
    """Whether the query keeps state from one epoch to the next."""
    return (checkpoint / "state").is_dir() or read_pointer(checkpoint) is not None


@dataclass(frozen=True, slots=True)
class _VersionFile:
    """A file of one version of a store, or one that leads to it. A version can have several, from different runs."""

    path: Path
    id: str | None
    is_snapshot: bool


def _store_files(checkpoint: Path, files: StateFiles, store: list[Path], epoch: int) -> Iterator[Path]:
    versions: dict[int, list[_VersionFile]] = {}
    for path in store:
        if match := _VERSIONED.match(path.name):
            file = _VersionFile(path, match[2], match[3] in {"zip", "snapshot"})
            versions.setdefault(int(match[1]), []).append(file)
        else:
            yield path
    for path in _needed(checkpoint, versions, epoch):
        yield path
        if path.suffix == ".zip":
            yield from _tables_of(path, files.read(path))


def _needed(checkpoint: Path, versions: dict[int, list[_VersionFile]], epoch: int) -> list[Path]:
    """Return the state files from the version of the epoch back to the newest snapshot of its lineage; all files if
    there is no snapshot."""
    needed: list[Path] = []
    for version in range(epoch + 1, 0, -1):
        history_files = _files_of_history(checkpoint, version, versions.get(version, []))
        snapshots = [file.path for file in history_files if file.is_snapshot]
        if snapshots:
            return [*needed, *snapshots]
        needed += [file.path for file in history_files]
    return needed


def _files_of_history(checkpoint: Path, version: int, files: list[_VersionFile]) -> list[_VersionFile]:
    """Return the files of a version that belong to the lineage of the checkpoint."""
    # Only where several runs have written the version must the commit log say which of them has committed it.
    ids = _ids_of(checkpoint, version) if len(files) > 1 else frozenset()
    return [file for file in files if not ids or file.id is None or file.id in ids]


def _ids_of(checkpoint: Path, version: int) -> frozenset[str]:
    try:
        return read_committed(checkpoint, version - 1).state_ids
    except FileNotFoundError:
        return frozenset()


def _tables_of(snapshot: Path, content: bytes) -> Iterator[Path]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        listing = json.loads(archive.read("metadata").decode().split("\n", 1)[1])
    for table in listing.get("sstFiles", ()):
        yield snapshot.parent / "SSTs" / table["dfsSstFileName"]
    for log in listing.get("logFiles", ()):
        yield snapshot.parent / "logs" / log["dfsLogFileName"]


def _stores(paths: Iterable[Path]) -> list[list[Path]]:
    """Return the files of every folder but those whose files a snapshot names."""
    stores: dict[Path, list[Path]] = {}
    for path in sorted(paths):
        if not _is_scratch(path) and not {"SSTs", "logs"} & set(path.parent.parts):
            stores.setdefault(path.parent, []).append(path)
    return [stores[folder] for folder in sorted(stores)]


def _below(checkpoint: Path, folder: Path) -> Iterator[Path]:
    for path in sorted((checkpoint / folder).rglob("*")):
        if path.is_file() and not _is_scratch(path):
            yield path.relative_to(checkpoint)


def _is_scratch(path: Path) -> bool:
    return path.name.startswith(".") or path.name.endswith((".crc", ".tmp"))
