"""Dead letters: tasks pass records that could not be decoded in files next to the notes, and after each epoch the
driver writes them into their tables.

Pass records that could not be decoded from tasks to the driver, in files next to the notes.

    slice 0 of partition p reads to 9:   letters-<p>-0.json   {"end": 9, "letters": [offset 6, offset 7]}
    slice 1 of partition p reads to 9:   letters-<p>-1.json   {"end": 9, "letters": [offset 8]}
    the driver, after the epoch:         offset 6, offset 7, offset 8

A range is identified by its end and the time of its planning. Files of an earlier range may still exist; they are
ignored.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa

from engine import types
from engine.connectors.base import DeadLetter, Epoch, Position, SegmentWriter
from engine.connectors.refused_rows import forget_refused, refused_rows_of
from engine.schema import Field, arrow_schema
from engine.spark.read import notes
from engine.spark.read.planner import Offset
from engine.spark.read.scan_spec import format_name
from engine.spark.write.targets import Target


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


_ROWS_AT_ONCE = 1000
"""Limit of rows per batch: a record may be large, and a whole batch is in the driver's memory."""


@dataclass(frozen=True, slots=True)
class _SentDeadLetter:
    """A dead letter with its sender (a source table or a sink) and the time; it has no event time of its own."""

    dead_letter: DeadLetter
    source: str
    partition: str
    at: int


@dataclass(frozen=True, slots=True)
class DeadLetterTable:
    """Sink for the dead letters of the tables in `senders`; `sinks` are all sinks of the job."""

    target: Target
    senders: frozenset[str]
    sinks: Sequence[Target]

    def take(self, epoch: Epoch, ends: Sequence[Offset], notes: Path) -> None:
        """Write the dead letters of an epoch, once, after every other sink has recorded it; `ends` has the ends of the
        source tables that are planned for this epoch."""
        sending_sinks = [sink for sink in self.sinks if sink.table.name in self.senders]
        sink = self.target.open()
        writer = sink.open(epoch, 0)
        for end in sorted(ends, key=lambda end: end.table):
            if end.table in self.senders:
                self._write(writer, _undecoded(notes / format_name(end.table), end))
        for sender in sending_sinks:
            self._write(writer, _refused(sender, epoch))
        sink.commit(epoch, [writer.close()])
        # a crash before here leaves the files: the epoch runs again, and the ledger says that it is in
        for sender in sending_sinks:
            forget_refused(sender.place.directory, epoch)

    def _write(self, writer: SegmentWriter, dead_letters: Iterable[_SentDeadLetter]) -> None:
        waiting = iter(dead_letters)
        while batch := list(islice(waiting, _ROWS_AT_ONCE)):
            writer.write(self._rows(batch))

    def _rows(self, dead_letters: Sequence[_SentDeadLetter]) -> pa.RecordBatch:
        fields = self.target.schema
        schema = arrow_schema(fields)
        columns = [[_value(field, dead_letter) for dead_letter in dead_letters] for field in fields]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _undecoded(directory: Path, end: Offset) -> Iterator[_SentDeadLetter]:
    for partition, slices in sorted(end.moved.items()):
        for dead_letter in noted_dead_letters(directory, partition, slices, end.positions[partition], end.planned):
            yield _SentDeadLetter(dead_letter, end.table, partition, end.planned)


def _refused(sender: Target, epoch: Epoch) -> Iterator[_SentDeadLetter]:
    refused = refused_rows_of(sender.place.directory, epoch)
    if refused is not None:
        for dead_letter in refused.dead_letters:
            yield _SentDeadLetter(dead_letter, sender.table.name, epoch.lineage, refused.at)


def _value(field: Field, sent: _SentDeadLetter) -> object:
    """Return the value of one of the columns in `DEAD_LETTER_COLUMNS`."""
    record = sent.dead_letter.record
    match field.name.lower():
        case "source":
            return sent.source
        case "partition":
            return sent.partition
        case "origin":
            return sent.dead_letter.origin
        case "error":
            return sent.dead_letter.error
        case "record":
            return record if field.type == types.Bytes() else record.decode(errors="replace")
    return sent.at
