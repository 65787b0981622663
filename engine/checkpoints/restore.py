"""Replace a pipeline's state by a savepoint. The pipeline must not be running.

The state is at epoch 57 of lineage A, the savepoint is of A at epoch 41:

    check            every byte of the savepoint; refuse unless a replay is allowed: A has run 16 epochs since
    staging/         checkpoint, watermarks and open files of the savepoint, and lineage B, which descends from A at 41
    swap             old parts are moved to replaced/, new ones into their places, atomically
    the next run     plans epoch 42 of B; sinks find A's ledger and take back what A wrote after 41

Files are copied and not linked, so that disk damage in one does not affect the other
(docs/decisions/savepoints-are-copies-of-a-running-checkpoint.md).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.lineage import KEPT_PARENTS, Lineage, new_id, read_lineage, write_lineage
from engine.checkpoints.lineage_divergence import last_run
from engine.checkpoints.manifest import SavepointManifest
from engine.checkpoints.savepoints import Request, check_file, take_requested, verify
from engine.checkpoints.spark_log import newest_commit
from engine.checkpoints.swap import StatePoint, begin_swap, commit_swap, finish_swap
from engine.delivery.faults import reach
from engine.delivery.open_files import OPEN_FILES
from engine.errors import NothingToSaveError, ReplayError, UnreadableStateError
from engine.values.instants import now


def restore(
    savepoint: Path,
    state: Path,
    *,
    allow_replay: bool,
    save_as: str | None = None,
    is_fork: bool = False,
    new_lineage: Callable[[], str] = new_id,
) -> SavepointManifest:
    """Restore a savepoint into a state: the next run continues from it, in a new lineage that descends from the
    savepoint's. Sinks keep their files, and rewind if they can. A state with newer epochs needs `allow_replay`. With
    `save_as`, the current state is first saved under that id, unless it has nothing to save, cannot be read, or is the
    savepoint's already, after a restore that was interrupted. A fork has other sinks than the savepoint, so the files
    that these had open are not restored. A restore over an existing state continues with the sinks of that state."""
    paths = StatePaths(state)
    finish_swap(paths)
    manifest = verify(savepoint)
    if save_as is not None:
        with suppress(NothingToSaveError, UnreadableStateError):
            if not is_restored(paths, manifest):
                take_requested(state, Request(save_as, reason="rollback"), now)
    if not allow_replay:
        refuse_replay(paths, manifest)
    staging = begin_swap(paths)
    for file in manifest.files:
        if is_fork and Path(file.path).parts[0] == OPEN_FILES:
            continue
        target = staging / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(savepoint / file.path, target)
        check_file(staging, file)
        reach(StatePoint.WHILE_BUILDING)
    (staging / paths.watermarks.name).mkdir(exist_ok=True)
    lineage = Lineage(manifest.lineage, manifest.parents).forked_at(manifest.epoch, new_lineage())
    if is_fork:
        lineage = _going_on_with_sinks(lineage, paths, manifest)
    write_lineage(staging / paths.lineage.name, lineage, last_run=last_run(paths))
    commit_swap(paths)
    return manifest


def _going_on_with_sinks(lineage: Lineage, paths: StatePaths, manifest: SavepointManifest) -> Lineage:
    """Return the lineage as a descendant of the existing state's, if there is one: the sinks have taken epochs of that
    lineage only."""
    newest = newest_commit(paths.checkpoint)
    if newest is None:
        return lineage
    own = read_lineage(paths.lineage)
    if is_restored(paths, manifest):  # this was done before, and cut short
        return replace(lineage, parents=own.parents)
    return replace(lineage, parents=(*lineage.parents, (own.id, newest), *own.parents)[:KEPT_PARENTS])


def is_restored(paths: StatePaths, manifest: SavepointManifest) -> bool:
    """Whether the state was restored from the savepoint, and has committed nothing since."""
    fingerprint = (read_json(paths.pipeline) or {}).get("fingerprint", "")
    return _stands_at(paths, manifest) and fingerprint == manifest.fingerprint


def _stands_at(paths: StatePaths, manifest: SavepointManifest) -> bool:
    """Whether the state descends from the savepoint's, and has committed nothing since, whatever its query is."""
    if spark_log.newest_commit(paths.checkpoint) != manifest.epoch:
        return False
    return read_lineage(paths.lineage).parents[:1] == ((manifest.lineage, manifest.epoch),)


def refuse_replay(paths: StatePaths, manifest: SavepointManifest) -> None:
    """Raise ReplayError if the state has epochs after the savepoint, or has another lineage. A state that descends from
    the savepoint and has committed nothing since passes: restoring again after a crash repeats nothing, nor does
    reverting from a query that took over the state and failed before its first epoch."""
    newest = spark_log.newest_commit(paths.checkpoint)
    if newest is None:
        return
    if _stands_at(paths, manifest):
        return
    epochs = newest - manifest.epoch
    lineage = read_lineage(paths.lineage)
    if lineage.id != manifest.lineage:
        progress = "has begun another history"
    elif epochs > 0:
        progress = f"has committed {epochs} epoch{'s' if epochs > 1 else ''}"
    else:
        return
    raise ReplayError(
        f"the pipeline {progress} since savepoint {manifest.id}: it would read, and may write, that input again",
        hint="allow the replay, or restore a savepoint of the newest epoch",
        allowed_by="allow_replay",
    )
