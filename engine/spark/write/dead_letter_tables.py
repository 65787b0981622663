"""Dead-letter tables: after each epoch the driver writes records that could not be decoded or written into them, with
the same kind of ledger as every sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from engine import types
from engine.connectors.base import DeadLetter, Epoch, SegmentWriter
from engine.connectors.refused_rows import forget_refused, refused_rows_of
from engine.schema import Field, arrow_schema
from engine.spark.read.planner import Offset
from engine.spark.read.scan_spec import format_name
from engine.spark.write.dead_letters import noted_dead_letters
from engine.spark.write.targets import Target

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
