"""Records that could not be decoded, kept for a person to look at, in a directory or a table.

In a directory there is one file for every range that had any. Its name says which range it belongs to, and what a range
holds never changes. So a range that is read again, by a retry or after a crash, writes the very same file in the place
of the one before, and no record is there twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine import types
from engine.connectors.base import Json, Letter, Table
from engine.delivery.durable import replace_durably
from engine.errors import UnwritableTargetError

LETTER_COLUMNS: Mapping[str, tuple[types.Type, ...]] = {
    "source": (types.TEXT,),
    "partition": (types.TEXT,),
    "origin": (types.TEXT,),
    "error": (types.TEXT,),
    "record": (types.TEXT, types.Bytes()),
}
"""What a table of letters may have of one, by column, and of which types it may be."""


def keep_letters(table: Table, name: tuple[str, Json, Json], letters: Sequence[Letter]) -> None:
    """Keep all letters of what has that name (partition, start and end), if the table has a directory for them."""
    if table.dead_letters is not None:
        kept = DeadLetters(table.dead_letters, table.name, *name)
        kept.add(letters)
        kept.close()


@dataclass(slots=True)
class DeadLetters:
    """Takes the records of one range of a table's partition, and writes them when the range has been read."""

    directory: Path
    table: str
    partition: str
    start: Json
    end: Json
    _lines: list[bytes] = field(default_factory=list)

    def add(self, letters: Sequence[Letter]) -> None:
        """Take some records."""
        self._lines += [self._line(letter) for letter in letters]

    def close(self) -> None:
        """Write the file, if there is anything to write; it is durable afterwards."""
        if not self._lines:
            return
        path = self.directory / f"{self.table}-{self._name()}.json"
        try:
            replace_durably(path, b"".join(self._lines))
        except OSError as wrong:
            raise UnwritableTargetError(
                f"the records that {self.table} cannot decode cannot be kept in {self.directory}: {wrong}",
                hint="make 'dead_letter.path' writable, or free space on it; nothing is lost, the epoch is run again",
            ) from wrong

    def _name(self) -> str:
        what = json.dumps([self.partition, self.start, self.end], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()[:16]

    def _line(self, letter: Letter) -> bytes:
        try:
            record = {"record": letter.record.decode()}
        except UnicodeDecodeError:
            record = {"record_base64": base64.b64encode(letter.record).decode()}
        said = {"table": self.table, "partition": self.partition, "origin": letter.origin, "error": letter.error}
        return json.dumps({**said, **record}, ensure_ascii=False).encode() + b"\n"
