"""Savepoints: copies of a checkpoint, taken while the query runs.

The newest committed epoch is 41, and 42 is planned. Savepoint `before-upgrade` is made in this order:

    watermarks/*                        the notes of readers, which the next epoch overwrites
    checkpoint/metadata, sources, state and offsets and commits of 40 and 41
    checkpoint/offsets/42               the plan, if it exists by now; sinks may already have used its range
    open_files/<sink>/*                 segments of files that the sinks have left open
    manifest.json                       with a digest of each file; without it there is no savepoint

Files of a checkpoint never change, so a copy is a hard link if the disk supports it. Spark deletes old files meanwhile,
but retains a hundred epochs; if a file disappears all the same, the next attempt begins with a newer epoch. If a
rescale replaces the state meanwhile, the copy would have parts of both: the next attempt copies the new one. See
docs/decisions/savepoints-are-copies-of-a-running-checkpoint.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from engine.checkpoints import manifest as contents
from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json, unreadable
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.manifest import Origin, SavedFile, SavepointManifest, damaged, read_manifest, write_manifest
from engine.checkpoints.state_files import link, state_files
from engine.checkpoints.swap import StatePoint, is_swapping
from engine.checkpoints.whole_state import lacking
from engine.delivery.durable import sync_directory
from engine.delivery.faults import reach
from engine.delivery.open_files import OPEN_FILES, open_files_of_sinks, saved_name, write_saved
from engine.errors import NothingToSaveError, SavepointError, UnreadableStateError

ATTEMPTS = 5
_SWAP_SECONDS = 0.05
"""First pause for a swap, which takes a few renames. It doubles with each attempt."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Request:
    """Request for a savepoint: its id, pipeline and reason. `versions` has the pipeline's versions by fingerprint,
    which determine the version that the state belongs to."""

    id: str
    label: str | None = None
    creator: str | None = None
    reason: str | None = None
    versions: Mapping[str, int] = field(default_factory=dict)


def take(state: Path, savepoint_id: str, *, label: str | None, clock: Callable[[], datetime]) -> SavepointManifest:
    """Save the newest committed epoch under an id and a label; see `take_requested`."""
    return take_requested(state, Request(savepoint_id, label), clock)


def take_requested(state: Path, request: Request, clock: Callable[[], datetime]) -> SavepointManifest:
    """Save the newest committed epoch; if there is a savepoint with this id already, return that. Needs no Spark, and
    does not disturb the run."""
    savepoint_id = request.id
    if not _ID.fullmatch(savepoint_id):
        raise ValueError(f"not a savepoint id: {savepoint_id!r}")
    paths = StatePaths(state)
    final = paths.savepoints / savepoint_id
    if final.exists():
        return read_manifest(final)
    _remove_drafts(paths.savepoints, savepoint_id)
    return _take(paths, final, request, clock)


def take_aside(state: Path, target: Path, clock: Callable[[], datetime]) -> SavepointManifest:
    """Save the newest committed epoch in a new folder anywhere; the state is only read, and may be in use."""
    return _take(StatePaths(state), target, Request(target.name), clock)


def _take(paths: StatePaths, final: Path, request: Request, clock: Callable[[], datetime]) -> SavepointManifest:
    draft = final.with_name(f".{final.name}.{os.getpid()}")
    problem = ""
    try:
        for attempt in range(ATTEMPTS):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            before = _identity(paths)
            try:
                return _save(paths, draft, final, request, clock, before)
            except FileNotFoundError as error:  # Spark has deleted an old file meanwhile, or a swap has moved it
                problem = f"{error.filename} was missing when it was to be copied"
            except _ReplacedError:
                problem = f"the state in {paths.root} was replaced while it was copied"
            if before is None or before != _identity(paths):
                time.sleep(_SWAP_SECONDS * 2**attempt)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    raise SavepointError(
        f"{problem}, {ATTEMPTS} times in a row",
        hint="try again; if the same file is missing each time, `arroyo state verify` says what else the state lacks",
    )


class _ReplacedError(Exception):
    """Another state has taken the place of the copied one."""


def _identity(paths: StatePaths) -> tuple[int, int] | None:
    """Return what tells a state from the one that replaces it; None during a swap, and before the first epoch. The
    replaced one is kept aside, so its number is not given to another folder."""
    try:
        found = paths.checkpoint.stat()
    except FileNotFoundError:
        return None
    return None if is_swapping(paths) else (found.st_dev, found.st_ino)


def _remove_drafts(folder: Path, savepoint_id: str) -> None:
    """Remove the drafts of this savepoint that killed processes have left."""
    for draft in folder.glob(f".{savepoint_id}.*"):
        shutil.rmtree(draft, ignore_errors=True)


def verify(savepoint: Path) -> SavepointManifest:
    """Read every file of a savepoint and compare it with the manifest. Raise DamagedSavepointError if one does not
    match, or if the state lacks what the epoch needs."""
    manifest = read_manifest(savepoint)
    for file in manifest.files:
        check_file(savepoint, file)
    if (fault := lacking(StatePaths(savepoint).checkpoint, manifest.epoch)) is not None:
        raise damaged(savepoint, fault)
    return manifest


def check_file(savepoint: Path, file: SavedFile) -> None:
    """Compare one file with its entry in the manifest."""
    try:
        actual = _describe(savepoint, Path(file.path))
    except FileNotFoundError as error:
        raise damaged(savepoint, f"{file.path} is missing") from error
    if actual != file:
        raise damaged(savepoint, f"{file.path} has changed")


def list_savepoints(state: Path) -> list[SavepointManifest]:
    """Return all savepoints, oldest first; unfinished and damaged ones are left out."""
    manifests: list[SavepointManifest] = []
    folder = StatePaths(state).savepoints
    for entry in folder.iterdir() if folder.is_dir() else ():
        try:
            manifests.append(read_manifest(entry))
        except SavepointError:
            continue
    return sorted(manifests, key=lambda manifest: (manifest.created_at, manifest.epoch, manifest.id))


def copy_epoch(paths: StatePaths, target: Path, epoch: int) -> list[Path]:
    """Copy the files of an epoch below `target`; return their paths. Raise FileNotFoundError if one vanishes
    meanwhile."""
    copied: list[Path] = []

    def copy(files: Iterable[Path]) -> None:
        for file in files:
            link(paths.root / file, target / file)
            copied.append(file)

    checkpoint = Path(paths.checkpoint.name)
    # Readers overwrite their notes in the next epoch. So the notes come first and the plan of the next epoch last: when
    # there is none even then, the notes are of this epoch.
    copy(file.relative_to(paths.root) for file in _notes(paths))
    of_state = state_files(paths.checkpoint)
    needed = list(contents.files_of(paths.checkpoint, epoch, of_state))
    in_state = [file for file in needed if file.parts[0] == "state"]
    copy(checkpoint / file for file in needed if file.parts[0] != "state")
    of_state.copy(in_state, target / checkpoint)
    copied.extend(checkpoint / file for file in in_state)
    copy(Path(name) for name in (paths.pipeline.name, paths.lineage.name))
    plan = contents.plan_of_the_next(paths.checkpoint, epoch)
    copy([checkpoint / plan] if plan else [])
    return copied


def copy_open_files(paths: StatePaths, target: Path, lineage: Lineage, epoch: int) -> list[Path]:
    """Copy the files that the sinks had open at an epoch of a lineage below `target`; return their paths. Raise
    FileNotFoundError if one vanishes meanwhile."""
    copied: list[Path] = []
    last_epochs = {**dict(lineage.parents), lineage.id: epoch}
    for saved in open_files_of_sinks(paths.sinks, lineage.id, last_epochs):
        folder = Path(OPEN_FILES) / saved.sink
        for number, segment in enumerate(saved.segments):
            link(segment, target / folder / saved_name(number))
            copied.append(folder / saved_name(number))
        copied.append(folder / write_saved(target / folder, saved.manifest))
    return copied


def committed_watermark(checkpoint: Path, epoch: int) -> int | None:
    """Return the instant, in microseconds, before which no row will be added to the output; None if it is unknown."""
    planned = spark_log.read_planned(checkpoint, epoch)
    if contents.has_state(checkpoint):
        return planned.watermark
    watermarks = [watermark for watermark in planned.source_watermarks if watermark is not None]
    # A source that has none yet may still bring rows of any age.
    return min(watermarks) if watermarks and len(watermarks) == len(planned.sources) else None


def _save(
    paths: StatePaths,
    draft: Path,
    final: Path,
    request: Request,
    clock: Callable[[], datetime],
    before: tuple[int, int] | None,
) -> SavepointManifest:
    if is_swapping(paths):
        raise _ReplacedError
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None:
        raise NothingToSaveError(
            "the pipeline has not yet committed an epoch", hint="wait for its first epoch, then try again"
        )
    planned = spark_log.read_planned(paths.checkpoint, epoch)
    try:
        copied = copy_epoch(paths, draft, epoch)
        _refuse_lacking_state(paths, draft, epoch)
        lineage = read_lineage(draft / paths.lineage.name)
        copied += copy_open_files(paths, draft, lineage, epoch)
        if before is None or before != _identity(paths):
            raise _ReplacedError
        files = tuple(_describe(draft, file) for file in sorted(copied))
    except (zipfile.BadZipFile, KeyError, IndexError, json.JSONDecodeError) as error:
        raise _unreadable_snapshot(paths) from error
    pipeline = read_json(draft / paths.pipeline.name) or {}
    fingerprint = str(pipeline.get("fingerprint", ""))
    manifest = SavepointManifest(
        id=request.id,
        label=request.label,
        epoch=epoch,
        watermark=committed_watermark(draft / paths.checkpoint.name, epoch),
        lineage=lineage.id,
        parents=lineage.parents,
        parallelism=planned.parallelism,
        fingerprint=fingerprint,
        created_at=clock(),
        files=files,
        sql=str(pipeline["sql"]) if "sql" in pipeline else None,
        offsets=planned.positions,
        operators=spark_log.operators_of(draft / paths.checkpoint.name),
        origin=Origin(request.versions.get(fingerprint), request.creator, request.reason),
    )
    for folder in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
        sync_directory(folder)
    reach(StatePoint.WHILE_COPYING)
    write_manifest(draft, manifest)
    draft.rename(final)
    sync_directory(final.parent)
    reach(StatePoint.AFTER_COPYING)
    return manifest


def _refuse_lacking_state(paths: StatePaths, draft: Path, epoch: int) -> None:
    """Raise UnreadableStateError if a partition of the copied state lacks the version of the epoch: executors on
    another disk have written it there."""
    if (fault := lacking(draft / paths.checkpoint.name, epoch)) is not None:
        raise UnreadableStateError(
            f"{paths.checkpoint / 'state'} is incomplete: {fault}", hint=unreadable(paths.checkpoint).hint
        )


def _notes(paths: StatePaths) -> list[Path]:
    if not paths.watermarks.is_dir():
        return []
    return sorted(path for path in paths.watermarks.rglob("*") if path.is_file() and path.suffix != ".tmp")


def _describe(root: Path, file: Path) -> SavedFile:
    """Return a file's length and digest, and make the file durable."""
    digest, length = hashlib.sha256(), 0
    with (root / file).open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
            length += len(chunk)
        os.fsync(content.fileno())
    return SavedFile(str(file), length, digest.hexdigest())


def _unreadable_snapshot(paths: StatePaths) -> UnreadableStateError:
    return unreadable(paths.checkpoint / "state")
