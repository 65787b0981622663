"""Write one task's rows of an epoch as a segment of lines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Epoch, Table
from engine.delivery.segments import Segment, SegmentFile, to_message
from engine.formats import make_encoder
from engine.formats.base import Encoder
from engine.formats.lines import count_lines
from engine.plan.tree import RETRACT


class LineWriter:
    """Encodes rows as lines into one segment, with optional compression."""

    def __init__(self, segment: SegmentFile, encoder: Encoder, compression: str) -> None:
        self._segment = segment
        self._encoder = encoder
        self._codec = None if compression == "none" else pa.Codec(compression)

    def write(self, rows: pa.RecordBatch) -> None:
        """Encode the rows into the segment."""
        lines = self._encoder.encode_lines(rows)
        # of rows that are taken back and replaced, several make one line
        count = count_lines(lines) if RETRACT in rows.schema.names else rows.num_rows
        if self._codec is not None and lines:
            # a compressed file is a sequence of complete ones, so it too can be cut and appended to
            lines = self._codec.compress(lines, asbytes=True)
        self._segment.write(lines, count)

    def close(self) -> bytes:
        """Finish the segment and name it, for sinks that copy it before they record the epoch."""
        return to_message([self._segment.close(sync=False)])

    def finish(self, partition: str, until: int | None) -> Segment:
        """Make the segment durable; its rows belong to that partition of the target, which it completes."""
        return self._segment.close(partition, until=until)


def line_writer(table: Table, directory: Path, epoch: Epoch, task: int, compression: str = "none") -> LineWriter:
    """Return a writer of a table's rows for one task of an epoch."""
    assert table.format is not None
    return LineWriter(SegmentFile(directory, epoch, task), make_encoder(table.format, table.schema), compression)
