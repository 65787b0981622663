"""Write files exactly once; each directory starts a new file by its rolling policy.

    epoch 7   the tasks stage       day=1: a (3 rows)   day=2: b (2 rows)
              manifest 7 contains   open: day=1 [a], day=2 [b]               nothing is readable yet
    epoch 8   the tasks stage       day=1: c (4 rows)
              manifest 8 contains   day=1/0000000008-3f.json = a + c         open: day=2 [b]

Creating the manifest decides which files an epoch publishes and which it leaves open. Of two drivers only one succeeds.
All later steps can be repeated: the file is built from its segments and moved into place; if it already exists,
it must be equal. See `docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Epoch, SinkContext, Table
from engine.connectors.files.gathering import gather
from engine.connectors.files.joining import join_segments
from engine.connectors.files.partitions import Partitioner
from engine.connectors.files.plan import Layout, Outside, plan
from engine.connectors.files.segments import FileSegments
from engine.connectors.files.storage import Location, StorageOptions
from engine.connectors.files.target import Directory, FileTarget
from engine.delivery.disk_errors import staging, unwritable
from engine.delivery.faults import Point, reach
from engine.delivery.fence import check_fence
from engine.delivery.file_ledger import WritePermit, newest_ledger, permit_write
from engine.delivery.manifests import (
    EpochManifest,
    abandoned_manifests,
    decide_manifest,
    find_manifest,
    forget_before,
    remove_manifest,
)
from engine.delivery.open_files import OpenFiles, forget_restored, open_files_after
from engine.delivery.ownership import Finding, take_possession
from engine.delivery.segments import Segment, drop_attempts, drop_segments, from_messages, sync_names
from engine.errors import DeliveryError, UnwritableTargetError


def _now() -> int:
    return time.time_ns() // 1000


class RollingFilesSink:
    """A sink whose target contains exactly the files in the manifests of the epochs in its ledger."""

    def __init__(
        self,
        table: Table,
        layout: Layout,
        partitioner: Partitioner,
        target: FileTarget,
        context: SinkContext,
        *,
        takes_over: bool = False,
        clock: Callable[[], int] = _now,
    ) -> None:
        self._table = table
        self._layout = layout
        self._partitioner = partitioner
        self._target = target
        self._directory = context.directory
        self._owner = context.owner
        self._takes_over = takes_over
        self._clock = clock

    def open(self, epoch: Epoch, task: int) -> RollingFilesWriter:
        """Return a writer of one segment per partition."""
        segments = FileSegments(self._table, self._partitioner.written, self._directory, epoch, task)
        return RollingFilesWriter(self._partitioner, segments, self._directory, epoch)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Decide the epoch and publish its files, once."""
        permit = permit_write(self._directory, epoch, is_fresh=self._is_fresh(epoch))
        if permit is None:
            decided = find_manifest(self._directory, epoch.lineage, epoch.number)
            drop_attempts(self._directory, epoch, decided.needed if decided else frozenset())
            return
        try:
            before = open_files_after(self._directory, permit)
            manifest = self._take(permit, before, from_messages(messages))
        except (OSError, DeliveryError, UnwritableTargetError) as wrong:
            # a successor may have tidied up what this run had decided to publish: then say that, not what is missing
            check_fence(self._directory, epoch)
            if isinstance(wrong, OSError):
                raise unwritable(self._directory, wrong) from wrong
            raise
        reach(Point.AFTER_LEDGER, epoch.number)
        # what was open before stays too: until Spark has committed this epoch, savepoints are of the one before
        keep = manifest.needed | before.needed
        drop_segments(self._directory, epoch, keep)
        forget_restored(self._directory, epoch, keep)

    def probe(self) -> None:
        """Raise if files cannot be written to their location."""
        self._target.probe()

    def holds_from(self, epoch: Epoch) -> Sequence[int | None]:
        """Return, for each file that is open after an epoch, the instant before which it has no rows."""
        if self._layout.policy.is_every_epoch:
            return ()
        manifest = find_manifest(self._directory, epoch.lineage, epoch.number)
        return (None,) if manifest is None else tuple(file.holds_from for file in manifest.open)

    def _is_fresh(self, epoch: Epoch) -> bool:
        """Whether a restored pipeline may begin here; not needed otherwise."""
        return bool(epoch.parents) and newest_ledger(self._directory) is None and self._target.is_fresh()

    def _take_possession(self, permit: WritePermit) -> None:
        if self._owner is not None:
            # files are only added: what others have put there stays
            finding = Finding(str(self._target), has_ledger=bool(permit.ledger), would_lose=False)
            take_possession(self._target.mark, self._owner, lambda: finding, takes_over=self._takes_over)

    def _take(self, permit: WritePermit, before: OpenFiles, segments: Sequence[Segment]) -> EpochManifest:
        epoch = permit.epoch
        # once for a run: what an earlier run left half done is cleared away before the first epoch of this one
        if permit.after is None or permit.after.generation != epoch.generation:
            self._take_possession(permit)
            self._target.begin(permit)
        self._withdraw_abandoned(epoch)
        reach(Point.BEFORE_WRITE, epoch.number)
        outside = Outside(self._clock(), secrets.token_bytes, self._target.has)
        planned = plan(epoch, before, segments, self._layout, outside)
        planned = gather(planned, self._directory, epoch, self._join)
        # the manifest must not outlive the segments that it names, were the machine to stop right behind it
        sync_names(self._directory, epoch)
        reach(Point.BEFORE_DECISION, epoch.number)
        manifest = decide_manifest(self._directory, planned)
        reach(Point.AFTER_DECISION, epoch.number)
        for file in manifest.files:
            self._target.publish(file.name, partial(self._join, file.segments), epoch, manifest)
            reach(Point.WHILE_PUBLISHING, epoch.number)
        self._target.finish(permit, manifest)
        reach(Point.AFTER_WRITE, epoch.number)
        permit.record(sum(file.rows for file in manifest.files))
        forget_before(self._directory, permit)
        return manifest

    def _join(self, segments: Sequence[str], draft: Path) -> None:
        paths = [self._directory / segment for segment in segments]
        join_segments(self._table.format, self._partitioner.written, paths, draft)

    def _withdraw_abandoned(self, epoch: Epoch) -> None:
        old_history = abandoned_manifests(self._directory, epoch)
        # asked after the list was made: what a newer run publishes from here on is not in it
        check_fence(self._directory, epoch)
        for old in old_history:
            self._target.withdraw(epoch, old)
            remove_manifest(self._directory, old)


class RollingFilesWriter:
    """Writes one task's rows of an epoch into one segment per partition."""

    def __init__(self, partitioner: Partitioner, segments: FileSegments, directory: Path, epoch: Epoch) -> None:
        self._partitioner = partitioner
        self._segments = segments
        self._directory = directory
        self._epoch = epoch

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows: the table's columns, then the event time if directories are named by it."""
        with staging(self._directory, self._epoch):
            for part in self._partitioner.split(rows):
                self._segments.write(part)

    def close(self) -> bytes:
        """Make all segments durable and name them."""
        with staging(self._directory, self._epoch):
            return self._segments.close()


def open_target(location: Location, options: StorageOptions, context: SinkContext) -> FileTarget:
    """Return the directory or bucket of a table's files."""
    if isinstance(location, Path):
        return Directory(location, context.directory)
    from engine.connectors.files.s3_target import Bucket  # noqa: PLC0415 - only buckets need boto3

    return Bucket(location, options, context.directory, context.job)
