"""Manifests: the files that an epoch publishes, and the open ones. The first manifest of an epoch decides.

manifests/000000000007-B.json, with short names for segments:

    files       us/7-x.json made of s1, s4           published now
    open        eu: s3, rows since 12:00             published by a later epoch
    incomplete  day=1                                has no _SUCCESS yet

Driver P creates it. Driver Q, which also runs epoch 7, fails to create it and reads it instead. So Q publishes what P
has decided, even if Q's clock, file names or rows differ. A run after a crash does the same. See
docs/decisions/files-are-built-of-segments.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.delivery.durable import create_durably, sync_directory
from engine.delivery.epoch import Epoch
from engine.delivery.file_ledger import KEPT_ENTRIES, WritePermit
from engine.delivery.rolling import OpenFile, TimeDirectory
from engine.delivery.segments import Segment
from engine.errors import LedgerLostError, OffsetsDifferError, message_of


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file, by its name relative to the target directory, and its segments; without segments it is empty."""

    name: str
    rows: int
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EpochManifest:
    """All files of one epoch; the files that are open after it, and the directories that are not yet complete."""

    lineage: str
    epoch: int
    offsets: str
    generation: int
    files: tuple[PublishedFile, ...]
    open: tuple[OpenFile, ...] = ()
    incomplete: tuple[TimeDirectory, ...] = ()

    @property
    def needed(self) -> frozenset[str]:
        """Return the segments of the open files."""
        return frozenset(segment.path for file in self.open for segment in file.segments)


def decide_manifest(directory: Path, planned: EpochManifest) -> EpochManifest:
    """Return the manifest of an epoch: the one that was decided before, or else the planned one."""
    path = _path(directory, planned.epoch, planned.lineage)
    if write_manifest_file(path, planned):
        return planned
    decided = read_manifest_file(path)
    if decided.offsets != planned.offsets:
        raise OffsetsDifferError(
            f"epoch {planned.epoch} was decided with another range of the input",
            hint="the checkpoint is damaged or belongs to another pipeline; restore a savepoint",
        )
    return decided


def find_manifest(directory: Path, lineage: str, epoch: int) -> EpochManifest | None:
    """Return the manifest of an epoch, None if there is none."""
    path = _path(directory, epoch, lineage)
    return read_manifest_file(path) if path.exists() else None


def abandoned_manifests(directory: Path, epoch: Epoch) -> list[EpochManifest]:
    """Return the manifests of lineages that a restore has abandoned: those of other lineages, except for epochs that
    were taken over from ancestors of this one."""
    last_inherited = dict(epoch.parents) | {epoch.lineage: sys.maxsize}
    paths = sorted(_folder(directory).glob("*.json"))
    abandoned = [path for path in paths if _epoch(path) > last_inherited.get(_lineage(path), -1)]
    return [read_manifest_file(path) for path in abandoned]


def remove_manifest(directory: Path, manifest: EpochManifest) -> None:
    """Delete a manifest whose files are gone."""
    _path(directory, manifest.epoch, manifest.lineage).unlink(missing_ok=True)
    sync_directory(_folder(directory))


def forget_before(directory: Path, permit: WritePermit) -> None:
    """Delete manifests that are too old for a rewind."""
    oldest = permit.epoch.number - KEPT_ENTRIES
    for path in _folder(directory).glob("*.json"):
        if _epoch(path) < oldest:
            path.unlink()


def _folder(directory: Path) -> Path:
    return directory / "manifests"


def _path(directory: Path, epoch: int, lineage: str) -> Path:
    return _folder(directory) / f"{epoch:012d}-{lineage}.json"


def _epoch(path: Path) -> int:
    return int(path.name.split("-", 1)[0])


def _lineage(path: Path) -> str:
    return path.stem.split("-", 1)[1]


def write_manifest_file(path: Path, manifest: EpochManifest) -> bool:
    """Create a file with a manifest; return False if it exists already."""
    return create_durably(path, json.dumps(asdict(manifest), indent=1).encode())


def read_manifest_file(path: Path) -> EpochManifest:
    """Return the manifest in a file; raise an error if it is damaged."""
    try:
        raw = json.loads(path.read_bytes())
        files = tuple(PublishedFile(**{**file, "segments": tuple(file["segments"])}) for file in raw.pop("files"))
        open_files = tuple(_open_file(file) for file in raw.pop("open", ()))
        incomplete = tuple(TimeDirectory(**folder) for folder in raw.pop("incomplete", ()))
        return EpochManifest(**raw, files=files, open=open_files, incomplete=incomplete)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerLostError(
            f"the manifest {path} cannot be read: {message_of(error)}",
            hint="put the pipeline's sinks directory back from a copy, or start with a fresh state directory",
        ) from error


def _open_file(raw: dict[str, Any]) -> OpenFile:
    return OpenFile(**{**raw, "segments": tuple(Segment(**segment) for segment in raw["segments"])})
