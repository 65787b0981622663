"""The fence: a run that has been replaced writes nothing any more.

    generation file   what a driver of generation 3 meets at `check_fence`
    3                 nothing: it may write
    4                 SupersededError: while it was asleep or cut off, generation 4 has claimed the state

The newer run has raised the number before it wrote anything (`checkpoints/claim.py`). A look at the fence alone is not
enough, since a run may fall asleep right behind it: what follows must also be harmless when it comes too late, which
is why ledgers, manifests and output files are created under names that must be free
(docs/decisions/files-are-built-of-segments.md).
"""

from __future__ import annotations

from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.ledger import superseded


def state_of(sink_directory: Path) -> Path:
    """The state directory of the pipeline that a sink's own directory belongs to."""
    return sink_directory.parent.parent


def check_fence(sink_directory: Path, epoch: Epoch) -> None:
    """Raise `SupersededError` when a newer generation than the epoch's may write."""
    try:
        newest = int((state_of(sink_directory) / "generation").read_text().strip() or 0)
    except FileNotFoundError:
        return
    if newest > epoch.generation:
        raise superseded(newest, epoch.generation)
