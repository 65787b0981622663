"""A client that goes on asking with what it has noted of the leaders is another one's turn."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.connectors.kafka.read import brokers
from engine.connectors.kafka.read.brokers import Brokers
from engine.connectors.kafka.read.options import KafkaSourceOptions
from tests.connectors.tables import table
from tests.kafka.tables import VALUE

pytestmark = pytest.mark.unit


@dataclass
class Leaders:
    """Brokers whose leaders begin anew, and clients that keep what they have noted of them."""

    epoch: int = 1
    clients: list[Client] = field(default_factory=list)

    def client(self, _: dict[str, Any]) -> Client:
        self.clients.append(Client(self, self.epoch))
        return self.clients[-1]


@dataclass
class Client:
    leaders: Leaders
    noted: int

    def list_offsets(self, specs: Iterable[Any], **_: object) -> dict[Any, Future[Any]]:
        answers: dict[Any, Future[Any]] = {partition: Future() for partition in specs}
        for answer in answers.values():
            if self.noted == self.leaders.epoch:
                answer.set_result(SimpleNamespace(offset=10 * self.noted))
            else:
                answer.set_exception(KafkaException(KafkaError(KafkaError.FENCED_LEADER_EPOCH)))
        return answers

    def poll(self, _: float) -> None:
        pass


def test_a_client_whose_notes_of_the_leaders_are_old_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    leaders = Leaders()
    monkeypatch.setattr(brokers, "AdminClient", leaders.client)
    options = table(
        "kafka",
        VALUE,
        bootstrap_servers="127.0.0.1:1",
        topic="clicks",
        type="source",
        format="raw_string",
        source__broker_timeout="2 seconds",
    ).options
    assert isinstance(options, KafkaSourceOptions)
    asked = Brokers(options, "group")
    assert asked.ends(["clicks/0"]) == {"clicks/0": 10}

    leaders.epoch = 2

    assert asked.ends(["clicks/0"]) == {"clicks/0": 20}
    assert asked.ends(["clicks/0"]) == {"clicks/0": 20}
    assert len(leaders.clients) == 2
