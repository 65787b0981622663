"""Files with the late rows of an epoch, stored until the control plane has them. An epoch's report is lost if its
process dies, but users of completed time buckets must learn of each row that arrives later.

    epoch 7     writes rows of 03:12 and 03:40 into the table of late rows; late/7 is written before the commit
    epoch 7     is committed; the driver is killed
    next run    finds late/7, and sends it in its first report              acknowledged: late/7 is removed

Times are whole minutes since 1970, in half-open ranges. If an epoch was not committed, its file is written again when
the epoch is run again.

Read and write the suppressed aggregates of open windows in a checkpoint: see `engine.plan.state.withheld`.

    checkpoint/withheld.json     {"1": {"0": [[1704067200000000, 1704067800000000]]}}
                                 in operator 1, aggregate 0, in windows that start between 00:00 and 00:10
                                 {"1": {"rows": ...}}: no row of these windows is emitted

The file is part of the checkpoint, and so of savepoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from engine.changes.verdict import Migration
from engine.checkpoints.layout import StatePaths, read_json, unreadable, write_json
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.manifest import WITHHELD
from engine.checkpoints.spark_log import newest_commit
from engine.plan.state.withheld import ROWS, Range, Withheld

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
    """Group minutes into stretches, in order."""
    return joined(((minute, minute + 1) for minute in minutes), most)


def joined(parts: Iterable[Stretch], most: int = MOST_STRETCHES) -> Sequence[Stretch]:
    """Return the union of stretches, as stretches, in order."""
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
    """Write the late rows of an epoch, before the epoch is committed."""
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
    """Delete late rows that were reported, in the lineages that the batches name. Those of the same epoch in another
    lineage stay."""
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
    """Whether an epoch belongs to a lineage."""
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


_ROWS = "rows"


def read_withheld(checkpoint: Path) -> Withheld:
    """Return the suppressed aggregates of a checkpoint; refuse a damaged file."""
    path = checkpoint / WITHHELD
    try:
        return {int(number): _places(places) for number, places in (read_json(path) or {}).items()}
    except ValueError as error:
        raise unreadable(path) from error


def write_withheld(checkpoint: Path, withheld: Withheld) -> None:
    """Write the suppressed aggregates into a checkpoint, if there are any."""
    if withheld:
        by_text = {
            str(number): {_word(place): [list(pair) for pair in ranges] for place, ranges in places.items()}
            for number, places in withheld.items()
        }
        write_json(checkpoint / WITHHELD, by_text)


def carried(
    old: Withheld,
    kept: Mapping[int, int],
    migrated: Mapping[int, Migration],
    open_windows: Mapping[int, Sequence[Range]],
) -> Withheld:
    """Return the suppressed aggregates in the state of a new query. A `kept` operator has the same ones; a `migrated`
    one has those of its remaining aggregates under their new positions, and all new aggregates in the open windows, or
    these windows as a whole if they are held back."""
    withheld = {number: dict(old.get(before, {})) for number, before in kept.items()}
    for number, migration in migrated.items():
        before, opened = old.get(migration.operator, {}), open_windows.get(number, ())
        new, rows = ((), opened) if migration.held_back else (opened, ())
        withheld[number] = {
            place: new if old_place is None else before.get(old_place, ())
            for place, old_place in enumerate(migration.aggregates)
        }
        withheld[number][ROWS] = tuple(sorted({*before.get(ROWS, ()), *rows}))
    some = {number: {place: pairs for place, pairs in places.items() if pairs} for number, places in withheld.items()}
    return {number: places for number, places in some.items() if places}


def _places(places: object) -> Mapping[int, Sequence[Range]]:
    match places:
        case dict():
            return {_place(word): _ranges(pairs) for word, pairs in places.items()}
    raise ValueError(places)


def _word(place: int) -> str:
    return _ROWS if place == ROWS else str(place)


def _place(word: str) -> int:
    return ROWS if word == _ROWS else int(word)


def _ranges(pairs: object) -> Sequence[Range]:
    match pairs:
        case list():
            return tuple(map(_range, pairs))
    raise ValueError(pairs)


def _range(pair: object) -> Range:
    match pair:
        case [int(first), int(last)]:
            return first, last
    raise ValueError(pair)
