"""Check whether a savepoint is older than the state that it would replace, so that input would be read again."""

from __future__ import annotations

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.manifest import SavepointManifest
from engine.errors import ReplayError


def is_restored(paths: StatePaths, manifest: SavepointManifest) -> bool:
    """Whether the state is that of the savepoint, put there by a restore, and has committed nothing since."""
    fingerprint = (read_json(paths.pipeline) or {}).get("fingerprint", "")
    return _stands_at(paths, manifest) and fingerprint == manifest.fingerprint


def _stands_at(paths: StatePaths, manifest: SavepointManifest) -> bool:
    """Whether the state has come from the savepoint's, and has committed nothing since, whatever its query is."""
    if spark_log.newest_commit(paths.checkpoint) != manifest.epoch:
        return False
    return read_lineage(paths.lineage).parents[:1] == ((manifest.lineage, manifest.epoch),)


def refuse_replay(paths: StatePaths, manifest: SavepointManifest) -> None:
    """Raise ReplayError when the state has gone on since the savepoint, or is of another history. One that has come
    from it and has committed nothing since is no other: who restores again after a crash repeats nothing, nor does who
    goes back from a query that has taken the state over and failed before its first epoch."""
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
