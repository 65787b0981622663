"""Find damage in a savepoint: its files compared with its manifest, and its manifest with the files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from engine.checkpoints import contents, spark_log
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.manifest import NAME, SavedFile, SavepointManifest, read_manifest
from engine.checkpoints.savepoints import committed_watermark
from engine.inspection.attempts import attempt
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.damage import Damage, Kind
from engine.inspection.find_in_checkpoint import checkpoint_damage


def savepoint_damage(savepoint: Path) -> list[Damage]:
    """Return the damage of a savepoint; every byte is read."""
    manifests: list[SavepointManifest] = []

    def read(path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(2, "missing", str(path))
        manifests.append(read_manifest(savepoint))

    path = savepoint / NAME
    damages = list(attempt(Kind.SAVEPOINT, path, read))
    for manifest in manifests:
        for file in manifest.files:
            damages += attempt(Kind.SAVEPOINT_FILE, savepoint / file.path, lambda path, file=file: _compare(path, file))  # type: ignore[misc]
        if not damages:
            damages += attempt(Kind.SAVEPOINT, path, lambda _: _check_sayings(savepoint, manifest))  # noqa: B023
        if not damages:
            damages += checkpoint_damage(StatePaths(savepoint).checkpoint)
    return damages


def _compare(path: Path, file: SavedFile) -> None:
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
            length += len(chunk)
    if length != file.bytes or digest.hexdigest() != file.sha256:
        raise NotAsWrittenError("has changed")


def _check_sayings(savepoint: Path, manifest: SavepointManifest) -> None:
    """Whether the manifest says of the savepoint what its files say, and names all of them that are needed."""
    paths = StatePaths(savepoint)
    if savepoint.absolute().parent.name == "savepoints" and manifest.id != savepoint.name:
        raise NotAsWrittenError(f"is that of another savepoint, {manifest.id}")
    if manifest.epoch != spark_log.newest_commit(paths.checkpoint):
        raise NotAsWrittenError(f"says epoch {manifest.epoch}, and its files are of another one")
    planned = spark_log.read_planned(paths.checkpoint, manifest.epoch)
    lineage, recorded = read_lineage(paths.lineage), read_json(paths.pipeline) or {}
    says = {
        "lineage": (manifest.lineage, lineage.id),
        "parents": (manifest.parents, lineage.parents),
        "parallelism": (manifest.parallelism, planned.parallelism),
        "fingerprint": (manifest.fingerprint, str(recorded.get("fingerprint", ""))),
        "watermark": (manifest.watermark, committed_watermark(paths.checkpoint, manifest.epoch)),
        "sql": (manifest.sql, manifest.sql and recorded.get("sql")),
        "offsets": (manifest.offsets, manifest.offsets and planned.positions),
    }
    for name, (said, is_so) in says.items():
        if said != is_so:
            raise NotAsWrittenError(f"says another {name} than its files do")
    named = {file.path for file in manifest.files}
    unnamed = next(_needed(paths, manifest.epoch, named), None)
    if unnamed is not None:
        raise NotAsWrittenError(f"does not name {unnamed}, which is needed")


def _needed(paths: StatePaths, epoch: int, named: set[str]) -> Iterator[Path]:
    for file in contents.files_of(paths.checkpoint, epoch):
        path = Path(paths.checkpoint.name) / file
        if str(path) not in named:
            yield path
