"""Writing files into a directory, exactly once, one file per epoch and partition.

What an epoch publishes is decided by creating its manifest; of two drivers one succeeds. Everything after that can
be repeated: a file is made whole beside its place and linked into it, and one that is there already must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Epoch, Table
from engine.connectors.file_partitions import Partitioner
from engine.connectors.file_segments import FileSegments, join_segments
from engine.connectors.filesystem import FilesystemSinkOptions
from engine.connectors.single_file_sink import unwritable
from engine.delivery.faults import Point, reach
from engine.delivery.fence import check_fence
from engine.delivery.gate import Admission, admit
from engine.delivery.manifests import Manifest, Published, abandoned, decide_manifest, forget_before, remove_manifest
from engine.delivery.publish import publish, withdraw
from engine.delivery.segments import Segment, drop_segments, from_messages, sync_names
from engine.formats.json import JsonOptions
from engine.formats.parquet import ParquetOptions


class FilesystemSink:
    """The directory holds the files that the manifests of the epochs in the ledger name."""

    def __init__(self, table: Table, options: FilesystemSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> FilesystemWriter:
        """A writer of one segment per partition."""
        partitioner = Partitioner(self._table.schema, self._options.fields, self._options.time_pattern)
        return FilesystemWriter(partitioner, FileSegments(self._table, self._directory, epoch, task))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Publish the epoch's files once."""
        admission = admit(self._directory, epoch, is_fresh=not self._options.path.exists())
        if admission is not None:
            try:
                self._publish(admission, messages)
            except OSError as wrong:
                raise unwritable(self._options.path, wrong) from wrong
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _publish(self, admission: Admission, messages: Sequence[bytes]) -> None:
        epoch = admission.epoch
        self._options.path.mkdir(parents=True, exist_ok=True)
        old_history = abandoned(self._directory, epoch)
        # asked after the list was made: what a newer run publishes from here on is not in it
        check_fence(self._directory, epoch)
        for old in old_history:
            for file in old.files:
                withdraw(self._options.path / file.name)
            remove_manifest(self._directory, old)
        reach(Point.BEFORE_WRITE, epoch.number)
        planned = self._plan(epoch, from_messages(messages))
        sync_names(self._directory, epoch)
        reach(Point.BEFORE_DECISION, epoch.number)
        manifest = decide_manifest(self._directory, planned)
        reach(Point.AFTER_DECISION, epoch.number)
        for file in manifest.files:
            segments = [self._directory / segment for segment in file.segments]
            publish(
                self._options.path / file.name,
                partial(join_segments, self._table, segments),
                generation=epoch.generation,
                decided_by=manifest.generation,
            )
            reach(Point.WHILE_PUBLISHING, epoch.number)
        reach(Point.AFTER_WRITE, epoch.number)
        admission.record(sum(file.rows for file in manifest.files))
        forget_before(self._directory, admission)

    def _plan(self, epoch: Epoch, segments: Sequence[Segment]) -> Manifest:
        """One file per partition, with the segments of all tasks."""
        files = []
        for partition in dict.fromkeys(segment.partition for segment in segments):
            mine = [segment for segment in segments if segment.partition == partition]
            folder = f"{partition}/" if partition else ""
            name = f"{folder}{self._options.prefix}{epoch.number:010d}-{epoch.lineage[:12]}{self._suffix()}"
            files.append(
                Published(name, sum(segment.rows for segment in mine), tuple(segment.path for segment in mine))
            )
        return Manifest(epoch.lineage, epoch.number, epoch.offsets, epoch.generation, tuple(files))

    def _suffix(self) -> str:
        if self._options.suffix is not None:
            return self._options.suffix
        match self._table.format:
            case ParquetOptions():
                return ".parquet"
            case JsonOptions(compression="gzip"):
                return ".json.gz"
            case JsonOptions():
                return ".json"
        return ".txt"


class FilesystemWriter:
    """Writes one task's rows of an epoch, each to the segment of its partition."""

    def __init__(self, partitioner: Partitioner, segments: FileSegments) -> None:
        self._partitioner = partitioner
        self._segments = segments

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows: the table's columns, then the event time when directories are named by it."""
        for partition, part in self._partitioner.split(rows):
            self._segments.write(partition, part)

    def close(self) -> bytes:
        """Make all segments durable and name them."""
        return self._segments.close()
