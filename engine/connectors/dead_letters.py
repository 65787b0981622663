"""Dead letters: records that could not be decoded or written, stored in a directory or a table for inspection.

A directory has one file per range that had any. The file name identifies the range, and the content of a range never
changes. So a range that is read again, after a retry or a crash, overwrites the file with the same content, and no
record is stored twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine import types
from engine.connectors.base import DeadLetter, Json
from engine.delivery.disk_errors import is_disk_full
from engine.delivery.durable import replace_durably
from engine.delivery.outbox import post
from engine.errors import DiskFullError, UnwritableTargetError, message_of

DEAD_LETTER_COLUMNS: Mapping[str, tuple[types.Type, ...]] = {
    "source": (types.TEXT,),
    "partition": (types.TEXT,),
    "origin": (types.TEXT,),
    "error": (types.TEXT,),
    "record": (types.TEXT, types.Bytes()),
}
"""Columns that a table of dead letters may have, with the allowed types of each."""


@dataclass(slots=True)
class DeadLetterFile:
    """Collects the dead letters of one range of a partition, and writes them when the range has been read."""

    directory: Path
    table: str
    partition: str
    start: Json
    end: Json
    _lines: list[bytes] = field(default_factory=list)

    def add(self, dead_letters: Sequence[DeadLetter]) -> None:
        """Take some records."""
        self._lines += [self._line(dead_letter) for dead_letter in dead_letters]

    def close(self) -> None:
        """Write the file and make it durable; without records there is no file."""
        path = self.directory / f"{self.table}-{self._name()}.json"
        content = b"".join(self._lines) or None
        if post(path, content, sync=True):
            return
        try:
            if content is not None:
                replace_durably(path, content)
            else:
                path.unlink(missing_ok=True)
        except OSError as wrong:
            kind = DiskFullError if is_disk_full(wrong) else UnwritableTargetError
            raise kind(
                f"the records that {self.table} leaves out cannot be kept in {self.directory}: {message_of(wrong)}",
                hint="make 'dead_letter.path' writable, or free space on it; nothing is lost, the epoch is run again",
            ) from wrong

    def _name(self) -> str:
        text = json.dumps([self.partition, self.start, self.end], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _line(self, dead_letter: DeadLetter) -> bytes:
        try:
            record = {"record": dead_letter.record.decode()}
        except UnicodeDecodeError:
            record = {"record_base64": base64.b64encode(dead_letter.record).decode()}
        content = {
            "table": self.table,
            "partition": self.partition,
            "origin": dead_letter.origin,
            "error": dead_letter.error,
        }
        return json.dumps({**content, **record}, ensure_ascii=False).encode() + b"\n"
