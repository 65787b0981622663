"""Write to Kafka exactly once: tasks stage an epoch's records, and the driver sends them in transactions.

    epoch 7, two tasks, sink.parallelism = 2, keys k1 to k4
    task 0 stages     part 0: k1 k3     part 1: k2             task 1 stages     part 0: k1     part 1: k4
    manifest 7        part 0 = both segments, 3 rows           part 1 = both segments, 2 rows
    transactions      part 0: k1 k3 k1, and ledger entry 7     part 1: k2 k4, and ledger entry 7

Creating the manifest decides what an epoch writes, so every attempt writes the same records. The ledger is committed
with the records, and shows whether Kafka has them already. See `transaction.py` and
`docs/decisions/kafka-is-written-in-staged-transactions.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from engine.connectors.base import Epoch, SinkContext, Table
from engine.connectors.kafka.write.broker_check import check_broker
from engine.connectors.kafka.write.lost_ledgers import LedgerMemory, name_of, recall, remember, utc_now
from engine.connectors.kafka.write.options import KafkaSinkOptions
from engine.connectors.kafka.write.oversized import size_limit_of
from engine.connectors.kafka.write.producer import probe_topic, producer_config
from engine.connectors.kafka.write.records import RecordMaker
from engine.connectors.kafka.write.staging import LARGE, StagingWriter, staged_records
from engine.connectors.kafka.write.transaction import TransactionPart, Writer, fence_for_next, write_part
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import permit_write
from engine.delivery.manifests import EpochManifest, PublishedFile, decide_manifest, forget_before
from engine.delivery.segments import Segment, drop_segments, from_messages, sync_names


class ExactlyOnceSink:
    """A sink with one transaction per epoch, or per epoch and `sink.parallelism` part."""

    def __init__(
        self, table: Table, options: KafkaSinkOptions, context: SinkContext, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._table = table
        self._options = options
        self._directory = context.directory
        self._job = context.job
        self._clock = clock
        self._client = producer_config(options)
        self._writer = Writer(self._client, self._directory, options.transaction_timeout)
        self._size_limit = size_limit_of(table, self._client)

    def open(self, epoch: Epoch, task: int) -> StagingWriter:
        """Return a writer of one segment per part."""
        maker = RecordMaker(self._table, self._options)
        return StagingWriter(maker, self._size_limit, self._directory, epoch, task, self._options.parallelism)

    def probe(self) -> None:
        """Raise if the topic cannot be reached."""
        probe_topic(self._options)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Ensure that Kafka has the epoch, once."""
        permit = permit_write(self._directory, epoch, is_fresh=True, takes_back=False)
        if permit is not None:
            reach(Point.BEFORE_WRITE, epoch.number)
            planned = self._plan(epoch, from_messages(messages))
            sync_names(self._directory, epoch)
            manifest = decide_manifest(self._directory, planned)
            oversized = [file for file in manifest.files if file.name == LARGE]
            parts = {int(file.name): file for file in manifest.files if file.name != LARGE}
            self._keep_oversized(epoch, oversized)
            written = self._write(epoch, parts)
            reach(Point.AFTER_WRITE, epoch.number)
            refused = sum(file.rows for file in oversized)
            permit.record(sum(file.rows for file in parts.values()), refused=refused)
            forget_before(self._directory, permit)
            fence_for_next(self._writer, written, epoch)
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _plan(self, epoch: Epoch, segments: Sequence[Segment]) -> EpochManifest:
        """Return every part with the segments of all tasks. The number of parts stays until the epoch is done, even if
        the options change."""
        files = []
        for part in (*map(str, range(self._options.parallelism)), *((LARGE,) if self._size_limit else ())):
            staged = [segment for segment in segments if segment.partition == part]
            rows = sum(segment.rows for segment in staged)
            files.append(PublishedFile(part, rows, tuple(segment.path for segment in staged)))
        return EpochManifest(epoch.lineage, epoch.number, epoch.offsets, epoch.generation, tuple(files))

    def _keep_oversized(self, epoch: Epoch, oversized: Sequence[PublishedFile]) -> None:
        """Save the oversized records before the rest is sent: a repetition saves the same."""
        if self._size_limit is not None:
            paths = [self._directory / segment for file in oversized for segment in file.segments]
            records = (records for path in paths for records in staged_records(path))
            self._size_limit.keep_oversized(self._directory, epoch, records)

    def _write(self, epoch: Epoch, files: Mapping[int, PublishedFile]) -> Sequence[TransactionPart]:
        """Write the parts that have rows; return which ones these are."""
        name = name_of(self._options.transactional_id_prefix, self._job, self._table.name, epoch)
        memory = recall(self._directory, name, self._options.topic, epoch)
        now = self._clock()
        numbers = {number for number, file in files.items() if file.rows}
        if memory.is_stale(now):
            # the rows are none, the entry is new: that is what keeps the broker from forgetting the ledger
            numbers |= set(memory.taken)
        if not numbers:
            return ()
        if not memory.taken:
            check_broker(self._client, self._options.transactional_id_prefix, self._options.topic)
        parts = [self._part(memory, number, files.get(number)) for number in sorted(numbers)]
        self._write_parts(parts, epoch)
        updated = memory.with_taken(numbers, now)
        if updated != memory:
            remember(self._directory, updated)
        return parts

    def _part(self, memory: LedgerMemory, number: int, file: PublishedFile | None) -> TransactionPart:
        return TransactionPart(
            name=memory.part_name(number),
            topic=memory.topic,
            segments=[self._directory / segment for segment in (file.segments if file else ())],
            rows=file.rows if file else 0,
            must_have_ledger=number in memory.taken,
        )

    def _write_parts(self, parts: Sequence[TransactionPart], epoch: Epoch) -> None:
        def write(part: TransactionPart) -> None:
            write_part(self._writer, part, epoch)
            reach(Point.WHILE_PUBLISHING, epoch.number)

        # the client's own threads do most of the work, outside of Python's lock
        with ThreadPoolExecutor(len(parts)) as threads:
            for future in [threads.submit(write, part) for part in parts]:
                future.result()
