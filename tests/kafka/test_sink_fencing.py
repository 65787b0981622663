"""A run that has been replaced writes nothing any more, whoever of the broker and the runs is first to say so. Kills
and pauses at every fault point are in `tests/chaos/test_points.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.connectors.kafka.write import transaction as kafka_transaction
from engine.delivery.faults import Point, reach
from engine.errors import SupersededError
from tests.kafka.asleep import paused, replaced, woken
from tests.kafka.broker import Broker
from tests.kafka.sink_pipeline import EPOCHS, expected, make_topic, numbers, run, settled, take_epoch, target


@pytest.mark.parametrize("point", [Point.AFTER_FENCE, Point.WHILE_WRITING, Point.BEFORE_DECISION])
def test_the_broker_alone_fences_off_a_run_that_nobody_has_told(point: Point, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as zombie:
        run(target(broker.address, topic), tmp_path, generation=2)

        output = woken(zombie)

    assert SupersededError.__name__ in output
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_zombie_that_fences_its_successor_off_costs_one_more_attempt(broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, Point.BEFORE_FENCE, epoch=1) as zombie:
        replaced(tmp_path)
        outputs = []
        with pytest.MonkeyPatch.context() as patch:
            # between our fence and our commit it wakes up, writes the epoch in our place, and ends
            awake = iter([True])

            def interrupted(point: Point, epoch: int | None = None) -> None:
                if point == Point.BEFORE_DECISION and epoch == 1 and next(awake, False):
                    outputs.append(woken(zombie))
                reach(point, epoch)

            patch.setattr(kafka_transaction, "reach", interrupted)
            run(target(broker.address, topic), tmp_path, generation=2)

    assert SupersededError.__name__ in outputs[0]
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_decided_rows_are_written_although_the_query_returns_others_now(broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker)
    of = target(broker.address, topic)
    for point in (Point.BEFORE_FENCE, Point.AFTER_DECISION):
        rows = [1, 2, 3] if point == Point.BEFORE_FENCE else [4, 5, 6, 7]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kafka_transaction, "reach", crash_at(point))
            with pytest.raises(KeyboardInterrupt):
                take_epoch(of, tmp_path, 0, rows=rows)

    take_epoch(of, tmp_path, 0, rows=[8])

    assert numbers(settled(broker, topic)) == [1, 2, 3]


def crash_at(fatal: Point):  # type: ignore[no-untyped-def]
    def reach(point: Point, epoch: int | None = None) -> None:
        if point == fatal:
            raise KeyboardInterrupt

    return reach


@pytest.mark.parametrize("point", [Point.WHILE_WRITING, Point.BEFORE_DECISION])
def test_readers_of_committed_records_see_an_epoch_whole_or_not(point: Point, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as process:
        assert numbers(broker.read(topic)) == expected(1)

        assert woken(process) == ""

    assert numbers(settled(broker, topic)) == expected(EPOCHS)
