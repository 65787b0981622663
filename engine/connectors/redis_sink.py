"""Writing to Redis, at least once: tasks stage an epoch's commands in segments, and the driver sends them.

Strings and hashes come out the same when an epoch is sent twice, which happens after a crash between the sending and
the ledger; values of a list are then there twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import Epoch, Table
from engine.connectors.redis import RedisSinkOptions
from engine.connectors.redis_client import Client, connect, told
from engine.delivery.faults import Point, reach
from engine.delivery.gate import admit_unless_taken
from engine.delivery.segments import Segment, drop_segments, from_messages, segment_path, to_message
from engine.errors import TargetUnavailableError
from engine.formats import make_encoder

_STAGED = pa.schema([("key", pa.string()), ("field", pa.string()), ("value", pa.binary())])
_AT_ONCE = 1000


class RedisSink:
    """Sends the rows of an epoch, in the order of the tasks, a thousand at once."""

    def __init__(self, table: Table, options: RedisSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> RedisWriter:
        """A writer of one segment of commands."""
        return RedisWriter(self._table, self._options, segment_path(self._directory, epoch, task, ".arrow"))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Send the epoch, unless it was the last that was sent."""
        admission = admit_unless_taken(self._directory, epoch)
        if admission is not None:
            segments = from_messages(messages)
            if segments:
                reach(Point.BEFORE_WRITE, epoch.number)
                self._send(segments)
                reach(Point.AFTER_WRITE, epoch.number)
            admission.record(sum(segment.rows for segment in segments))
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _send(self, segments: Sequence[Segment]) -> None:
        with told(self._options, TargetUnavailableError), closing(connect(self._options)) as client:
            for segment in segments:
                for rows in _batches(self._directory / segment.path):
                    self._send_rows(client, rows)

    def _send_rows(self, client: Client, rows: pa.RecordBatch) -> None:
        commands: Any = client.pipeline(transaction=False)
        keys, fields, values = (column.to_pylist() for column in rows.columns)
        options = self._options
        match options.target:
            case "string":
                for key, value in zip(keys, values, strict=True):
                    commands.set(key, value, ex=options.ttl_secs)
            case "hash":
                for key, field, value in zip(keys, fields, values, strict=True):
                    commands.hset(key, field, value)
            case "list":
                push = commands.rpush if options.operation == "append" else commands.lpush
                for key, value in zip(keys, values, strict=True):
                    push(key, value)
                if options.max_length is not None:
                    at_end = options.operation == "append"
                    kept = (-options.max_length, -1) if at_end else (0, options.max_length - 1)
                    for key in dict.fromkeys(keys):
                        commands.ltrim(key, *kept)
        commands.execute()


class RedisWriter:
    """Stages a task's rows: of each its key, its field and its value."""

    def __init__(self, table: Table, options: RedisSinkOptions, path: Path) -> None:
        assert table.format is not None
        self._table = table
        self._options = options
        self._encoder = make_encoder(table.format, table.schema)
        self._path = path
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, _STAGED)
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        rest = self._column(rows, self._options.key_column)
        prefix = self._options.key_prefix
        keys = pa.repeat(prefix, rows.num_rows) if rest is None else pc.binary_join_element_wise(prefix, rest, "")
        fields = self._column(rows, self._options.field_column)
        fields = pa.nulls(rows.num_rows, pa.string()) if fields is None else fields
        values = self._encoder.encode_messages(rows)
        self._writer.write(pa.RecordBatch.from_arrays([keys, fields, values], schema=_STAGED))
        self._rows += rows.num_rows

    def close(self) -> bytes:
        """Finish the segment and name it."""
        self._writer.close()
        self._file.close()
        name = self._path.relative_to(self._path.parents[2])
        return to_message([Segment(str(name), self._rows, self._path.stat().st_size, "")])

    def _column(self, rows: pa.RecordBatch, name: str | None) -> pa.Array | None:
        if name is None:
            return None
        field = self._table.schema.find(name)
        assert field is not None
        return rows.column(self._table.schema.names.index(field.name))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_file(file) as reader:
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            for start in range(0, batch.num_rows, _AT_ONCE):
                yield batch.slice(start, _AT_ONCE)
