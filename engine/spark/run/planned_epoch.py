"""An epoch, as sinks see it."""

from __future__ import annotations

from pathlib import Path

from engine.checkpoints.claim import Claim
from engine.connectors.base import Epoch
from engine.spark.read.offset_log import hash_offsets, read_settled


def planned_epoch(number: int, claim: Claim, checkpoint: Path, *, closes_windows: bool) -> Epoch:
    """Return the epoch of a number. It is read from files only, so a replay in another process gets the same."""
    settled = read_settled(checkpoint, number, closes_windows=closes_windows)
    has_before = (checkpoint / "offsets" / str(number - 1)).exists()
    before = read_settled(checkpoint, number - 1, closes_windows=closes_windows) if has_before else None
    return Epoch(
        number=number,
        lineage=claim.lineage,
        generation=claim.generation,
        offsets=hash_offsets(checkpoint, number),
        parents=claim.parents,
        watermark=settled.watermark,
        is_last=settled.is_last,
        watermark_before=before.watermark if before is not None else None,
    )
