"""Tables over the broker of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.connectors.base import Position, Table
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.positions import ReadPosition
from engine.connectors.kafka.read.source import KafkaSource
from engine.schema import Field, Schema
from engine.types import TEXT
from tests.connectors.tables import between, rows, table
from tests.kafka.broker import Broker

VALUE = Schema((Field("value", TEXT),))


def kafka_table(broker: Broker, topic: str | None, metadata: Mapping[str, str] | None = None, **options: Any) -> Table:
    """A table of texts from the first record on, unless options say otherwise."""
    with_clause = {
        "bootstrap_servers": broker.address,
        "type": "source",
        "format": "raw_string",
        "source__offset": "earliest",
    } | options
    if topic is not None:
        with_clause["topic"] = topic
    return table("kafka", VALUE, metadata, **with_clause)


def kafka_source(of: Table) -> KafkaSource:
    assert isinstance(of.options, KafkaSourceOptions)
    return KafkaSource(of, of.options)


def begin(of: KafkaSource) -> dict[str, Position]:
    return dict(of.begin(of.partitions(), is_first=True))


def place(offset: int) -> Position:
    """A position in a topic whose id is not known."""
    return {"offset": offset, "topic_id": None}


def offsets(at: Mapping[str, Position]) -> list[int]:
    """The offsets of the partitions in order."""
    return [ReadPosition.from_json(at[name]).offset for name in sorted(at)]


def values(of: KafkaSource, first: Mapping[str, Position], last: Mapping[str, Position], tasks: int = 1) -> list[str]:
    return [row["value"] for row in rows(list(between(of, first, last, tasks)))]
