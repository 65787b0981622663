"""What the sink does when its ledger in Kafka is not what it should be: a named error, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition

from engine.connectors.base import Epoch, SinkContext
from engine.connectors.kafka.client import ClientConfig
from engine.connectors.kafka.write.broker_check import check_broker
from engine.connectors.kafka.write.exactly_once import ExactlyOnceSink
from engine.connectors.kafka.write.failures import write_failure
from engine.connectors.kafka.write.ledger import KafkaLedger
from engine.connectors.kafka.write.lost_ledgers import recall
from engine.connectors.kafka.write.options import KafkaSinkOptions
from engine.connectors.kafka.write.producer import producer_config
from engine.delivery.ledger import LedgerEntry
from engine.errors import EngineError, LedgerForeignError, LedgerLostError, TransactionsUnsafeError
from tests.kafka.broker import Broker
from tests.kafka.sink_pipeline import EPOCHS, directory, expected, make_topic, numbers, run, settled, take_epoch, target

NAME = "arroyo..t.one.0"
"""The group of the first part of table `t`, in a history called `one`."""


def refusal(work: Callable[[], object]) -> EngineError:
    with pytest.raises(EngineError) as refused:
        work()
    assert refused.value.hint
    return refused.value


def ledger(broker: Broker, topic: str) -> list[LedgerEntry]:
    with KafkaLedger(broker.client_options(), NAME, topic) as kafka_ledger:
        return kafka_ledger.read()


def overwrite(broker: Broker, topic: str, metadata: str) -> None:
    offsets = ConsumerGroupTopicPartitions(NAME, [TopicPartition(topic, 0, 7, metadata=metadata)])
    for future in broker.admin.alter_consumer_group_offsets([offsets]).values():
        future.result()


@pytest.fixture
def topic(broker: Broker, tmp_path: Path) -> str:
    """A topic that has two epochs. Its ledger is in a group that all these tests share, so nothing else may use it."""
    topic = make_topic(broker)
    run(target(broker.address, topic), tmp_path, until=2)
    return topic


def test_the_ledger_says_what_was_written_last(broker: Broker, topic: str) -> None:
    assert ledger(broker, topic) == [LedgerEntry("one", 1, "offsets-1", 1, rows=10)]


def test_an_epoch_without_rows_asks_kafka_for_nothing(broker: Broker, topic: str, tmp_path: Path) -> None:
    take_epoch(target("127.0.0.1:9", topic), tmp_path, 2, rows=[])

    assert [entry.epoch for entry in ledger(broker, topic)] == [1]


def test_a_ledger_is_written_again_before_the_broker_forgets_it(broker: Broker, topic: str, tmp_path: Path) -> None:
    of, now = target(broker.address, topic), datetime.now(UTC)
    assert isinstance(of.options, KafkaSinkOptions)
    for number, passed in ((2, timedelta(hours=23)), (3, timedelta(hours=25)), (4, timedelta(hours=30))):
        context = SinkContext(directory(tmp_path))
        sink = ExactlyOnceSink(of, of.options, context, clock=lambda passed=passed: now + passed)  # type: ignore[misc]
        sink.commit(Epoch(number, "one", 1, f"offsets-{number}"), [])

    assert [entry.epoch for entry in ledger(broker, topic)] == [3]


def test_a_deleted_group_stops_the_job_until_a_savepoint_is_restored(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    broker.admin.delete_consumer_groups([NAME])[NAME].result()

    refused = refusal(lambda: run(target(broker.address, topic), tmp_path))
    assert refused.code == LedgerLostError.code
    assert "restore the newest savepoint" in (refused.hint or "")
    assert numbers(settled(broker, topic)) == expected(2)

    run(target(broker.address, topic), tmp_path, lineage="two", generation=2, parents=(("one", 1),))
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_topic_that_was_made_anew_stops_the_job(broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.delete_topic(topic)
    make_topic(broker, topic)

    assert refusal(lambda: run(target(broker.address, topic), tmp_path)).code == LedgerLostError.code
    assert numbers(settled(broker, topic)) == []


@pytest.mark.parametrize("metadata", ['{"L":"else","N":1,"H":"h","G":1,"rows":1}', "", '{"L":"one"}', "[]"])
def test_a_ledger_that_somebody_else_has_written_stops_the_job(
    metadata: str, broker: Broker, topic: str, tmp_path: Path
) -> None:
    overwrite(broker, topic, metadata)

    assert refusal(lambda: run(target(broker.address, topic), tmp_path)).code == LedgerForeignError.code
    assert numbers(settled(broker, topic)) == expected(2)


def test_an_old_copy_of_the_state_stops_the_job(broker: Broker, topic: str, tmp_path: Path) -> None:
    shutil.copytree(tmp_path, tmp_path / "copy")
    run(target(broker.address, topic), tmp_path)

    refused = refusal(lambda: run(target(broker.address, topic), tmp_path / "copy"))
    assert refused.code == "delivery.ledger_ahead"
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_an_epoch_over_another_range_stops_the_job(broker: Broker, topic: str, tmp_path: Path) -> None:
    overwrite(broker, topic, '{"L":"one","N":2,"H":"elsewhere","G":1,"rows":1}')

    assert refusal(lambda: run(target(broker.address, topic), tmp_path)).code == "delivery.offsets_differ"
    assert numbers(settled(broker, topic)) == expected(2)


def test_a_restore_to_an_older_epoch_writes_its_rows_once_more(broker: Broker, topic: str, tmp_path: Path) -> None:
    run(target(broker.address, topic), tmp_path)
    (tmp_path / "commits").write_text("0\n1\n")

    run(target(broker.address, topic), tmp_path, lineage="two", generation=2, parents=(("one", 1),))

    written = [*expected(EPOCHS), *expected(EPOCHS)[20:]]
    values = [json.loads(message.value() or b"")["n"] for message in settled(broker, topic)]
    assert sorted(values) == sorted(written)


@pytest.mark.parametrize("damage", ["{", "[]", '{"name": "x"}'])
def test_a_memory_that_cannot_be_read_stops_the_job(damage: str, tmp_path: Path) -> None:
    (tmp_path / "kafka.json").write_text(damage)

    refused = refusal(lambda: recall(tmp_path, "x", "topic", Epoch(3, "one", 1, "offsets-3")))
    assert refused.code == LedgerLostError.code


def test_parts_may_become_more_and_fewer_between_epochs(broker: Broker, topic: str, tmp_path: Path) -> None:
    run(target(broker.address, topic, sink__parallelism=3), tmp_path, until=3)
    run(target(broker.address, topic, sink__parallelism=2), tmp_path, until=4)

    assert numbers(settled(broker, topic)) == expected(4)


def test_a_broker_that_fences_passes_and_one_that_does_not_is_refused(broker: Broker, topic: str) -> None:
    check_broker(producer_options(broker.address, topic), "arroyo.", topic)

    # the client's own stand-in for a cluster lets both of two producers with one id commit
    standin = Producer({"test.mock.num.brokers": 1, "log_level": 0, "bootstrap.servers": "none"})
    [address] = [f"{node.host}:{node.port}" for node in standin.list_topics("made", timeout=30).brokers.values()]
    refused = refusal(lambda: check_broker(producer_options(address, "made"), "arroyo.", "made"))
    assert refused.code == TransactionsUnsafeError.code


def producer_options(address: str, topic: str) -> ClientConfig:
    options = target(address, topic).options
    assert isinstance(options, KafkaSinkOptions)
    return producer_config(options)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "data.missing_topic"),
        (KafkaError.MSG_SIZE_TOO_LARGE, "delivery.record_too_large"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "delivery.refused"),
        (KafkaError.INVALID_TRANSACTION_TIMEOUT, "delivery.refused"),
        (KafkaError._ALL_BROKERS_DOWN, "delivery.unavailable"),
    ],
)
def test_errors_of_the_kafka_client_have_names(code: int, expected: str) -> None:
    assert write_failure(KafkaException(KafkaError(code)), "topic").code == expected
