"""Segments of a task that writes files: one per partition, in the format of the files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from engine.connectors.base import Epoch, Table
from engine.connectors.files.partitions import PartitionRows
from engine.connectors.line_writer import LineWriter
from engine.delivery.outbox import finish
from engine.delivery.segments import Segment, SegmentFile, segment_name, segment_path, to_message
from engine.formats import make_encoder
from engine.formats.json.options import JsonOptions
from engine.formats.parquet import ParquetOptions
from engine.schema import Schema, arrow_schema

_BUFFERED = 32 * 1024 * 1024


class _Writer(Protocol):
    def write(self, rows: pa.RecordBatch) -> None: ...
    def finish(self, partition: str, until: int | None) -> Segment: ...


class FileSegments:
    """Opens a segment with the first row of its partition. `schema` has the columns in the files."""

    def __init__(self, table: Table, schema: Schema, directory: Path, epoch: Epoch, task: int) -> None:
        assert table.format is not None
        self._format = table.format
        self._schema = schema
        self._directory = directory
        self._epoch = epoch
        self._task = task
        self._writers: dict[str, _Writer] = {}
        self._until: dict[str, int] = {}
        self._oldest: dict[str, int | None] = {}

    def write(self, part: PartitionRows) -> None:
        """Append rows of one partition."""
        if part.directory not in self._writers:
            self._writers[part.directory] = self._open()
        self._writers[part.directory].write(part.rows)
        before = self._oldest.setdefault(part.directory, part.oldest)
        self._oldest[part.directory] = None if before is None or part.oldest is None else min(before, part.oldest)
        if part.until is not None:
            self._until[part.directory] = max(part.until, self._until.get(part.directory, part.until))

    def close(self) -> bytes:
        """Make all segments durable and name them, the partitions in order."""
        finished = (self._writers[name].finish(name, self._until.get(name)) for name in sorted(self._writers))
        return to_message(replace(segment, oldest=self._oldest[segment.partition]) for segment in finished)

    def _open(self) -> _Writer:
        if isinstance(self._format, ParquetOptions):
            path = segment_path(self._directory, self._epoch, self._task, ".parquet")
            return _ParquetSegment(path, self._schema, self._format)
        segment = SegmentFile(self._directory, self._epoch, self._task)
        compression = self._format.compression if isinstance(self._format, JsonOptions) else "none"
        return LineWriter(segment, make_encoder(self._format, self._schema), compression)


class _ParquetSegment:
    """Collects rows into row groups of a good size."""

    def __init__(self, path: Path, schema: Schema, options: ParquetOptions) -> None:
        self._path = path
        self._schema = arrow_schema(schema)
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

    def finish(self, partition: str, until: int | None) -> Segment:
        self._flush()
        self._writer.close()
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = self._path.stat().st_size
        finish(self._path, sync=True)
        return Segment(segment_name(self._path), self._rows, size, digest, partition, until)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting).cast(self._schema))
        self._waiting, self._bytes = [], 0
