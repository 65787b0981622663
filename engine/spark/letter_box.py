"""Sinks that take what could not be decoded: once an epoch has run, the driver writes its letters into them, with a
ledger like that of every sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from engine import types
from engine.connectors.base import Epoch, Letter
from engine.schema import Field, arrow_schema
from engine.spark.epoch import Target
from engine.spark.letters import left_letters
from engine.spark.planner import Offset
from engine.spark.source import format_name

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class LetterBox:
    """A sink that takes the letters of some source tables."""

    target: Target
    sources: frozenset[str]

    def take(self, epoch: Epoch, ends: Sequence[Offset], watermarks: Path) -> None:
        """Write the letters of an epoch, once; `ends` is where the source tables end in it."""
        sink = self.target.open()
        writer = sink.open(epoch, 0)
        for end in sorted(ends, key=lambda one: one.table):
            letters = _letters(watermarks / format_name(end.table), end) if end.table in self.sources else iter(())
            while some := list(islice(letters, _AT_ONCE)):
                writer.write(self._rows(end, some))
        sink.commit(epoch, [writer.close()])

    def _rows(self, end: Offset, letters: Sequence[tuple[str, Letter]]) -> pa.RecordBatch:
        fields = self.target.schema
        schema = arrow_schema(fields)
        columns = [[_value(field, end, partition, letter) for partition, letter in letters] for field in fields]
        arrays = [pa.array(column, one.type) for column, one in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _letters(directory: Path, end: Offset) -> Iterator[tuple[str, Letter]]:
    for partition, slices in sorted(end.moved.items()):
        for letter in left_letters(directory, partition, slices, end.positions[partition], end.planned):
            yield partition, letter


def _value(field: Field, end: Offset, partition: str, letter: Letter) -> object:
    match field.name.lower():
        case "source":
            return end.table
        case "partition":
            return partition
        case "origin":
            return letter.origin
        case "error":
            return letter.error
        case "record":
            return letter.record if field.type == types.Bytes() else letter.record.decode(errors="replace")
    return end.planned  # the event time, which a letter has none of: when it was planned to be read
