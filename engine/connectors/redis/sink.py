"""Write to Redis at least once: tasks stage an epoch's commands in segments, and the driver sends them.

    target = 'string', target.key_prefix = 'user.', target.key_column = 'id'
    row id='7', name='Ann'    staged as ("user.7", NULL, {"id": "7", "name": "Ann"})    sent as SET user.7 {...}

If an epoch is sent twice, after a crash between sending and recording it, strings and hashes are the same, and values
of a list are duplicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import Epoch, Table
from engine.connectors.redis.client import Client, connect, errors_explained
from engine.connectors.redis.options import RedisSinkOptions
from engine.connectors.staged import ArrowSegment, segment_rows, send_unless_sent
from engine.delivery.segments import Segment, to_message
from engine.errors import TargetRefusedError, TargetUnavailableError
from engine.formats import make_encoder

_STAGED = pa.schema([("key", pa.string()), ("field", pa.string()), ("value", pa.binary())])
_AT_ONCE = 1000


class RedisSink:
    """Sends the rows of an epoch in the order of the tasks, a thousand at a time."""

    def __init__(self, table: Table, options: RedisSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> RedisWriter:
        """Return a writer of one segment of commands."""
        return RedisWriter(self._table, self._options, ArrowSegment(self._directory, epoch, task, _STAGED))

    def probe(self) -> None:
        """Raise if the server does not answer, or refuses the login."""
        explained = errors_explained(self._options, TargetUnavailableError, TargetRefusedError)
        with explained, closing(connect(self._options)) as client:
            client.ping()

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Send the epoch, unless it was the last that was sent."""
        send_unless_sent(self._directory, epoch, messages, self._send)

    def _send(self, segments: Sequence[Segment]) -> int:
        explained = errors_explained(self._options, TargetUnavailableError, TargetRefusedError)
        with explained, closing(connect(self._options)) as client:
            for segment in segments:
                for rows in segment_rows(self._directory / segment.path, _AT_ONCE):
                    self._send_rows(client, rows)
        return 0

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
                self._add_to_lists(commands, keys, values)
        commands.execute()

    def _add_to_lists(self, commands: Any, keys: list[str], values: list[bytes]) -> None:
        at_end, most = self._options.operation == "append", self._options.max_length
        push = commands.rpush if at_end else commands.lpush
        for key, value in zip(keys, values, strict=True):
            push(key, value)
        if most is not None:
            first, last = (-most, -1) if at_end else (0, most - 1)
            for key in dict.fromkeys(keys):
                commands.ltrim(key, first, last)


class RedisWriter:
    """Stages a task's rows: key, field and value of each."""

    def __init__(self, table: Table, options: RedisSinkOptions, segment: ArrowSegment) -> None:
        assert table.format is not None
        self._table = table
        self._options = options
        self._encoder = make_encoder(table.format, table.schema)
        self._segment = segment

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        key_ends = self._column(rows, self._options.key_column)
        prefix = self._options.key_prefix
        keys = (
            pa.repeat(prefix, rows.num_rows) if key_ends is None else pc.binary_join_element_wise(prefix, key_ends, "")
        )
        fields = self._column(rows, self._options.field_column)
        fields = pa.nulls(rows.num_rows, pa.string()) if fields is None else fields
        values = self._encoder.encode_messages(rows)
        self._segment.write(pa.RecordBatch.from_arrays([keys, fields, values], schema=_STAGED))

    def close(self) -> bytes:
        """Finish the segment and name it."""
        return to_message([self._segment.close()])

    def _column(self, rows: pa.RecordBatch, name: str | None) -> pa.Array | None:
        if name is None:
            return None
        field = self._table.schema.find(name)
        assert field is not None
        return rows.column(self._table.schema.names.index(field.name))
