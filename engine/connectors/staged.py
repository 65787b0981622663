"""Stage a task's rows as segments of Arrow batches, and send them from the driver at least once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from engine.delivery.disk_errors import staging
from engine.delivery.epoch import Epoch
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import permit_at_least_once
from engine.delivery.outbox import finish
from engine.delivery.segments import (
    Segment,
    drop_segments,
    from_messages,
    reading_segment,
    segment_name,
    segment_path,
)


class ArrowSegment:
    """An open segment."""

    def __init__(self, directory: Path, epoch: Epoch, task: int, schema: pa.Schema, partition: str = "") -> None:
        self._root = directory
        self._epoch = epoch
        self._partition = partition
        self._rows = 0
        with staging(directory, epoch):
            self._path = segment_path(directory, epoch, task, ".arrow")
            self._file = pa.OSFile(str(self._path), "wb")
            # a disk takes a fifth of the bytes in less time than packing them does
            self._writer = pa.ipc.new_file(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))

    def write(self, rows: pa.RecordBatch) -> None:
        """Append some rows."""
        with staging(self._root, self._epoch):
            self._writer.write(rows)
        self._rows += rows.num_rows

    def close(self, *, sync: bool = False) -> Segment:
        """Finish the segment, and make its contents durable with `sync`."""
        with staging(self._root, self._epoch):
            self._writer.close()
            self._file.close()
            size = self._path.stat().st_size
            finish(self._path, sync=sync)
        return Segment(segment_name(self._path), self._rows, size, "", self._partition)


def segment_rows(path: Path, at_once: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a segment, in their order, that many at a time."""
    with reading_segment(path):
        mapped = pa.memory_map(str(path))
    with mapped as file, pa.ipc.open_file(file) as reader:
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            for start in range(0, batch.num_rows, at_once):
                yield batch.slice(start, at_once)


def send_unless_sent(
    directory: Path, epoch: Epoch, messages: Sequence[bytes], send: Callable[[Sequence[Segment]], int]
) -> None:
    """Send the rows that the tasks have staged, unless this epoch was the last that was sent; `send` returns how many
    rows were refused. A crash between sending and recording sends them again."""
    permit = permit_at_least_once(directory, epoch)
    if permit is not None:
        segments = from_messages(messages)
        refused = 0
        if segments:
            reach(Point.BEFORE_WRITE, epoch.number)
            refused = send(segments)
            reach(Point.AFTER_WRITE, epoch.number)
        permit.record(sum(segment.rows for segment in segments) - refused, refused=refused)
    reach(Point.AFTER_LEDGER, epoch.number)
    drop_segments(directory, epoch)
