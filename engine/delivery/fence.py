"""Fence: a run that has been replaced must not write.

    generation file   `check_fence` in a driver of generation 3
    3                 returns: it may write
    4                 SupersededError: while it was paused or disconnected, generation 4 has claimed the state

The newer run has raised the number before it wrote anything (`checkpoints/claim.py`). The check alone is not enough,
since a run may pause right after it. So later steps must be harmless if they come too late: ledgers, manifests and
output files are created under names that must be free (docs/decisions/files-are-built-of-segments.md).
"""

from __future__ import annotations

from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.ledger import superseded
from engine.delivery.mirrored import look_for_successor


def state_of(sink_directory: Path) -> Path:
    """Return the state directory of the pipeline that a sink's own directory belongs to."""
    return sink_directory.parent.parent


def check_fence(sink_directory: Path, epoch: Epoch) -> None:
    """Raise `SupersededError` if a newer generation than the epoch's may write, or another run has the state."""
    look_for_successor(sink_directory)
    try:
        newest = int((state_of(sink_directory) / "generation").read_text().strip() or 0)
    except FileNotFoundError:
        return
    if newest > epoch.generation:
        raise superseded(newest, epoch.generation)
