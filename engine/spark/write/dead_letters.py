"""Pass records that could not be decoded from tasks to the driver, in files next to the notes.

    slice 0 of partition p reads to 9:   letters-<p>-0.json   {"end": 9, "letters": [offset 6, offset 7]}
    slice 1 of partition p reads to 9:   letters-<p>-1.json   {"end": 9, "letters": [offset 8]}
    the driver, after the epoch:         offset 6, offset 7, offset 8

A range is identified by its end and the time of its planning. Files of an earlier range may still exist; they are
ignored.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.connectors.base import DeadLetter, Position
from engine.spark.read import notes


@dataclass(slots=True)
class DeadLetterNotes:
    """Collects the dead letters of a slice, and writes them when the slice has been read. `end` is the end of its
    partition's range, and `planned` the time of planning. Reading a slice again writes the same file."""

    directory: Path
    partition: str
    index: int
    end: Position
    planned: int
    _records: list[list[str]] = field(default_factory=list)

    def add(self, dead_letters: Sequence[DeadLetter]) -> None:
        """Add some dead letters."""
        for dead_letter in dead_letters:
            record = base64.b64encode(dead_letter.record).decode()
            self._records.append([dead_letter.origin, dead_letter.error, record])

    def close(self) -> None:
        """Write the dead letters of the slice. A slice without dead letters leaves no file: an existing one belongs to
        another range."""
        if self._records:
            content = {"end": self.end, "planned": self.planned, "letters": self._records}
            notes.hand_in(_path(self.directory, self.partition, self.index), content)


def noted_dead_letters(
    directory: Path, partition: str, slices: int, end: Position, planned: int
) -> Iterator[DeadLetter]:
    """Yield the dead letters of a partition's range, in the order of its slices, each record once, even if another
    reader has split the range differently before."""
    origins: set[str] = set()
    for index in range(slices):
        content = notes.read(_path(directory, partition, index))
        if content is not None and (content["end"], content["planned"]) == (end, planned):
            for origin, error, record in content["letters"]:
                if origin not in origins:
                    origins.add(origin)
                    yield DeadLetter(origin, error, base64.b64decode(record))


def _path(directory: Path, partition: str, index: int) -> Path:
    return directory / f"letters-{notes.file_name(partition, index)}"
