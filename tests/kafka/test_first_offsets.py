"""Offsets that a person names, and where a topic is read from then on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.connectors.kafka.read.first_offsets import stated_offsets
from engine.connectors.kafka.read.positions import ReadPosition
from engine.connectors.kafka.read.source import KafkaSource
from engine.errors import StartPositionError
from engine.values.start_positions import read_start
from tests.kafka.broker import Broker
from tests.kafka.tables import begin, kafka_source, kafka_table, offsets, values

ONE_TOPIC = {"orders/0": (0, 30), "orders/1": (5, 9)}


def test_partitions_of_one_topic_are_named_by_their_numbers() -> None:
    assert stated_offsets("t", {"0": 12, "1": 9}, ONE_TOPIC) == {"orders/0": 12, "orders/1": 9}


def test_partitions_of_several_topics_are_named_by_both() -> None:
    ranges = {"orders/0": (0, 30), "sales/0": (0, 9)}

    assert stated_offsets("t", {"orders/0": 12, "sales/0": 0}, ranges) == {"orders/0": 12, "sales/0": 0}
    with pytest.raises(StartPositionError, match="has no partition '0'"):
        stated_offsets("t", {"0": 12}, ranges)


@pytest.mark.parametrize(
    ("offsets", "complaint"),
    [
        ({"0": 12}, "no offset is named for partition '1'"),
        ({"0": 12, "1": 5, "2": 0}, "has no partition '2'"),
        ({"0": 12, "1": 4}, "from 5 to 9, and not 4"),
        ({"0": 31, "1": 5}, "from 0 to 30, and not 31"),
    ],
)
def test_offsets_that_are_not_there_are_refused(offsets: dict[str, int], complaint: str) -> None:
    with pytest.raises(StartPositionError, match=complaint):
        stated_offsets("t", offsets, ONE_TOPIC)


def test_a_topic_is_read_from_the_offset_or_the_instant_that_is_named(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, "a", "b", "c")
    broker.produce(topic, "d", partition=1)
    plain = kafka_table(broker, topic, source__offset='offsets:{"0": 1, "1": 1}')
    future, past = (datetime(year, 1, 1, tzinfo=UTC) for year in (2100, 2000))

    def read(start: str | None) -> list[str]:
        source = kafka_source(replace(plain, start=None if start is None else read_start(start)))
        first = begin(source)
        return values(source, first, source.advance(first, None))

    assert read(None) == ["b", "c"]
    assert read('offsets:{"0": 3, "1": 0}') == ["d"]
    assert read(f"timestamp:{past:%Y-%m-%d}T00:00:00Z") == ["a", "b", "c", "d"]
    assert read(f"timestamp:{future:%Y-%m-%d}T00:00:00Z") == []


def test_history_ends_before_the_first_open_transaction_or_at_offsets_that_are_named(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, "a", "b")
    broker.produce(topic, "c", partition=1)
    source = kafka_source(kafka_table(broker, topic))
    first = begin(source)

    with broker.transaction(topic, "open"):
        assert offsets(source.ends_now(first, {})) == [2, 1]
    assert offsets(source.ends_now(first, {"0": 1, "1": 0})) == [1, 0]
    with pytest.raises(StartPositionError, match="from 0 to 1, and not 5"):
        source.ends_now(first, {"0": 1, "1": 5})


def test_smaller_offset_within_one_topic_sorts_first() -> None:
    source = KafkaSource.__new__(KafkaSource)
    near, far, other = ReadPosition(3, "a").to_json(), ReadPosition(7, "a").to_json(), ReadPosition(1, "b").to_json()

    assert source.earlier(near, far) == source.earlier(far, near) == near
    assert source.earlier(other, far) == far, "what it was in is gone"
