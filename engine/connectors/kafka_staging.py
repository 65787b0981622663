"""Records of an epoch on their way to Kafka, staged in segments: one per task and part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import Epoch
from engine.connectors.kafka_records import RECORDS, RecordMaker, parts_of
from engine.delivery.durable import sync_file
from engine.delivery.segments import Segment, segment_path, to_message

_AT_ONCE = 8192


class StagingWriter:
    """Writes a task's records, each into the segment of its part."""

    def __init__(self, maker: RecordMaker, directory: Path, epoch: Epoch, task: int, parts: int) -> None:
        self._maker = maker
        self._directory = directory
        self._epoch = epoch
        self._task = task
        self._parts = parts
        self._segments: dict[int, _Segment] = {}

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        records = self._maker.make(rows)
        if self._parts == 1:
            self._take(0, records)
            return
        parts = pa.array(parts_of(records.column("key"), self._task, self._parts))
        for part in pc.unique(parts).to_pylist():
            self._take(part, records.filter(pc.equal(parts, part)))

    def close(self) -> bytes:
        """Make the segments durable and name them."""
        return to_message(segment.close(self._directory) for _, segment in sorted(self._segments.items()))

    def _take(self, part: int, records: pa.RecordBatch) -> None:
        if records.num_rows:
            if part not in self._segments:
                path = segment_path(self._directory, self._epoch, self._task, ".arrow")
                self._segments[part] = _Segment(path, part)
            self._segments[part].write(records)


class _Segment:
    def __init__(self, path: Path, part: int) -> None:
        self._path = path
        self._part = part
        self._file = pa.OSFile(str(path), "wb")
        # a disk syncs a fifth of the bytes in less time than packing them takes
        self._writer = pa.ipc.new_file(self._file, RECORDS, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        self._rows = 0

    def write(self, records: pa.RecordBatch) -> None:
        self._writer.write(records)
        self._rows += records.num_rows

    def close(self, root: Path) -> Segment:
        self._writer.close()
        self._file.close()
        sync_file(self._path)
        name = str(self._path.relative_to(root))
        return Segment(name, self._rows, self._path.stat().st_size, "", str(self._part))


def staged_records(path: Path) -> Iterator[pa.RecordBatch]:
    """The records of a segment, in their order, some thousand at once."""
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            for start in range(0, batch.num_rows, _AT_ONCE):
                yield batch.slice(start, _AT_ONCE)
