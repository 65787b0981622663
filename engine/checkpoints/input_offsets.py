"""Read the end positions of an epoch's input from Spark's offset log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.spark_log import read_planned
from engine.errors import UnreadableStateError


def offsets_of_epoch(state: Path, lineage: str | None, epoch: int | None) -> Mapping[str, object] | None:
    """The position in each partition of each source table at the end of an epoch. None when the state directory has it
    no more: it keeps the newest hundred epochs, of one history."""
    paths = StatePaths(state)
    if epoch is None:
        return None
    try:
        offsets = read_planned(paths.checkpoint, epoch).positions
        # asked last: a state that was swapped meanwhile has epochs of the same numbers
        return offsets if read_lineage(paths.lineage).id == lineage else None
    except (OSError, UnreadableStateError):
        return None
