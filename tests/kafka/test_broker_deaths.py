"""Exactly once, whichever broker dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.connectors.kafka.write import transaction as kafka_transaction
from engine.delivery.faults import Point
from engine.errors import TargetUnavailableError
from tests.kafka.asleep import paused, woken
from tests.kafka.broker import Broker, running
from tests.kafka.sink_pipeline import EPOCHS, directory, expected, make_topic, numbers, run, settled, target


@pytest.mark.parametrize("point", [Point.WHILE_WRITING, Point.BEFORE_DECISION])
def test_a_broker_that_is_killed_and_comes_back_has_everything_once(
    point: Point, broker: Broker, tmp_path: Path
) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as process:
        broker.kill()
        broker.restart()

        output = woken(process)
        if process.returncode:
            assert TargetUnavailableError.__name__ in output
            run(target(broker.address, topic), tmp_path)

    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_broker_that_is_gone_is_named_and_a_restart_goes_on(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, partitions=2)
    of = target(broker.address, topic)
    run(of, tmp_path, until=1)
    broker.kill()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(kafka_transaction, "SECONDS", 1.0)
            with pytest.raises(TargetUnavailableError) as refused:
                run(of, tmp_path, until=2)
    finally:
        broker.restart()
    assert refused.value.retryable
    assert "did not accept" in refused.value.message

    run(of, tmp_path)

    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_one_of_three_brokers_may_die_at_any_time(tmp_path: Path) -> None:
    with running(tmp_path / "brokers", nodes=3) as cluster:
        topic = make_topic(cluster, partitions=3, min_insync_replicas=2)
        root = tmp_path / "job"
        for number, node in enumerate(cluster.nodes):
            at = {"epoch": number, "until": number + 1}
            with paused(cluster.address, topic, root, Point.BEFORE_DECISION, **at) as process:
                node.kill()
                output = woken(process)
                if process.returncode:
                    assert TargetUnavailableError.__name__ in output
            cluster.restart()
            run(target(cluster.address, topic), root, until=number + 1)
        run(target(cluster.address, topic), root)

        assert numbers(settled(cluster, topic)) == expected(EPOCHS)
        assert directory(root).exists()
