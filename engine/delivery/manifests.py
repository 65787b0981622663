"""Manifests: what an epoch publishes. The one that is created first decides."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.delivery.durable import create_durably, sync_directory
from engine.delivery.epoch import Epoch
from engine.delivery.gate import KEPT_ENTRIES, Admission
from engine.errors import OffsetsDifferError


@dataclass(frozen=True, slots=True)
class Published:
    """A file, by its name below the target directory, and the segments it is made of."""

    name: str
    rows: int
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of one epoch."""

    lineage: str
    epoch: int
    offsets: str
    generation: int
    files: tuple[Published, ...]


def decide_manifest(directory: Path, planned: Manifest) -> Manifest:
    """The manifest of an epoch: the planned one, or the one that was decided before."""
    path = _path(directory, planned.epoch, planned.lineage)
    if create_durably(path, json.dumps(asdict(planned), indent=1).encode()):
        return planned
    decided = _read(path)
    if decided.offsets != planned.offsets:
        raise OffsetsDifferError(
            f"epoch {planned.epoch} was decided over another range of input",
            hint="the checkpoint is damaged or belongs to another pipeline; restore a savepoint",
        )
    return decided


def abandoned(directory: Path, epoch: Epoch) -> list[Manifest]:
    """The manifests of histories that a restore has left: those of other lineages, but for what was taken over from
    the lineages before this one."""
    stays = dict(epoch.parents) | {epoch.lineage: sys.maxsize}
    left = [path for path in sorted(_folder(directory).glob("*.json")) if _epoch(path) > stays.get(_lineage(path), -1)]
    return [_read(path) for path in left]


def remove_manifest(directory: Path, manifest: Manifest) -> None:
    """Forget a manifest whose files are gone."""
    _path(directory, manifest.epoch, manifest.lineage).unlink(missing_ok=True)
    sync_directory(_folder(directory))


def forget_before(directory: Path, admission: Admission) -> None:
    """Drop manifests that are too old to be rewound to."""
    oldest = admission.epoch.number - KEPT_ENTRIES
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


def _read(path: Path) -> Manifest:
    raw = json.loads(path.read_bytes())
    files = tuple(Published(file["name"], file["rows"], tuple(file["segments"])) for file in raw.pop("files"))
    return Manifest(**raw, files=files)
