"""Columns of the records of one partition, as the client or Spark returns them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from engine.connectors.kafka.read.options import METADATA
from engine.schema import to_arrow

if TYPE_CHECKING:
    from confluent_kafka import Message

_Headers: TypeAlias = "dict[str, str | bytes | None] | list[tuple[str, str | bytes | None]] | None"


class PartitionRecords(Protocol):
    """Records of one partition, in order, and the number of records before them that were lost."""

    @property
    def topic(self) -> str:
        """Return the topic of the records."""

    @property
    def partition(self) -> int:
        """Return the number of their partition."""

    @property
    def lost(self) -> int:
        """Return how many earlier records were lost."""

    def values(self) -> pa.BinaryArray:
        """Return the values; NULL for records without one."""

    def offset(self, index: int) -> int:
        """Return the offset of a record."""

    def around(self, key: str) -> pa.Array:
        """Return a metadata column of the records, by the name that scripts use."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Records from the Kafka client."""

    topic: str
    partition: int
    messages: list[Message]
    lost: int = 0

    def values(self) -> pa.BinaryArray:
        """Return the values."""
        return pa.array([message.value() for message in self.messages], pa.binary())

    def offset(self, index: int) -> int:
        """Return the offset of a record."""
        return self.messages[index].offset() or 0

    def around(self, key: str) -> pa.Array:
        """Return a metadata column of the records."""
        kind, messages = to_arrow(METADATA[key].type), self.messages
        match key:
            case "topic":
                return pa.repeat(self.topic, len(messages))
            case "partition":
                return pa.repeat(pa.scalar(self.partition, kind), len(messages))
            case "offset_id":
                return pa.array([message.offset() for message in messages], kind)
            case "timestamp":
                return pa.array([message.timestamp()[1] for message in messages], kind)
            case "event_time":
                millis = pa.array([message.timestamp()[1] for message in messages], pa.int64())
                return millis.cast(pa.timestamp("ms", tz="UTC")).cast(kind)
            case "key":
                return pa.array([message.key() for message in messages], kind)
            case "headers":
                return pa.array([_headers(message.headers()) for message in messages], kind)
        raise TypeError(key)


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Records from Spark's Kafka source, which does not report lost records."""

    topic: str
    partition: int
    rows: pa.RecordBatch
    lost: int = 0

    def values(self) -> pa.BinaryArray:
        """Return the values."""
        return self.rows.column("value")

    def offset(self, index: int) -> int:
        """Return the offset of a record."""
        return int(self.rows.column("offset")[index].as_py())

    def around(self, key: str) -> pa.Array:
        """Return a metadata column of the records."""
        kind, count = to_arrow(METADATA[key].type), self.rows.num_rows
        match key:
            case "topic":
                return pa.repeat(self.topic, count)
            case "partition":
                return pa.repeat(pa.scalar(self.partition, kind), count)
            case "key":
                return self.rows.column(key).cast(kind)
            case "headers":
                # Spark says NULL where there are none
                return pa.array([headers or [] for headers in self.rows.column(key).to_pylist()], kind)
            case "offset_id":
                return self.rows.column("offset").cast(kind)
            case "timestamp":
                return self.rows.column("timestamp").cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
            case "event_time":
                return self.rows.column("timestamp").cast(kind)
        raise TypeError(key)


def _headers(headers: _Headers) -> list[dict[str, object]]:
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    return [{"key": key, "value": value} for key, value in pairs]
