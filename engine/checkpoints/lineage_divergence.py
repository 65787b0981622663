"""Check whether a savepoint is an ancestor of the current state, or on a lineage that was abandoned.

    lineage a   0 1 2 3 4
    lineage b             5 6 7 8        savepoint of b at 8
    lineage c             5 6 7 8        restored from a at 4

When c began, file sinks took back the output of b. Restoring b at 8 makes them take back the output of c as well, so
the output of 5 to 8 is lost. A savepoint of a or c is an ancestor, that of b is not. See
docs/decisions/a-rollback-goes-along-the-history-of-the-sinks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.checkpoints.layout import StatePaths, read_json, read_text
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.manifest import SavepointManifest
from engine.checkpoints.spark_log import newest_commit
from engine.checkpoints.swap import asides, is_swapping
from engine.errors import PipelineBusyError, SavepointGapError, UnreadableStateError


def is_behind(manifest: SavepointManifest, history: Lineage) -> bool:
    """Whether a lineage has all epochs that a savepoint counts as written."""
    return _parting(manifest, history) == manifest.epoch


def written_history(paths: StatePaths) -> Lineage:
    """Return the lineage that has written to the sinks last. A restored lineage without a run has rewound nothing yet:
    then it is the lineage that it has replaced."""
    current, newest_run = read_lineage(paths.lineage), last_run(paths)
    for root in (paths.root, *reversed(asides(paths))):
        content = read_json(StatePaths(root).lineage) or {}
        if content.get("last_run") != newest_run:
            return read_lineage(StatePaths(root).lineage)
    return current


def last_run(paths: StatePaths) -> str:
    """Return the generation of the newest run of a state, as recorded in its directory."""
    return read_text(paths.generation) if paths.generation.exists() else "0"


def refuse_gap(paths: StatePaths, manifest: SavepointManifest, sinks: Callable[[], Sequence[str]]) -> None:
    """Raise SavepointGapError if sinks have rewound rows that the savepoint counts as written; `sinks` names the sinks
    of its query that can rewind. A state that cannot be read passes, since a restore is the way to repair it."""
    if newest_commit(paths.checkpoint) is None:
        return
    try:
        history = written_history(paths)
    except UnreadableStateError:
        if is_swapping(paths):
            raise PipelineBusyError(
                f"the state in {paths.root} is being replaced", hint="send the request again in a moment"
            ) from None
        return
    if not is_behind(manifest, history) and (names := sinks()):
        raise _gap(manifest, _parting(manifest, history), names)


def _parting(manifest: SavepointManifest, history: Lineage) -> int | None:
    """Return the last epoch that both lineages have."""
    return history.left_at(Lineage(manifest.lineage, manifest.parents), manifest.epoch)


def _gap(manifest: SavepointManifest, parting: int | None, sinks: Sequence[str]) -> SavepointGapError:
    named = f"{', '.join(sinks)} {'takes' if len(sinks) == 1 else 'take'} back what a restore leaves"
    if parting is None:
        return SavepointGapError(
            f"savepoint {manifest.id} and the present state have no known common epoch: {named}, and may no longer "
            "have the rows that the savepoint counts as written",
            hint="fork the savepoint into other sinks, or restore a savepoint of the present history",
        )
    return SavepointGapError(
        f"savepoint {manifest.id} is of a history that was left after epoch {parting}: {named}, and so the rows of "
        f"epochs {parting + 1} to {manifest.epoch}, which the savepoint counts as written, would be in no output",
        hint=f"restore a savepoint of epoch {parting} or before, or one of the present history; or fork this one "
        "into other sinks",
    )
