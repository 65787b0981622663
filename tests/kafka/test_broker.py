"""What the other tests of Kafka stand on: a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.broker import PASSWORD, USER, Broker, running


def values(broker: Broker, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
    return [message.value() for message in broker.read(topic, isolation)]


def test_records_survive_a_kill(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, "a", "b")
    broker.produce(topic, "c", partition=1)

    broker.kill()
    broker.restart()

    assert values(broker, topic) == [b"a", b"b", b"c"]


def test_a_reader_of_committed_records_sees_no_aborted_ones(broker: Broker) -> None:
    topic = broker.create_topic()
    with broker.transaction(topic, "no", abort=True):
        assert values(broker, topic) == []
        assert values(broker, topic, "read_uncommitted") == [b"no"]
    with broker.transaction(topic, "yes"):
        pass

    assert values(broker, topic) == [b"yes"]


def test_records_before_an_offset_can_be_forgotten(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a", "b", "c")

    broker.delete_records(topic, before=2)

    assert values(broker, topic) == [b"c"]


def test_broker_accepts_only_clients_with_the_password(broker: Broker) -> None:
    def topics(password: str, patience: int) -> object:
        login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": USER}
        options = broker.client_options(bootstrap_servers=broker.sasl_address, sasl_password=password, **login)
        return AdminClient(options).list_topics(timeout=patience).brokers

    assert topics(PASSWORD, 60)
    with pytest.raises(KafkaException):
        topics("wrong", 3)


def test_three_nodes_outlive_one(tmp_path: Path) -> None:
    with running(tmp_path, nodes=3) as cluster:
        topic = cluster.create_topic(min_insync_replicas=2)
        cluster.produce(topic, "a")
        cluster.nodes[0].kill()
        cluster.produce(topic, "b")
        cluster.restart()

        assert values(cluster, topic) == [b"a", b"b"]
