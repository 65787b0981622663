"""Kafka source: choose the offset ranges of an epoch, and read their rows.

A position is the next offset of a partition, with the id of its topic. The begin of the partitions is stored before
they are read, since 'latest' changes all the time. An epoch ends at the last stable offset, because a transaction that
ends later can change only records after it.

    at      {"orders/0": {"offset": 10, ...}, "orders/1": {"offset": 10, ...}}
    ends    orders/0 at 110, orders/1 at 20, and source.max_rows_per_epoch = 22: 100 and 10 records wait
    next    {"orders/0": {"offset": 29, ...}, "orders/1": {"offset": 13, ...}}
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from engine.connectors.base import Chunk, Position, Slice, Table
from engine.connectors.kafka.read.brokers import Brokers
from engine.connectors.kafka.read.fetch import reader_of
from engine.connectors.kafka.read.first_offsets import stated_offsets
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.positions import ReadPosition, partition_name, share, split_name
from engine.connectors.kafka.read.rows import RowMaker
from engine.errors import MissingTopicError, RecordsLostError, TopicRecreatedError
from engine.values.start_positions import EARLIEST, StartPosition, read_start, to_millis_up

_LOOK_AGAIN = 0.02
"""Seconds between two requests for new records. Spark polls a hundred times per second."""
_CHANGE_OF_LEADER = 10.0
"""Seconds for which a partition may have no leader, or a leader that lags and so ends before the read position."""
_SMALLEST_SLICE = 50_000
_GO_ON = "set on_data_loss = 'continue' to continue with the records that exist"


class KafkaSource:
    """The partitions of the table's topics. It asks the brokers on the driver, and reads in the tasks."""

    bounded = False

    def __init__(
        self, table: Table, options: KafkaSourceOptions, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._table = table
        self._options = options
        self._clock = clock
        self._group = options.group(table.job, table.name)
        self._brokers = Brokers(options, self._group)
        self._topics: Mapping[str, Mapping[str, str | None]] = {}
        self._discovered: float | None = None
        self._looked: float | None = None
        self._broken: dict[str, float] = {}
        self._ends: Mapping[str, int] = {}
        self._waits_since: float | None = None

    @property
    def patience(self) -> timedelta:
        """Return how long brokers may fail to answer."""
        return self._options.broker_timeout

    def partitions(self) -> Sequence[str]:
        """Return the partitions of all topics; the list is refreshed from time to time."""
        if (
            self._discovered is None
            or self._clock() - self._discovered >= self._options.discovery_interval.total_seconds()
        ):
            self._discover()
        return [name for partitions in self._topics.values() for name in partitions]

    def start(self, partition: str) -> Position:
        """Return the start of a partition that is read from now on."""
        return self.begin([partition], is_first=True)[partition]

    def begin(self, partitions: Collection[str], *, is_first: bool) -> Mapping[str, Position]:
        """Return the start positions: as the run or `source.offset` defines for partitions that exist when the pipeline
        starts, and the first record for later ones."""
        missing = [name for name in self._options.topics if name not in self._topics]
        if is_first and missing:
            raise MissingTopicError(
                f"there is no topic {missing[0]!r} at {self._options.bootstrap_servers}",
                hint="create it, or check the option 'topic'",
            )
        stated = self._table.start or read_start(self._options.offset)
        offsets = self._first_offsets(partitions, stated if is_first else EARLIEST)
        return {name: ReadPosition(offset, self._topic_id(name)).to_json() for name, offset in offsets.items()}

    def _first_offsets(self, partitions: Collection[str], start: StartPosition) -> Mapping[str, int]:
        if start.word == "latest":
            return self._brokers.ends(partitions, all_of_them=True)
        if start.word == "timestamp":
            assert start.instant is not None
            return self._brokers.starts_at(partitions, to_millis_up(start.instant))
        offsets = self._brokers.starts(partitions, all_of_them=True)
        if start.word == "earliest":
            return offsets
        ends = self._brokers.ends(partitions, all_of_them=True)
        if start.word == "offsets":
            ranges = {name: (offsets[name], ends[name]) for name in offsets}
            return stated_offsets(self._table.name, dict(start.offsets), ranges)
        for name, committed in self._brokers.committed(partitions).items():
            offsets[name] = min(max(committed, offsets[name]), ends[name])
        return offsets

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the last stable offsets, or the offsets that the limits of an epoch allow."""
        if self._looked is not None and self._clock() - self._looked < _LOOK_AGAIN:
            return at
        self._looked = self._clock()
        positions = {name: ReadPosition.from_json(position) for name, position in at.items()}
        ends = self._ends = self._brokers.ends(list(positions))
        moving = [name for name, position in positions.items() if ends.get(name) != position.offset]
        if not moving:
            return at
        self._discover()
        starts = self._brokers.starts(moving)
        first = {name: self._checked(name, positions[name], starts.get(name), ends.get(name)) for name in moving}
        waiting = {name: max(0, ends.get(name, 0) - position.offset) for name, position in first.items()}
        limit = self._limit(first, waiting, max_rows)
        if self._is_put_off(sum(waiting.values()), limit):
            return at
        shares = share(waiting, limit)
        return {**at, **{name: position.moved(shares[name]).to_json() for name, position in first.items()}}

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the last stable offsets, or the offsets in `stop`."""
        begins = {name: ReadPosition.from_json(position) for name, position in at.items()}
        offsets: Mapping[str, int] = self._brokers.ends(list(begins), all_of_them=True)
        if stop:
            ranges = {name: (begins[name].offset, end) for name, end in offsets.items()}
            offsets = stated_offsets(self._table.name, stop, ranges)
        return {name: replace(begin, offset=offsets[name]).to_json() for name, begin in begins.items()}

    def earlier(self, first: Position, second: Position) -> Position:
        """Return the position with the smaller offset; of two topics of the same name, that of the topic whose end was
        requested."""
        one, other = ReadPosition.from_json(first), ReadPosition.from_json(second)
        return first if one.topic_id == other.topic_id and one.offset < other.offset else second

    def waiting(self, at: Mapping[str, Position]) -> Mapping[str, int]:
        """Count the offsets after the positions, up to the last stable ones. Offsets without a record count, too."""
        return {
            name: max(0, self._ends.get(name, 0) - ReadPosition.from_json(position).offset)
            for name, position in at.items()
        }

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether the position is the last stable offset."""
        return self._ends.get(partition) == ReadPosition.from_json(at).offset

    def is_finished(self, partition: str, at: Position) -> bool:
        """Return False: a topic has no end."""
        return False

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the range of offsets in about equal parts."""
        first, last = ReadPosition.from_json(start), ReadPosition.from_json(end)
        self.partitions()
        self._check_topic(partition, last)
        begin = first.offset if first.topic_id == last.topic_id else 0
        if begin >= last.offset:
            return ()
        count = max(1, min(tasks, (last.offset - begin) // _SMALLEST_SLICE))
        offsets = [begin + (last.offset - begin) * number // count for number in range(count + 1)]
        cuts = [ReadPosition(offset, last.topic_id).to_json() for offset in offsets]
        return [Slice(partition, cut, next_cut) for cut, next_cut in pairwise(cuts)]

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Yield the rows of a range of offsets. Control records and aborted ones leave gaps; records without a value
        are skipped."""
        make = RowMaker(self._table)
        topic, number = split_name(task_slice.partition)
        first, last = ReadPosition.from_json(task_slice.start).offset, ReadPosition.from_json(task_slice.end).offset
        for records in reader_of(self._options, self._group).read(topic, number, first, last):
            yield make.chunk(records)

    def acknowledge(self, at: Mapping[str, Position]) -> None:
        """Commit to the consumer group, for those who watch it."""
        self._brokers.commit({name: ReadPosition.from_json(position).offset for name, position in at.items()})

    def _discover(self) -> None:
        topics = self._brokers.topics()
        self._discovered = self._clock()
        self._topics = {
            topic: {partition_name(topic, number): topic_id for number in range(count)}
            for topic, (count, topic_id) in sorted(topics.items())
        }

    def _topic_id(self, partition: str) -> str | None:
        return self._topics.get(split_name(partition)[0], {}).get(partition)

    def _checked(self, name: str, position: ReadPosition, start: int | None, end: int | None) -> ReadPosition:
        """Return the position at which a partition is read next. Raise if records are lost, unless the table continues
        without them."""
        topic, number = split_name(name)
        goes_on = self._options.on_data_loss == "continue"
        if start is None or end is None:
            if goes_on or (name in self._topics.get(topic, {}) and self._may_mend(name)):
                return position
            raise MissingTopicError(
                f"partition {number} of topic {topic!r}, read up to offset {position.offset}, no longer exists",
                hint=f"if the topic was deleted, create it again, or {_GO_ON}",
            )
        if not self._check_topic(name, position):
            return ReadPosition(start, self._topic_id(name))
        if end < position.offset:
            return self._behind_the_end(name, position, end)
        self._broken.pop(name, None)
        if start > position.offset and not goes_on:
            raise RecordsLostError(
                f"partition {number} of topic {topic!r} begins at offset {start}, and was read up to "
                f"{position.offset}: {start - position.offset} records are gone",
                hint=f"{_GO_ON}; let the topic keep records for longer than a pipeline may stand still",
            )
        return position

    def _behind_the_end(self, name: str, position: ReadPosition, end: int) -> ReadPosition:
        """Return the position at which a partition is read next that ends before the recorded position."""
        if self._may_mend(name):
            return position
        if self._options.on_data_loss == "fail":
            topic, number = split_name(name)
            raise RecordsLostError(
                f"partition {number} of topic {topic!r} ends at offset {end}, and was read up to {position.offset}",
                hint=f"check whether a broker has lost records; then {_GO_ON}",
            )
        return ReadPosition(end, position.topic_id)

    def _may_mend(self, partition: str) -> bool:
        """Whether the fault of a partition may be an election of its leader that is in progress."""
        return self._clock() - self._broken.setdefault(partition, self._clock()) < _CHANGE_OF_LEADER

    def _check_topic(self, partition: str, position: ReadPosition) -> bool:
        """Whether the topic is still that of the position. Raise if not, unless the table continues nevertheless."""
        topic_id = self._topic_id(partition)
        if topic_id == position.topic_id or topic_id is None or position.topic_id is None:
            return True
        if self._options.on_data_loss == "fail":
            topic, number = split_name(partition)
            raise TopicRecreatedError(
                f"topic {topic!r} was deleted and created again after partition {number} was read up to "
                f"{position.offset}",
                hint=f"{_GO_ON}, from the first one of the new topic",
            )
        return False

    def _is_put_off(self, waiting: int, limit: int) -> bool:
        """Whether the epoch is not full, and its records have not waited for long."""
        if not 0 < waiting < limit:
            self._waits_since = None
            return False
        now = self._clock()
        self._waits_since = now if self._waits_since is None else self._waits_since
        if now - self._waits_since < self._options.fill_time.total_seconds():
            return True
        self._waits_since = None
        return False

    def _limit(self, first: Mapping[str, ReadPosition], waiting: Mapping[str, int], max_rows: int | None) -> int:
        limit = min(self._options.max_rows, max_rows or self._options.max_rows)
        if self._options.max_bytes is not None:
            size = self._brokers.record_size(
                {name: position.offset for name, position in first.items() if waiting[name]}
            )
            limit = min(limit, max(1, int(self._options.max_bytes / size)))
        return limit
