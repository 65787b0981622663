"""The fence: a run that has been replaced writes nothing any more."""

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
