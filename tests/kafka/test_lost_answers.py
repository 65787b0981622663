"""Exactly once, whatever the broker answers in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.connectors.kafka.write import transaction as kafka_transaction
from engine.errors import TargetUnavailableError
from tests.kafka.broker import Broker
from tests.kafka.proxy import END_TXN, OFFSET_FETCH, PRODUCE, Wire, proxied
from tests.kafka.sink_pipeline import EPOCHS, expected, make_topic, numbers, run, settled, target


@pytest.mark.parametrize(
    ("request_kind", "count"), [(END_TXN, 1), (END_TXN, 3), (PRODUCE, 3), (OFFSET_FETCH, 3)], ids=str
)
def test_a_lost_answer_is_asked_for_again(request_kind: int, count: int, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    wire = Wire(request_kind, count=count)
    with proxied(broker, wire) as address:
        run(target(address, topic), tmp_path)

    assert wire.lost == count
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_commit_that_is_never_answered_is_found_in_the_ledger(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, partitions=2)
    with proxied(broker, Wire(count=1_000_000)) as address:
        monkeypatch.setattr(kafka_transaction, "_MARGIN", kafka_transaction._MARGIN * 1.8)
        with pytest.raises(TargetUnavailableError):
            run(target(address, topic, sink__transaction_timeout="10 seconds"), tmp_path)

    run(target(broker.address, topic), tmp_path)

    assert numbers(settled(broker, topic)) == expected(EPOCHS)
