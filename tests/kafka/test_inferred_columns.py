"""Columns of a topic are found out from its first records, wherever the table would begin."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.connectors.addresses import ALLOWED
from engine.driver.probe import infer
from engine.errors import MissingTopicError, SchemaUnknownError
from engine.jobs.processes.probes import ProbeOrder, ProbeResult
from tests.connectors.http_serving import serving
from tests.connectors.registry_stub import Stub
from tests.kafka.broker import Broker


def found(broker: Broker, topic: str, **options: Any) -> ProbeResult:
    given = {"type": "source", "topic": topic, "bootstrap_servers": broker.address, "format": "json", **options}
    return infer(ProbeOrder("t", "kafka", given, infer=True), {})


def test_records_of_all_partitions_are_looked_at_also_those_that_are_no_text(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, '{"id": 1}', b"\xff", None)
    broker.produce(topic, '{"id": 2, "name": "x"}', partition=1)

    result = found(broker, topic)

    assert result.columns == (("id", "BIGINT", True), ("name", "TEXT", True))
    assert result.message == "2 columns, from 2 records; 1 of 3 records do not fit them"


def test_the_five_bytes_of_a_registry_and_lines_in_a_message_are_no_part_of_a_record(broker: Broker) -> None:
    topic, lines = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b"\x00\x00\x00\x00\x8f" + b'{"id": 1}')
    broker.produce(lines, '{"a": 1}\n{"b": 2}\n')

    assert found(broker, topic, **{"json.confluent_schema_registry": "true"}).columns == (("id", "BIGINT", True),)
    assert found(broker, lines, framing="newline").columns == (("a", "BIGINT", True), ("b", "BIGINT", True))


def test_an_empty_topic_and_one_that_is_not_there_are_refused(broker: Broker) -> None:
    with pytest.raises(SchemaUnknownError, match="it is empty"):
        found(broker, broker.create_topic())
    with pytest.raises(MissingTopicError):
        found(broker, "nowhere")


def test_a_registry_says_what_records_of_avro_have(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "localhost")
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": ["null", "int"]}]}
    with serving(Stub()) as registry:
        registry.registered.append(("/subjects/orders-value/versions", "AVRO", json.dumps(schema)))
        result = found(
            broker,
            "orders",
            format="avro",
            **{"avro.confluent_schema_registry": True, "schema_registry.endpoint": registry.url},
        )

    assert result.columns == (("id", "INT", True),)
    assert result.message == "1 column, as the newest version of orders-value has them"
