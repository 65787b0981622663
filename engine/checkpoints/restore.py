"""Putting a savepoint in the place of a pipeline's state. The pipeline must not be running."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, new_id, read_lineage, write_lineage
from engine.checkpoints.manifest import SavepointManifest
from engine.checkpoints.savepoints import check_file, verify
from engine.checkpoints.swap import begin_swap, commit_swap, finish_swap
from engine.errors import ReplayError


def restore(
    savepoint: Path, state: Path, *, allow_replay: bool, new_lineage: Callable[[], str] = new_id
) -> SavepointManifest:
    """The next run goes on from the savepoint, in a new history that remembers the old one; sinks keep what they have
    and rewind to it where they can. A state that has gone on since then needs `allow_replay`."""
    paths = StatePaths(state)
    finish_swap(paths)
    manifest = verify(savepoint)
    if not allow_replay:
        _refuse_replay(paths, manifest)
    staging = begin_swap(paths)
    for file in manifest.files:
        target = staging / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(savepoint / file.path, target)
        check_file(staging, file)
    (staging / paths.watermarks.name).mkdir(exist_ok=True)
    lineage = Lineage(manifest.lineage, manifest.parents).forked_at(manifest.epoch, new_lineage())
    write_lineage(staging / paths.lineage.name, lineage)
    commit_swap(paths)
    return manifest


def _refuse_replay(paths: StatePaths, manifest: SavepointManifest) -> None:
    newest = spark_log.newest_commit(paths.checkpoint)
    if newest is None:
        return
    here = read_lineage(paths.lineage)
    if here.id != manifest.lineage:
        gone_on = "has another history by now"
    elif newest > manifest.epoch:
        gone_on = f"has committed {newest - manifest.epoch} epochs since then"
    else:
        return
    raise ReplayError(
        f"the pipeline {gone_on}: after restoring {manifest.id} their input is read, and may be written, once more",
        hint="allow the replay, or restore a savepoint of the newest epoch",
    )
