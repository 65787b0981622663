"""Store rows that a sink's target refused, for inspection.

In a directory they are stored like dead letters of a source. For a table, the sink writes them into a file of its own
before it records the epoch; once all sinks have recorded it, the driver writes them into the table. The file name
contains the generation, as the ledger entry does. So only the file of the run that recorded the epoch counts, and not
the files of earlier attempts or of a replaced run.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.connectors.base import DeadLetter, Table
from engine.connectors.dead_letters import DeadLetterFile
from engine.delivery.disk_errors import staging
from engine.delivery.durable import replace_durably
from engine.delivery.epoch import Epoch
from engine.delivery.file_ledger import read_ledger
from engine.delivery.ledger import is_same_epoch


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """Refused rows of an epoch in their order, and the time in microseconds."""

    at: int
    dead_letters: Sequence[DeadLetter]


def keep_refused(table: Table, directory: Path, epoch: Epoch, dead_letters: Sequence[DeadLetter]) -> None:
    """Save all refused rows of an epoch as the table declares; `directory` is the sink's own. To be called before the
    epoch is recorded, also if no row was refused."""
    if table.dead_letter_table is not None:
        _write(directory, epoch, dead_letters)
    elif table.dead_letter_directory is not None:
        file = DeadLetterFile(table.dead_letter_directory, table.name, epoch.lineage, epoch.number, epoch.number)
        file.add(dead_letters)
        file.close()


def refused_rows_of(directory: Path, epoch: Epoch) -> RefusedRows | None:
    """Return the rows that a sink has refused in a recorded epoch; None if there are none."""
    entry = next((entry for entry in reversed(read_ledger(directory)) if is_same_epoch(entry, epoch)), None)
    if entry is None:
        return None
    try:
        content = json.loads(_path(directory, epoch, entry.generation).read_bytes())
    except FileNotFoundError:
        return None
    dead_letters = [DeadLetter(origin, error, base64.b64decode(record)) for origin, error, record in content["letters"]]
    return RefusedRows(content["at"], dead_letters)


def forget_refused(directory: Path, epoch: Epoch) -> None:
    """Delete the refused rows of an epoch that the dead-letter table has recorded, of earlier epochs, and of earlier
    lineages."""
    parents = {lineage for lineage, _ in epoch.parents}
    for path in _folder(directory).glob("*.json"):
        number, owner = path.stem.split("-", 1)
        lineage = owner.rsplit("-", 1)[0]
        if lineage in parents or (lineage == epoch.lineage and int(number) <= epoch.number):
            path.unlink(missing_ok=True)


def _write(directory: Path, epoch: Epoch, dead_letters: Sequence[DeadLetter]) -> None:
    path = _path(directory, epoch, epoch.generation)
    if not dead_letters:
        path.unlink(missing_ok=True)
        return
    lines = [[letter.origin, letter.error, base64.b64encode(letter.record).decode()] for letter in dead_letters]
    content = {"at": time.time_ns() // 1000, "letters": lines}
    with staging(directory, epoch):
        replace_durably(path, json.dumps(content).encode())


def _path(directory: Path, epoch: Epoch, generation: int) -> Path:
    return _folder(directory) / f"{epoch.number:012d}-{epoch.lineage}-{generation}.json"


def _folder(directory: Path) -> Path:
    return directory / "letters"
