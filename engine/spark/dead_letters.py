"""What could not be decoded, on its way into a table: tasks leave it for the driver, in files beside their notes."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.connectors.base import Letter, Position
from engine.spark import notes


@dataclass(slots=True)
class LeftLetters:
    """Takes the letters of a slice, and leaves them when the slice has been read. `end` is where the range of its
    partition ends, and `planned` when that was planned. A slice that is read again leaves the same."""

    directory: Path
    partition: str
    index: int
    end: Position
    planned: int
    _letters: list[list[str]] = field(default_factory=list)

    def add(self, letters: Sequence[Letter]) -> None:
        """Take some letters."""
        self._letters += [[one.origin, one.error, base64.b64encode(one.record).decode()] for one in letters]

    def close(self) -> None:
        """Leave them. A slice without letters leaves none: what is there then is of another range."""
        if self._letters:
            content = {"end": self.end, "planned": self.planned, "letters": self._letters}
            notes.write(_path(self.directory, self.partition, self.index), content)


def left_letters(directory: Path, partition: str, slices: int, end: Position, planned: int) -> Iterator[Letter]:
    """The letters of a partition's range, in the order of its slices. Each record has one, also when a reader that cuts
    the range otherwise has read it before."""
    seen: set[str] = set()
    for index in range(slices):
        content = notes.read(_path(directory, partition, index))
        if content is not None and (content["end"], content["planned"]) == (end, planned):
            for origin, error, record in content["letters"]:
                if origin not in seen:
                    seen.add(origin)
                    yield Letter(origin, error, base64.b64decode(record))


def _path(directory: Path, partition: str, index: int) -> Path:
    return directory / f"letters-{notes.file_name(partition, index)}"
