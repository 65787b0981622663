"""The segments of a task that writes files: one per partition, already in the format of the files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from engine.connectors.base import Epoch, Table
from engine.connectors.line_writer import LineWriter
from engine.delivery.durable import sync_file
from engine.delivery.segments import Segment, SegmentFile, segment_path, to_message
from engine.formats import make_encoder
from engine.formats.json import JsonOptions
from engine.formats.parquet import ParquetOptions
from engine.schema import arrow_schema

_BUFFERED = 32 * 1024 * 1024


class FileSegments:
    """Opens a segment with the first row of its partition."""

    def __init__(self, table: Table, directory: Path, epoch: Epoch, task: int) -> None:
        assert table.format is not None
        self._table = table
        self._directory = directory
        self._epoch = epoch
        self._task = task
        self._lines: dict[str, LineWriter] = {}
        self._parquet: dict[str, _ParquetSegment] = {}

    def write(self, partition: str, rows: pa.RecordBatch) -> None:
        """Append rows of one partition."""
        if isinstance(self._table.format, ParquetOptions):
            if partition not in self._parquet:
                path = segment_path(self._directory, self._epoch, self._task, ".parquet")
                self._parquet[partition] = _ParquetSegment(path, self._table, self._table.format)
            self._parquet[partition].write(rows)
            return
        if partition not in self._lines:
            form = self._table.format
            assert form is not None
            segment = SegmentFile(self._directory, self._epoch, self._task)
            encoder = make_encoder(form, self._table.schema)
            compression = form.compression if isinstance(form, JsonOptions) else "none"
            self._lines[partition] = LineWriter(segment, encoder, compression)
        self._lines[partition].write(rows)

    def close(self) -> bytes:
        """Make all segments durable and name them, the partitions in order."""
        segments = [writer.finish(partition) for partition, writer in self._lines.items()]
        segments += [writer.finish(partition, self._directory) for partition, writer in self._parquet.items()]
        return to_message(sorted(segments, key=lambda segment: segment.partition))


class _ParquetSegment:
    """Gathers rows to row groups of a good size."""

    def __init__(self, path: Path, table: Table, options: ParquetOptions) -> None:
        self._path = path
        self._schema = arrow_schema(table.schema)
        self._writer = pq.ParquetWriter(path, self._schema, compression=options.compression)
        self._most = min(options.row_group_size, _BUFFERED)
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        self._rows += rows.num_rows
        if self._bytes >= self._most:
            self._flush()

    def finish(self, partition: str, root: Path) -> Segment:
        self._flush()
        self._writer.close()
        sync_file(self._path)
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Segment(str(self._path.relative_to(root)), self._rows, self._path.stat().st_size, digest, partition)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting).cast(self._schema))
        self._waiting, self._bytes = [], 0


def join_segments(table: Table, segments: Sequence[Path], draft: Path) -> None:
    """Make one file of the segments of one partition; the same segments always give the same bytes."""
    if len(segments) == 1 or not isinstance(table.format, ParquetOptions):
        with draft.open("wb") as whole:
            for segment in segments:
                with segment.open("rb") as part:
                    shutil.copyfileobj(part, whole, 1024 * 1024)
        return
    with pq.ParquetWriter(draft, arrow_schema(table.schema), compression=table.format.compression) as writer:
        for segment in segments:
            with pq.ParquetFile(segment) as part:
                for group in range(part.num_row_groups):
                    writer.write_table(part.read_row_group(group, use_threads=False))
