"""Notes from readers to the planner: small files next to the checkpoint.

A task cannot send a message to the planner of its source, so it writes a note: where its range ended, the smallest
watermark value of its last rows, the largest of all, and how many records it dropped. The planner of the next epoch
reads the notes of the previous epoch. After a crash the same note is written again.

    epoch 7 reads p0 from 5 to 9 in two slices
    task of slice 0:  <p0>-0.json   {"end": 9, "candidate": 12:00:03, "dropped": 0, "rows": 40, "largest": 12:00:09}
    task of slice 1:  <p0>-1.json   {"end": 9, "candidate": 12:00:01, "dropped": 2, "rows": 38, "largest": 12:00:07}
    planner of epoch 8, for p0 and 9:  both; a note with another end belongs to another range and is ignored

A source also writes a note about itself, `source.json`, for the planners of the pipeline's other sources: an idle
source follows their watermarks. See docs/decisions/watermarks-travel-in-offsets.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.connectors.base import Position
from engine.delivery.outbox import post
from engine.errors import MissingNoteError


@dataclass(frozen=True, slots=True)
class ReaderNote:
    """Figures of one slice of a partition's range, from the task that read it. `end` is where the whole range ends, and
    `slices` the number of its slices. `rows`, `largest` and `slices` are None in the notes of earlier versions."""

    end: Position
    candidate: int | None
    dropped: int
    rows: int | None = None
    largest: int | None = None
    """The largest watermark value of its rows that is not ahead of the clock."""
    slices: int | None = None


@dataclass(frozen=True, slots=True)
class SourceMark:
    """Watermark of a whole source, for the planners of the other sources."""

    watermark: int | None
    idle: bool
    ended: bool


def leave(directory: Path, partition: str, index: int, note: ReaderNote) -> None:
    """Write the note about slice `index` of a partition's range."""
    hand_in(directory / file_name(partition, index), asdict(note))


def collect(directory: Path, partition: str, slices: int, end: Position) -> list[ReaderNote]:
    """Return the notes about a range that ended at `end`, in the order of its slices; missing ones are left out."""
    notes: list[ReaderNote] = []
    for index in range(slices):
        content = read(directory / file_name(partition, index))
        if content is not None and content.get("end") == end:
            notes.append(ReaderNote(**content))
    return notes


def refuse_gaps(table: str, directory: Path, found: Mapping[str, Sequence[ReaderNote]], *, may_be_unread: bool) -> None:
    """Raise MissingNoteError if a slice of a partition has left no note, given the notes that were found of each. If it
    `may_be_unread`, no note at all is fine: Spark skips a table if it can tell that the result is empty."""
    if may_be_unread and not any(found.values()):
        return
    for partition, notes in found.items():
        expected = next((note.slices for note in notes if note.slices is not None), 1)
        if len(notes) < expected:
            raise MissingNoteError(
                f"{table}: {expected - len(notes)} of {expected} tasks that have read the partition {partition} left "
                f"no note in {directory}",
                hint="the epoch is run again; if it fails again, the executors do not share the disk of the state",
            )


def write_mark(directory: Path, mark: SourceMark) -> None:
    """Record the watermark and state of this source for the pipeline's other sources."""
    write(directory / "source.json", asdict(mark))


def read_mark(directory: Path) -> SourceMark | None:
    """Return the position of another source, if it has recorded one."""
    content = read(directory / "source.json")
    return None if content is None else SourceMark(**content)


def file_name(partition: str, index: int) -> str:
    """Return the file name of slice `index` of a partition's range."""
    return f"{hashlib.sha256(partition.encode()).hexdigest()[:16]}-{index}.json"


def hand_in(path: Path, content: Mapping[str, object]) -> None:
    """Send a file that a task has written to the driver."""
    if not post(path, json.dumps(content).encode()):
        write(path, content)


def write(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # the number of the process: a task that Spark has given up may still be writing beside its successor
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_text(json.dumps(content))
    draft.replace(path)


def read(path: Path) -> dict[str, Any] | None:
    """Read a file; return None if there is none."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return content
