"""Kinesis source: choose the range of each shard for an epoch, and read its records.

A position is the sequence number of the last record that was read. Kinesis does not say which number is its last, so
the planner reads the records of an epoch to find where it ends; the tasks read them again.

    at                 shard 0 after 4959...12
    the planner reads  4959...15, 4959...19, 4959...23
    next               shard 0 after 4959...23; a task reads from behind ...12 until it has ...23
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pyarrow as pa

from engine.connectors.base import Chunk, Position, Slice, Table
from engine.connectors.kafka.read.positions import share
from engine.connectors.kinesis.client import EXPIRED, GONE, ClientError, code_of, connect, errors_explained
from engine.connectors.kinesis.options import KinesisSourceOptions
from engine.connectors.kinesis.positions import Shard, ShardPosition, readable, stated_numbers
from engine.connectors.message_rows import MessageRows, Messages
from engine.errors import RecordsLostError
from engine.values.instants import to_micros
from engine.values.start_positions import EARLIEST, read_start, to_millis_up

_AT_ONCE = 10_000
"""Most records that Kinesis returns for one request."""
_REQUESTS = 4
"""Requests for one shard and epoch while more records follow."""
_SHARDS_AT_ONCE = 8
_GO_ON = "set on_data_loss = 'continue' to continue with the records that exist"


@dataclass(slots=True)
class _Cursor:
    """State of the planner in a shard behind `position`: the numbers of records that no epoch has yet, and the iterator
    behind them, which is None at the end of the shard."""

    position: ShardPosition
    numbers: deque[str] = field(default_factory=deque)
    iterator: str | None = None
    is_open: bool = True
    is_behind: bool = True
    looked: float | None = None

    def moved_to(self, position: ShardPosition) -> bool:
        """Forget the records up to the position. Return False if the cursor is not before it."""
        if self.position != position and position.after in self.numbers:
            while self.numbers.popleft() != position.after:
                pass
            self.position = position
        return self.position == position


class KinesisSource:
    """The shards of a stream. The planner reads numbers on the driver, the tasks read rows."""

    bounded = False

    def __init__(
        self,
        table: Table,
        options: KinesisSourceOptions,
        *,
        client: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._options = options
        self._clock = clock
        self._given_client = client
        self._shards: Mapping[str, Shard] = {}
        self._server_time = datetime.now(UTC)
        self._discovered: float | None = None
        self._at: Mapping[str, ShardPosition] | None = None
        self._cursors: dict[str, _Cursor] = {}

    @property
    def patience(self) -> timedelta:
        """Return how long requests may be throttled or repeated."""
        return timedelta(minutes=2)

    def partitions(self) -> Sequence[str]:
        """Return the shards whose parents are read to the end. A pipeline that begins with the newest records has all
        shards, so that none of them counts as new later."""
        self._discover()
        if self._at is None:
            is_latest = (self._table.start or read_start(self._options.offset)).word in ("latest", "offsets")
            return list(self._shards) if is_latest else readable(self._shards, (), ())
        ended = {name for name, position in self._at.items() if position.is_end}
        return readable(self._shards, ended, self._at)

    def start(self, partition: str) -> Position:
        """Return the start of a shard that is read from now on."""
        return self.begin([partition], is_first=True)[partition]

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Return the start positions: as the run or `source.offset` defines for shards that exist when the pipeline
        starts, and the first record for later ones."""
        if not self._shards:
            self._discover()
        start = (self._table.start or read_start(self._options.offset)) if is_first else EARLIEST
        match start.word:
            case "latest":
                since = int(self._server_time.timestamp()) * 1000
                shards = {name: self._shards.get(name, Shard(name)) for name in partitions}
                begins = {
                    name: ShardPosition(since=since) if shard.is_open else ShardPosition(is_end=True)
                    for name, shard in shards.items()
                }
            case "timestamp":
                assert start.instant is not None
                begins = dict.fromkeys(partitions, ShardPosition(since=to_millis_up(start.instant)))
            case "offsets":
                stated = stated_numbers(self._table.name, dict(start.offsets), self._shards)
                begins = {name: stated[name] for name in partitions}
            case _:
                begins = dict.fromkeys(partitions, ShardPosition())
        return {name: position.to_json() for name, position in begins.items()}

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the newest records that the planner has read, or as many as the limits of an epoch allow."""
        positions = {name: ShardPosition.from_json(position) for name, position in at.items()}
        self._at = positions
        ended = {name for name, position in positions.items() if position.is_end}
        waiting = {name for name, shard in self._shards.items() if set(shard.parents) & (positions.keys() - ended)}
        names = [name for name in positions if name not in ended and name not in waiting]
        limit = min(self._options.max_rows, max_rows or self._options.max_rows)
        self._look(names, positions, limit)
        queues = {name: self._cursors[name].numbers for name in names}
        shares = share({name: len(numbers) for name, numbers in queues.items()}, limit)
        following = dict(at)
        for name in names:
            cursor, count = self._cursors[name], shares[name]
            is_end = not cursor.is_open and count == len(cursor.numbers)
            last = cursor.numbers[count - 1] if count else None
            following[name] = positions[name].moved(last, is_end=is_end).to_json()
            if is_end:
                self._discovered = None  # its children are there already
        return following

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether the shard had no more records when it was last read."""
        position, cursor = ShardPosition.from_json(at), self._cursors.get(partition)
        if position.is_end or cursor is None or cursor.is_behind:
            return position.is_end
        last = cursor.numbers[-1] if cursor.numbers else cursor.position.after
        return position.after == last and (last is not None or position == cursor.position)

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether the shard was split or merged and is read to its end."""
        return ShardPosition.from_json(at).is_end

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return a single slice: the sequence numbers within a range are unknown."""
        return () if start == end else (Slice(partition, start, end),)

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Yield the records of a range of a shard."""
        first, last = ShardPosition.from_json(task_slice.start), ShardPosition.from_json(task_slice.end)
        if last.after is None or last.after == first.after:
            return
        rows, end = MessageRows(self._table), int(last.after)
        with errors_explained(self._options):
            iterator = self._iterator(task_slice.partition, first)
        while True:
            if iterator is None:
                self._tell_loss(task_slice.partition, f"the record {end} that was there before")
                return
            with errors_explained(self._options):
                answer = self._client.get_records(ShardIterator=iterator, Limit=_AT_ONCE)
            records = [record for record in answer["Records"] if int(record["SequenceNumber"]) <= end]
            if records:
                yield rows.chunk(self._messages(task_slice.partition, records))
            if records and int(records[-1]["SequenceNumber"]) == end:
                return
            is_behind = len(records) == len(answer["Records"]) and (records or answer.get("MillisBehindLatest", 0) > 0)
            iterator = answer.get("NextShardIterator") if is_behind else None

    @property
    def _client(self) -> Any:
        if self._given_client is not None:
            return self._given_client
        with errors_explained(self._options):
            return connect(self._options)

    def _discover(self) -> None:
        interval = self._options.discovery_interval.total_seconds()
        if self._discovered is not None and self._clock() - self._discovered < interval:
            return
        found: dict[str, Shard] = {}
        request: dict[str, str] = {"StreamName": self._options.stream_name}
        with errors_explained(self._options):
            while True:
                answer = self._client.list_shards(**request)
                found |= {shard["ShardId"]: _shard(shard) for shard in answer["Shards"]}
                if not answer.get("NextToken"):
                    break
                request = {"NextToken": answer["NextToken"]}
        sent = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        self._server_time = datetime.now(UTC) if sent is None else parsedate_to_datetime(sent)
        self._shards = found
        self._discovered = self._clock()

    def _look(self, names: Sequence[str], positions: Mapping[str, ShardPosition], limit: int) -> None:
        """Read on in the shards that are due."""
        due: list[tuple[str, _Cursor]] = []
        now, pause = self._clock(), self._options.poll_interval.total_seconds()
        for name in names:
            cursor = self._cursors.get(name)
            if cursor is None or not cursor.moved_to(positions[name]):
                cursor = self._cursors[name] = _Cursor(positions[name])
            is_due = cursor.looked is None or now - cursor.looked >= pause
            if is_due and cursor.is_open and len(cursor.numbers) < limit:
                cursor.looked = now
                due.append((name, cursor))
        if not due:
            return
        client = self._client
        with errors_explained(self._options), ThreadPoolExecutor(min(_SHARDS_AT_ONCE, len(due))) as pool:
            list(pool.map(lambda pair: self._read_on(client, pair[0], pair[1], limit), due))

    def _read_on(self, client: Any, name: str, cursor: _Cursor, limit: int) -> None:
        """Add the numbers of the next records of a shard."""
        # what is known to be closed before the request gets no records after it
        is_closed = name in self._shards and not self._shards[name].is_open
        for _ in range(_REQUESTS):
            if cursor.iterator is None:
                behind = cursor.numbers[-1] if cursor.numbers else None
                cursor.iterator = self._iterator(name, cursor.position.moved(behind, is_end=False))
                if cursor.iterator is None:
                    cursor.is_open = cursor.is_behind = False
                    return
            try:
                answer = client.get_records(ShardIterator=cursor.iterator, Limit=_AT_ONCE)
            except ClientError as wrong:
                if code_of(wrong) != EXPIRED:
                    raise
                cursor.iterator = None  # it is valid for five minutes
                continue
            cursor.numbers.extend(record["SequenceNumber"] for record in answer["Records"])
            cursor.iterator = answer.get("NextShardIterator")
            cursor.is_behind = answer.get("MillisBehindLatest", 0) > 0 or len(answer["Records"]) >= _AT_ONCE
            ends = is_closed and not answer["Records"] and not cursor.is_behind
            if cursor.iterator is None or ends:
                cursor.is_open = cursor.is_behind = False
                return
            if not (cursor.is_behind or (is_closed and answer["Records"])) or len(cursor.numbers) >= limit:
                return

    def _iterator(self, shard: str, position: ShardPosition) -> str | None:
        """Return the iterator after a position; None if the shard is gone and the table continues without it."""
        if position.after is not None:
            begin = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": position.after}
        elif position.at is not None:
            begin = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": position.at}
        elif position.since is not None:
            since = datetime.fromtimestamp(position.since / 1000, UTC)
            begin = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": since}  # type: ignore[dict-item]
        else:
            begin = {"ShardIteratorType": "TRIM_HORIZON"}
        try:
            answer = self._client.get_shard_iterator(StreamName=self._options.stream_name, ShardId=shard, **begin)
        except ClientError as wrong:
            if code_of(wrong) != GONE or not self._is_stream_there():
                raise
            self._tell_loss(shard, "the shard")
            return None
        return str(answer["ShardIterator"])

    def _is_stream_there(self) -> bool:
        try:
            self._client.list_shards(StreamName=self._options.stream_name, MaxResults=1)
        except ClientError as wrong:
            if code_of(wrong) != GONE:
                raise
            return False
        return True

    def _tell_loss(self, shard: str, lost: str) -> None:
        if self._options.on_data_loss == "fail":
            raise RecordsLostError(
                f"{lost} is gone from shard {shard!r} of the stream {self._options.stream_name!r}",
                hint=f"{_GO_ON}; let the stream keep records for longer than a pipeline may be stopped",
            )

    def _messages(self, shard: str, records: Sequence[Mapping[str, Any]]) -> Messages:
        numbers = [record["SequenceNumber"] for record in records]
        arrivals = [to_micros(record["ApproximateArrivalTimestamp"]) for record in records]
        stream = self._options.stream_name
        metadata = {
            "shard": pa.repeat(pa.scalar(shard), len(records)),
            "sequence_number": pa.array(numbers, pa.string()),
            "partition_key": pa.array([record["PartitionKey"] for record in records], pa.string()),
            "event_time": pa.array(arrivals, pa.timestamp("us", tz="UTC")),
        }
        contents = pa.array([record["Data"] for record in records], pa.binary())
        return Messages(contents, metadata, lambda index: f"stream {stream!r}, {shard}, record {numbers[index]}")


def _shard(listed: Mapping[str, Any]) -> Shard:
    parents = (listed.get("ParentShardId"), listed.get("AdjacentParentShardId"))
    is_open = listed["SequenceNumberRange"].get("EndingSequenceNumber") is None
    return Shard(listed["ShardId"], tuple(filter(None, parents)), is_open)
