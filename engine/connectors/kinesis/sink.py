"""Write to Kinesis at least once: tasks stage an epoch's rows as records, and the driver sends them.

PutRecords of a, b, c     b is throttled: b is sent again, after a pause
bad_data = 'dead_letter'  a row of 2 MiB is stored as a dead letter; the epoch is recorded with 1 refused row
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from engine.connectors.base import DeadLetter, Epoch, Table
from engine.connectors.kinesis.client import connect, errors_explained
from engine.connectors.kinesis.options import MAX_KEY, MAX_RECORD, KinesisSinkOptions
from engine.connectors.refused_rows import keep_refused
from engine.connectors.staged import ArrowSegment, segment_rows, send_unless_sent
from engine.delivery.segments import Segment, to_message
from engine.errors import RowRefusedError, TargetRefusedError, TargetUnavailableError
from engine.formats import make_encoder
from engine.formats.debezium.encode import DebeziumEncoder

LOG = logging.getLogger(__name__)
_STAGED = pa.schema([("key", pa.string()), ("hash_key", pa.string()), ("data", pa.binary())])
_AT_ONCE = 2000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
Record: TypeAlias = "dict[str, str | bytes]"


class KinesisSink:
    """Sends the rows of an epoch."""

    def __init__(self, table: Table, options: KinesisSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> KinesisWriter:
        """Return a writer of one segment of records."""
        segment = ArrowSegment(self._directory, epoch, task, _STAGED)
        return KinesisWriter(self._table, self._options, segment)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Send the epoch, unless it was the last that was sent."""
        send_unless_sent(self._directory, epoch, messages, partial(self._send, epoch))

    def probe(self) -> None:
        """Raise if the stream does not exist."""
        with errors_explained(self._options, TargetUnavailableError, TargetRefusedError):
            connect(self._options).describe_stream_summary(StreamName=self._options.stream_name)

    def _send(self, epoch: Epoch, segments: Sequence[Segment]) -> int:
        refused: list[DeadLetter] = []
        records = self._records(epoch, segments, refused)
        with errors_explained(self._options, TargetUnavailableError, TargetRefusedError):
            Sender(self._options, connect(self._options)).send_all(records)
        if refused and self._table.bad_data == "fail":
            raise RowRefusedError(
                f"{len(refused)} of the epoch's rows cannot be written to the stream {self._options.stream_name!r}; "
                f"{refused[0].origin}: {refused[0].error}",
                hint="leave such rows out with a WHERE, or with bad_data = 'drop' or 'dead_letter'",
            )
        keep_refused(self._table, self._directory, epoch, refused)
        if refused:
            LOG.warning("%s: %d rows of epoch %d were refused", self._table.name, len(refused), epoch.number)
        return len(refused)

    def _records(self, epoch: Epoch, segments: Sequence[Segment], refused: list[DeadLetter]) -> Iterator[Record]:
        """Yield the records of an epoch. Rows that no stream accepts are added to `refused`."""
        numbers = count()
        for segment in segments:
            for rows in segment_rows(self._directory / segment.path, _AT_ONCE):
                columns = (rows.column(name).to_pylist() for name in _STAGED.names)
                for number, key, hash_key, data in zip(numbers, *columns, strict=False):
                    name = f"{epoch.lineage}/{self._table.name}/{epoch.number}/{number}"
                    chosen = key if self._options.partition_key_field else _spread(name)
                    if (error := _wrong(chosen, hash_key, data)) is not None:
                        refused.append(DeadLetter(f"row {number} of {name.rpartition('/')[0]}", error, data))
                        continue
                    yield {
                        "Data": data,
                        "PartitionKey": chosen,
                        **({} if hash_key is None else {"ExplicitHashKey": hash_key}),
                    }


def _spread(name: str) -> str:
    """Return a partition key that spreads rows evenly, and is the same if the row is sent again."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _wrong(key: str, hash_key: str | None, data: bytes) -> str | None:
    if not 1 <= len(key) <= MAX_KEY:
        return f"the partition key has {len(key)} characters, and must have 1 to {MAX_KEY}"
    if hash_key is not None and not (hash_key.isascii() and hash_key.isdigit() and int(hash_key) < 2**128):
        return f"the explicit hash key {hash_key[:60]!r} is not a number from 0 to 2^128 - 1"
    if len(data) + len(key.encode()) > MAX_RECORD:
        return f"the record and its key have {len(data) + len(key.encode())} bytes, and may have {MAX_RECORD}"
    return None


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends records in batches, and repeats the rejected ones."""

    options: KinesisSinkOptions
    client: Any
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def send_all(self, records: Iterator[Record]) -> None:
        """Send all records. Raise TargetUnavailableError if some are not accepted for too long."""
        for batch in self._batches(records):
            self._send(batch)

    def _batches(self, records: Iterator[Record]) -> Iterator[list[Record]]:
        batch: list[Record] = []
        size = 0
        for record in records:
            own = len(record["Data"]) + len(str(record["PartitionKey"]).encode())
            if batch and (len(batch) == self.options.max_records or size + own > self.options.max_bytes):
                yield batch
                batch, size = [], 0
            batch.append(record)
            size += own
        if batch:
            yield batch

    def _send(self, batch: list[Record]) -> None:
        end = self.clock() + self.options.retry_timeout.total_seconds()
        for attempt in count():
            answer = self.client.put_records(StreamName=self.options.stream_name, Records=batch)
            results = zip(batch, answer["Records"], strict=True)
            left = [(record, result) for record, result in results if result.get("ErrorCode")]
            if not left:
                return
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            if self.clock() + pause > end:
                error = left[0][1]
                raise TargetUnavailableError(
                    f"the stream {self.options.stream_name!r} does not accept {len(left)} records: "
                    f"{error['ErrorCode']} {error.get('ErrorMessage', '')}".rstrip(),
                    hint="add shards, or write less; the next start sends the epoch again",
                )
            batch = [record for record, _ in left]
            self.sleep(pause)


class KinesisWriter:
    """Stages a task's rows as records."""

    def __init__(self, table: Table, options: KinesisSinkOptions, segment: ArrowSegment) -> None:
        assert table.format is not None
        self._schema = table.schema
        self._options = options
        self._encoder = make_encoder(table.format, table.schema)
        self._segment = segment

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        if isinstance(self._encoder, DebeziumEncoder):
            data, origin = self._encoder.encode_changes(rows)
            rows = rows.take(origin)
        else:
            data = self._encoder.encode_messages(rows)
        key = self._column(rows, self._options.partition_key_field)
        hash_key = self._column(rows, self._options.explicit_hash_key_field)
        self._segment.write(pa.RecordBatch.from_arrays([key, hash_key, data.cast(pa.binary())], schema=_STAGED))

    def close(self) -> bytes:
        """Finish the segment and name it."""
        return to_message([self._segment.close()])

    def _column(self, rows: pa.RecordBatch, name: str | None) -> pa.Array:
        if name is None:
            return pa.nulls(rows.num_rows, pa.string())
        field = self._schema.find(name)
        assert field is not None
        return rows.column(self._schema.names.index(field.name)).cast(pa.string())
