"""Read Spark's offset log: where the input of an epoch ends, and how far its output is final.

    offsets/7    line 1 the version, line 2 Spark's watermark, then what each source planned for epoch 7, as JSON
    settled      Spark's watermark if windows close; else the smallest promise of all sources after epoch 7
    hash         of the sources' lines: two runs of epoch 7 read the same rows if and only if it is equal

See docs/decisions/watermarks-travel-in-offsets.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.spark_log import PlannedEpoch, read_planned
from engine.spark.read.planner import Offset
from engine.spark.read.watermarks import END_OF_TIME


@dataclass(frozen=True, slots=True)
class Settled:
    """Limit up to which an epoch makes its output final: no row before `watermark` (microseconds) follows, and none at
    all if it `is_last`. None means not known yet."""

    watermark: int | None
    is_last: bool


def hash_offsets(checkpoint: Path, epoch: int) -> str:
    """Return a short hash of the end of every source in an epoch. The log's own version and metadata lines are
    excluded: they contain the time of day."""
    lines = (checkpoint / "offsets" / str(epoch)).read_text().splitlines()[2:]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read_settled(checkpoint: Path, epoch: int, *, closes_windows: bool) -> Settled:
    """Return the instant up to which a planned epoch will settle its output. A replay returns the same."""
    planned = read_planned(checkpoint, epoch)
    ends = _ends(planned)
    marks = [end.promise for end in ends if end.promise is not None]
    least = min(marks) if marks and len(marks) == len(planned.sources) else None
    watermark = planned.watermark if closes_windows else least
    return Settled(watermark, watermark == END_OF_TIME and least == END_OF_TIME)


def read_ends(checkpoint: Path, epoch: int) -> list[Offset]:
    """Return the ends of the source tables in a planned epoch."""
    return _ends(read_planned(checkpoint, epoch))


def planned_for(checkpoint: Path, epoch: int, ends: Sequence[Offset]) -> list[Offset]:
    """Return the ends that were planned for this epoch. A table that was not planned keeps its end, and its slices
    belong to an earlier epoch."""
    if not (checkpoint / "offsets" / str(epoch - 1)).exists():
        return list(ends)
    before = {end.table: end.sequence for end in read_ends(checkpoint, epoch - 1)}
    return [end for end in ends if end.sequence != before.get(end.table)]


def _ends(planned: PlannedEpoch) -> list[Offset]:
    return [end for end in map(_offset, planned.sources) if end is not None]


def _offset(line: str) -> Offset | None:
    content: object = line
    while isinstance(content, str) and content != "-":
        content = json.loads(content)
    return Offset.from_json(content) if isinstance(content, dict) else None
