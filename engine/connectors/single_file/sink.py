"""Write one file of lines exactly once. The ledger has the length of the file after each epoch, and anything after that
length is cut off before the next epoch is appended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from engine.connectors.base import Epoch, SinkContext, Table
from engine.connectors.line_writer import LineWriter, line_writer
from engine.connectors.single_file.options import SingleFileSinkOptions
from engine.connectors.text_files import compression_of
from engine.delivery.disk_errors import probe_directory, writing
from engine.delivery.durable import sync_directory
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import WritePermit, permit_write
from engine.delivery.ownership import Finding, mark_of_file, take_possession
from engine.delivery.segments import Segment, drop_segments, from_messages, open_segment
from engine.errors import OutputChangedError


class SingleFileSink:
    """A file with the rows of the epochs in its ledger. After a crash it may have a tail, which the next run cuts
    off."""

    def __init__(self, table: Table, options: SingleFileSinkOptions, context: SinkContext) -> None:
        self._table = table
        self._path = options.path
        self._takes_over = options.existing == "take_over"
        self._directory = context.directory
        self._owner = context.owner

    def open(self, epoch: Epoch, task: int) -> LineWriter:
        """Return a writer of one segment."""
        return line_writer(self._table, self._directory, epoch, task, compression_of(self._path))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Append the epoch's segments once."""
        permit = permit_write(self._directory, epoch, is_fresh=not self._has_rows())
        if permit is not None:
            self._take_possession(permit)
            segments = from_messages(messages)
            reach(Point.BEFORE_WRITE, epoch.number)
            length = self._append(permit, segments)
            reach(Point.AFTER_WRITE, epoch.number)
            with writing(self._directory):
                permit.record(sum(segment.rows for segment in segments), length)
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _has_rows(self) -> bool:
        return self._path.exists() and self._path.stat().st_size > 0

    def _take_possession(self, permit: WritePermit) -> None:
        """Check ownership in every epoch: a previous owner must not truncate what the new one has written."""
        if self._owner is not None:
            with writing(self._path):
                take_possession(
                    mark_of_file(self._path),
                    self._owner,
                    lambda: Finding(str(self._path), bool(permit.ledger), self._has_rows()),
                    takes_over=self._takes_over,
                )

    def probe(self) -> None:
        """Raise if the file can neither be written nor created."""
        if not self._path.exists():
            probe_directory(self._path.parent)
            return
        with writing(self._path), self._path.open("r+b"):
            pass

    def _append(self, permit: WritePermit, segments: Sequence[Segment]) -> int:
        """Truncate the file to the size in the ledger, append, and return its new size."""
        base = permit.after.length if permit.after else 0
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self._path.exists()
            # not "a": that mode would append behind a tail that another process still writes
            with self._path.open("r+b" if not is_new else "x+b") as file:
                if os.fstat(file.fileno()).st_size < base:
                    raise _shortened(self._path, base)
                file.truncate(base)
                file.seek(base)
                for segment in segments:
                    with open_segment(self._directory / segment.path) as written:
                        shutil.copyfileobj(written, file, 1024 * 1024)
                    reach(Point.WHILE_WRITING, permit.epoch.number)
                file.flush()
                os.fsync(file.fileno())
                length = file.tell()
            if is_new:
                sync_directory(self._path.parent)
        return length


def _shortened(path: Path, length: int) -> OutputChangedError:
    return OutputChangedError(
        f"{path} is shorter than the {length} bytes that were committed to it",
        hint="put the file back, or start with a new state directory to write everything again",
    )
