"""Helpers with which connectors read and write rows. Import this where a table is opened, not where it is declared.

A sink that cannot commit together with a ledger of its own writes at least once, with `StagedSink`:

    tasks     stage their rows of epoch 7 in segments, which are not visible
    driver    sends them, then records epoch 7 in the sink's ledger; after a crash in between it sends them again
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from engine.connectors.addresses import Reachable, check_url
from engine.connectors.base import Epoch, SinkContext, Table, row_schema
from engine.connectors.line_rows import chunks
from engine.connectors.refused_rows import keep_refused
from engine.connectors.staged import ArrowSegment, segment_rows, send_unless_sent
from engine.delivery.driver_files import readable
from engine.delivery.segments import Segment, segment_name, segment_path, to_message
from engine.formats import make_decoder, make_encoder
from engine.schema import arrow_schema

__all__ = (
    "Reachable",
    "StagedSink",
    "arrow_schema",
    "check_url",
    "chunks",
    "keep_refused",
    "make_decoder",
    "make_encoder",
    "readable",
    "row_schema",
    "segment_name",
    "segment_path",
)

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class StagedSink:
    """Writes at least once. `send` is called on the driver with the rows of an epoch, in batches with the columns of
    the table and in the order of the tasks. It returns how many rows the target refused."""

    table: Table
    context: SinkContext
    send: Callable[[Epoch, Iterator[pa.RecordBatch]], int]

    def open(self, epoch: Epoch, task: int) -> StagedWriter:
        """Return a writer of one segment."""
        return StagedWriter(ArrowSegment(self.context.directory, epoch, task, arrow_schema(self.table.schema)))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Send the epoch, unless it was the last that was sent."""
        send_unless_sent(self.context.directory, epoch, messages, lambda segments: self._send(epoch, segments))

    def _send(self, epoch: Epoch, segments: Sequence[Segment]) -> int:
        paths = [self.context.directory / segment.path for segment in segments]
        return self.send(epoch, _rows(paths))


def _rows(paths: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        yield from segment_rows(path, _ROWS_AT_ONCE)


class StagedWriter:
    """Stages the rows of one task."""

    def __init__(self, segment: ArrowSegment) -> None:
        self._segment = segment

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        self._segment.write(rows)

    def close(self) -> bytes:
        """Finish the segment and name it."""
        return to_message([self._segment.close()])
