"""Stage an epoch's records for Kafka in segments: one per task and part, and one per task for records that are too
large.

    task 1, two parts, keys k1 k2 NULL k1, and k4 with a value that is too large
    segment of part 0: k1 k1     of part 1: k2, and NULL, which goes to the part of the task's number     "large": k4

See `docs/decisions/kafka-is-written-in-staged-transactions.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import Epoch
from engine.connectors.kafka.write.oversized import SizeLimit
from engine.connectors.kafka.write.records import RECORDS, RecordMaker, parts_of
from engine.connectors.staged import ArrowSegment, segment_rows
from engine.delivery.segments import to_message

LARGE = "large"
"""Used instead of a part number for records that are too large."""
_AT_ONCE = 8192


class StagingWriter:
    """Writes a task's records into the segments of their parts."""

    def __init__(
        self, maker: RecordMaker, size_limit: SizeLimit | None, directory: Path, epoch: Epoch, task: int, parts: int
    ) -> None:
        self._maker = maker
        self._size_limit = size_limit
        self._directory = directory
        self._epoch = epoch
        self._task = task
        self._parts = parts
        self._segments: dict[str, ArrowSegment] = {}

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        records = self._maker.make(rows)
        if self._size_limit is not None:
            records, oversized = self._size_limit.split(records)
            self._stage(LARGE, oversized)
        if self._parts == 1:
            self._stage("0", records)
            return
        parts = pa.array(parts_of(records.column("key"), self._task, self._parts))
        for part in pc.unique(parts).to_pylist():
            self._stage(str(part), records.filter(pc.equal(parts, part)))

    def close(self) -> bytes:
        """Make the segments durable and name them."""
        return to_message(segment.close(sync=True) for _, segment in sorted(self._segments.items()))

    def _stage(self, part: str, records: pa.RecordBatch) -> None:
        if records.num_rows:
            if part not in self._segments:
                self._segments[part] = ArrowSegment(self._directory, self._epoch, self._task, RECORDS, part)
            self._segments[part].write(records)


def staged_records(path: Path) -> Iterator[pa.RecordBatch]:
    """Return the records of a segment, in their order, some thousand at a time."""
    return segment_rows(path, _AT_ONCE)
