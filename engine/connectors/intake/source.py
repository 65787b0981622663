"""Source that reads an intake log.

    at                {"log": "9f2c", "segment": 3, "offset": 812}
    the log ends at   segment 5, byte 90
    next              {"log": "9f2c", "segment": 5, "offset": 90}, or earlier if that is too many rows

A log has an id: a state directory that was copied has positions of another log, and begins at the start of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Chunk, Position, Slice, Table
from engine.connectors.intake.log import (
    End,
    Message,
    claim_segments,
    locked,
    read_end,
    read_id,
    read_log,
    records,
    segment_file,
    segment_numbers,
)
from engine.connectors.intake.options import RECEIVED, IntakeOptions
from engine.connectors.message_rows import MessageRows, Messages
from engine.delivery.outbox import is_remote
from engine.errors import DiskNotSharedError, RecordsLostError
from engine.schema import Field, to_arrow

_PARTITION = "log"
_ROWS, _BYTES = 8_192, 8 * 1024 * 1024
_ORIGIN = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Position in the log with the id `log`; at the begin of any log if that is None."""

    log: str | None = None
    segment: int = 0
    offset: int = 0

    def to_json(self) -> Position:
        """Return the entry of Spark's offset log."""
        return {} if self.log is None else {"log": self.log, "segment": self.segment, "offset": self.offset}

    @classmethod
    def from_json(cls, position: Position) -> LogPosition:
        """Read the position from the offset log."""
        assert isinstance(position, dict)
        if not position:
            return cls()
        segment, offset = position["segment"], position["offset"]
        assert isinstance(segment, int)
        assert isinstance(offset, int)
        return cls(str(position["log"]), segment, offset)

    def end_in(self, log: str | None) -> End:
        """Return the place in a log: its begin, unless the position is in that log."""
        return (self.segment, self.offset) if self.log == log else (0, 0)


class IntakeSource:
    """The messages of one table."""

    bounded = False

    def __init__(
        self,
        table: Table,
        options: IntakeOptions,
        metadata: Mapping[str, Field],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table = table
        self._options = options
        self._metadata = metadata
        self._clock = clock

    @property
    def _directory(self) -> Path:
        assert self._table.intake is not None, "a run gives each table its directory"
        return self._table.intake

    def partitions(self) -> Sequence[str]:
        """Return the only partition, which is the log."""
        return (_PARTITION,)

    def start(self, partition: str) -> Position:
        """Return the begin of the log."""
        return LogPosition().to_json()

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the end of the durable messages, or the position that the limit allows."""
        position = LogPosition.from_json(at[_PARTITION])
        log, end = read_id(self._directory), read_end(self._directory)
        begin = position.end_in(log)
        if end is None or begin >= end:
            return at
        with locked(self._directory):
            chosen = self._limited(begin, end, min(self._options.max_rows, max_rows or self._options.max_rows))
            claim_segments(self._directory, chosen[0])
        return {_PARTITION: LogPosition(log, *chosen).to_json()}

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether the position is the end of the durable messages."""
        end = read_end(self._directory)
        return end is None or LogPosition.from_json(at).end_in(read_id(self._directory)) >= end

    def is_finished(self, partition: str, at: Position) -> bool:
        """Return False: more messages may be received."""
        return False

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the range, split where segments begin."""
        first, last = LogPosition.from_json(start), LogPosition.from_json(end)
        if start == end:
            return ()
        begin = first.end_in(last.log)[0]
        count = max(1, min(tasks, last.segment - begin))
        cuts = [begin + (last.segment - begin) * number // count for number in range(1, count)]
        bounds = [start, *(LogPosition(last.log, cut, 0).to_json() for cut in cuts), end]
        return [Slice(partition, low, high) for low, high in pairwise(bounds)]

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Return the messages of a range, and count the dropped ones."""
        if is_remote():
            raise disk_not_shared(self._table.name)
        rows = MessageRows(self._table)
        first, last = LogPosition.from_json(task_slice.start), LogPosition.from_json(task_slice.end)
        may_lack = self._options.on_data_loss == "continue"
        if last.log != read_id(self._directory):
            if may_lack:
                return
            raise RecordsLostError(
                f"the messages that {self._table.name} is to read are in an intake log that is gone",
                hint="set on_data_loss = 'continue' to continue with what is received from now on",
            )
        pending: list[Message] = []
        size = 0
        for message in read_log(self._directory, first.end_in(last.log), last.end_in(last.log), may_lack=may_lack):
            if isinstance(message, int):
                yield Chunk(self._messages_to_rows(rows, []), message)
                continue
            pending.append(message)
            size += len(message.content)
            if len(pending) >= _ROWS or size >= _BYTES:
                yield rows.chunk(self._messages(pending))
                pending, size = [], 0
        if pending:
            yield rows.chunk(self._messages(pending))

    def acknowledge(self, at: Mapping[str, Position]) -> None:
        """Delete segments that committed epochs have read, after their retention."""
        position = LogPosition.from_json(at.get(_PARTITION, {}))
        if position.log is None or position.log != read_id(self._directory):
            return
        latest = self._clock() - self._options.retention.total_seconds()
        for number in segment_numbers(self._directory):
            path = segment_file(self._directory, number)
            if number >= position.segment or path.stat().st_mtime > latest:
                return
            path.unlink()

    def _limited(self, begin: End, end: End, limit: int) -> End:
        """Return the end of the message with the number `limit` after the begin, or the end of the log."""
        for number in segment_numbers(self._directory):
            if not begin[0] <= number <= end[0]:
                continue
            path = segment_file(self._directory, number)
            with path.open("rb") as file:
                last = end[1] if number == end[0] else path.stat().st_size
                for _, at in records(file, begin[1] if number == begin[0] else 0, last):
                    limit -= 1
                    if limit == 0:
                        return number, at
        return end

    def _messages_to_rows(self, rows: MessageRows, messages: Sequence[Message]) -> pa.RecordBatch:
        return rows.chunk(self._messages(messages)).rows

    def _messages(self, messages: Sequence[Message]) -> Messages:
        metadata = {
            key: pa.array([message.metadata.get(key) for message in messages], pa.string()).cast(to_arrow(field.type))
            for key, field in self._metadata.items()
            if key != RECEIVED
        }
        times = [message.received for message in messages]
        metadata[RECEIVED] = pa.array(times, _ORIGIN)
        contents = pa.array([message.content for message in messages], pa.binary())
        table = self._table.name
        return Messages(contents, metadata, lambda index: f"{table}, message received at {times[index]} us")


def disk_not_shared(table: str) -> DiskNotSharedError:
    """Return the error for executors that cannot read an intake log."""
    return DiskNotSharedError(
        f"{table} is read through an intake log in the state directory, which the executors do not see",
        hint="put the state directory on a disk that all executors share, or run the pipeline on one machine",
    )
