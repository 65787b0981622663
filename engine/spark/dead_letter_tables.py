"""Sinks that take what could not be decoded or written: once an epoch has run, the driver writes its letters into them,
with a ledger like that of every sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from engine import types
from engine.connectors.base import Epoch, Letter, SegmentWriter
from engine.connectors.refused_rows import forget_rows, left_rows
from engine.schema import Field, arrow_schema
from engine.spark.dead_letters import left_letters
from engine.spark.epoch import Target
from engine.spark.planner import Offset
from engine.spark.source import format_name

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class _Sent:
    """A letter with who has left it, a source table or a sink, and when; it has no event time of its own."""

    letter: Letter
    source: str
    partition: str
    at: int


@dataclass(frozen=True, slots=True)
class LetterBox:
    """A sink that takes the letters of the tables of those names; `sinks` are all that the job writes."""

    target: Target
    senders: frozenset[str]
    sinks: Sequence[Target]

    def take(self, epoch: Epoch, ends: Sequence[Offset], watermarks: Path) -> None:
        """Write the letters of an epoch, once, when every other sink has recorded it; `ends` is where the source
        tables end in it."""
        refusing = [one for one in self.sinks if one.table.name in self.senders]
        sink = self.target.open()
        writer = sink.open(epoch, 0)
        for end in sorted(ends, key=lambda one: one.table):
            if end.table in self.senders:
                self._write(writer, _undecoded(watermarks / format_name(end.table), end))
        for sender in refusing:
            self._write(writer, _refused(sender, epoch))
        sink.commit(epoch, [writer.close()])
        for sender in refusing:
            forget_rows(sender.place.directory, epoch)

    def _write(self, writer: SegmentWriter, letters: Iterable[_Sent]) -> None:
        waiting = iter(letters)
        while some := list(islice(waiting, _AT_ONCE)):
            writer.write(self._rows(some))

    def _rows(self, letters: Sequence[_Sent]) -> pa.RecordBatch:
        fields = self.target.schema
        schema = arrow_schema(fields)
        columns = [[_value(field, letter) for letter in letters] for field in fields]
        arrays = [pa.array(column, one.type) for column, one in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _undecoded(directory: Path, end: Offset) -> Iterator[_Sent]:
    for partition, slices in sorted(end.moved.items()):
        for letter in left_letters(directory, partition, slices, end.positions[partition], end.planned):
            yield _Sent(letter, end.table, partition, end.planned)


def _refused(sender: Target, epoch: Epoch) -> Iterator[_Sent]:
    left = left_rows(sender.place.directory, epoch)
    if left is not None:
        for letter in left.letters:
            yield _Sent(letter, sender.table.name, epoch.lineage, left.at)


def _value(field: Field, sent: _Sent) -> object:
    match field.name.lower():
        case "source":
            return sent.source
        case "partition":
            return sent.partition
        case "origin":
            return sent.letter.origin
        case "error":
            return sent.letter.error
        case "record":
            return sent.letter.record if field.type == types.Bytes() else sent.letter.record.decode(errors="replace")
    return sent.at
