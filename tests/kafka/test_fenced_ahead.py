"""Producers that are made while the epoch that they are for is on its way."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.connectors.kafka.write import transaction as kafka_transaction
from engine.connectors.kafka.write.fenced_ahead import MOST_AGE, MadeAhead
from engine.connectors.kafka.write.producer import ProducerSession
from engine.delivery.epoch import Epoch
from engine.errors import LedgerLostError
from tests.kafka.broker import Broker
from tests.kafka.sink_pipeline import EPOCHS, expected, make_topic, numbers, run, settled, target


@pytest.mark.unit
def test_prepared_producer_is_used_once_by_its_owner_only() -> None:
    ahead = MadeAhead[str]()
    ahead.make("orders", lambda: "made")

    assert [ahead.take("clicks"), ahead.take("orders"), ahead.take("orders")] == [None, "made", None]


@pytest.mark.unit
def test_unfinished_producer_is_waited_for() -> None:
    ahead, go_on = MadeAhead[str](), threading.Event()

    def make() -> str:
        go_on.wait()
        return "made"

    ahead.make("orders", make)
    threading.Thread(target=go_on.set).start()

    assert ahead.take("orders") == "made"


@pytest.mark.unit
def test_failed_preparation_yields_no_producer() -> None:
    ahead = MadeAhead[str]()
    ahead.make("orders", lambda: str(1 // 0))

    assert ahead.take("orders") is None


@pytest.mark.unit
def test_producer_older_than_idle_connections_is_not_used() -> None:
    times = iter([0.0, MOST_AGE.total_seconds() + 1])
    ahead = MadeAhead[str](lambda: next(times))
    ahead.make("orders", lambda: "made")

    assert ahead.take("orders") is None


@pytest.fixture
def no_search_for_cycles() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.unit
@pytest.mark.usefixtures("no_search_for_cycles")
def test_a_producer_ends_with_the_last_reference_to_it() -> None:
    session = ProducerSession({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
    seen = weakref.ref(session)

    del session

    assert seen() is None


@pytest.mark.unit
def test_a_sink_that_is_opened_again_finds_the_producer_though_it_signs_in_by_another_callable(tmp_path: Path) -> None:
    epoch = Epoch(7, "one", 1, "offsets-7")
    part = kafka_transaction.TransactionPart("name", "topic", [], 0, must_have_ledger=True)
    writers = [
        kafka_transaction.Writer({"client.id": "arroyo", "oauth_cb": partial(sign_in, 1.0)}, tmp_path, timedelta(1))
        for _ in range(2)
    ]
    first, second = (kafka_transaction._key(writer, part, epoch) for writer in writers)

    assert first == second
    assert first != kafka_transaction._key(writers[0], part, replace(epoch, generation=2))


def sign_in(until: float, config: str) -> tuple[str, float]:
    return config, until


def test_every_epoch_but_the_first_finds_its_producer_made(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, makers = make_topic(broker, partitions=2), list[str]()

    def session(client: dict[str, str | int | float | bool]) -> ProducerSession:
        makers.append(threading.current_thread().name)
        return ProducerSession(client)

    monkeypatch.setattr(kafka_transaction, "ProducerSession", session)
    run(target(broker.address, topic), tmp_path)

    # the last was made for an epoch that did not come, and may be on its way yet
    assert makers[1:EPOCHS] == ["fence ahead"] * (EPOCHS - 1)
    assert makers[0] != "fence ahead"
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_producer_that_was_fenced_off_since_is_replaced(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, partitions=2)
    ahead = MadeAhead[kafka_transaction.FencedProducer]()
    monkeypatch.setattr(kafka_transaction, "_AHEAD", ahead)
    run(target(broker.address, topic), tmp_path, until=2)
    attempts = list[int]()
    fenced = kafka_transaction._fenced

    def counted(
        writer: kafka_transaction.Writer, part: kafka_transaction.TransactionPart, number: int
    ) -> kafka_transaction.FencedProducer:
        attempts.append(number)
        return fenced(writer, part, number)

    monkeypatch.setattr(kafka_transaction, "_fenced", counted)
    [other] = ahead._by_key.values()
    other.is_over.wait()
    assert other.value is not None
    # another producer of the name, as a run would have that nobody has told
    name = str(other.value.ledger._name)
    rival = ProducerSession(broker.client_options(transactional_id=name))
    rival.producer.init_transactions(30)

    run(target(broker.address, topic), tmp_path, until=3)

    assert attempts[0] == 2
    assert numbers(settled(broker, topic)) == expected(3)


def test_a_topic_that_is_made_anew_while_a_producer_is_ready_stops_the_job(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker)
    ahead = MadeAhead[kafka_transaction.FencedProducer]()
    monkeypatch.setattr(kafka_transaction, "_AHEAD", ahead)
    run(target(broker.address, topic), tmp_path, until=2)
    [ready] = ahead._by_key.values()
    ready.is_over.wait()
    assert ready.value is not None

    broker.delete_topic(topic)
    make_topic(broker, topic)

    with pytest.raises(LedgerLostError):
        run(target(broker.address, topic), tmp_path)
