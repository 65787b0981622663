"""Files with the late rows of an epoch, stored until the control plane has them. An epoch's report is lost if its
process dies, but users of completed time buckets must learn of each row that arrives later.

    epoch 7     writes rows of 03:12 and 03:40 into the table of late rows; late/7 is written before the commit
    epoch 7     is committed; the driver is killed
    next run    finds late/7, and sends it in its first report              acknowledged: late/7 is removed

Times are whole minutes since 1970, in half-open ranges. If an epoch was not committed, its file is written again when
the epoch is run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_json, write_json
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.spark_log import newest_commit

Stretch = tuple[int, int]
"""A half-open range of minutes."""
MOST_STRETCHES = 1000
"""Largest number of separate ranges. If there are more, the closest ones are merged."""


@dataclass(frozen=True, slots=True)
class LateBatch:
    """Minutes of the late rows of an epoch, for each sink that would have had them, or that stores them."""

    lineage: str
    epoch: int
    sinks: Mapping[str, Sequence[Stretch]]


def stretches(minutes: Iterable[int], most: int = MOST_STRETCHES) -> Sequence[Stretch]:
    """Minutes as stretches, in order."""
    return joined(((minute, minute + 1) for minute in minutes), most)


def joined(parts: Iterable[Stretch], most: int = MOST_STRETCHES) -> Sequence[Stretch]:
    """All that some stretches hold, as stretches, in order."""
    found: list[Stretch] = []
    for begin, end in sorted(parts):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    if len(found) <= most:
        return found
    gaps = sorted(range(1, len(found)), key=lambda index: found[index][0] - found[index - 1][1], reverse=True)
    cuts = [0, *sorted(gaps[: most - 1]), len(found)]
    return [(found[begin][0], found[end - 1][1]) for begin, end in pairwise(cuts)]


def keep(paths: StatePaths, batch: LateBatch) -> None:
    """Keep what came late in an epoch, before that is committed."""
    content: dict[str, object] = {"lineage": batch.lineage, "sinks": batch.sinks}
    write_json(_file(paths, batch.epoch), content)


def untold(paths: StatePaths) -> Sequence[LateBatch]:
    """Return the late rows of committed epochs that were not reported, oldest first, for the state's current lineage.
    Batches of other epochs are deleted."""
    folder = paths.late
    if not folder.is_dir() or not paths.lineage.exists():
        return ()
    history, committed = read_lineage(paths.lineage), newest_commit(paths.checkpoint)
    batches: list[LateBatch] = []
    for epoch in sorted(int(file.name) for file in folder.iterdir() if file.name.isdigit()):
        batch = _read(_file(paths, epoch), epoch)
        if batch is None or not _is_of(batch, history):
            _file(paths, epoch).unlink(missing_ok=True)
        elif committed is not None and epoch <= committed:
            batches.append(LateBatch(history.id, epoch, batch.sinks))
    return batches


def forget(paths: StatePaths, batches: Sequence[LateBatch]) -> None:
    """They were told, in the histories that they name. What is of the same epoch of another history stays."""
    if not batches:
        return  # a state that is damaged is for the work to find
    history = read_lineage(paths.lineage) if paths.lineage.exists() else None
    for batch in batches:
        kept = _read(_file(paths, batch.epoch), batch.epoch)
        is_ours = kept is not None and kept.lineage == batch.lineage
        if kept is not None and history is not None and batch.lineage == history.id:
            is_ours = _is_of(kept, history)
        if is_ours:
            _file(paths, batch.epoch).unlink(missing_ok=True)


def _is_of(batch: LateBatch, history: Lineage) -> bool:
    """Whether an epoch is one of a history."""
    last = dict(history.parents).get(batch.lineage)
    return batch.lineage == history.id or (last is not None and batch.epoch <= last)


def _read(file: Path, epoch: int) -> LateBatch | None:
    content = read_json(file)
    if content is None:
        return None
    sinks = content["sinks"]
    assert isinstance(sinks, dict)
    told = {str(sink): [(int(begin), int(end)) for begin, end in each] for sink, each in sinks.items()}
    return LateBatch(str(content["lineage"]), epoch, told)


def _file(paths: StatePaths, epoch: int) -> Path:
    return paths.late / str(epoch)
