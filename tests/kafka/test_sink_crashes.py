"""Exactly once, whoever dies, sleeps or does not answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.connectors.kafka.write import transaction as kafka_transaction
from engine.delivery.faults import Point, reach
from engine.errors import SupersededError, TargetUnavailableError
from tests.kafka.broker import Broker, running
from tests.kafka.proxy import END_TXN, OFFSET_FETCH, PRODUCE, Wire, proxied
from tests.kafka.sink_pipeline import EPOCHS, directory, expected, make_topic, numbers, run, settled, take_epoch, target

pytestmark = pytest.mark.connectors

POINTS = [
    Point.BEFORE_WRITE,
    Point.BEFORE_FENCE,
    Point.AFTER_FENCE,
    Point.WHILE_WRITING,
    Point.BEFORE_DECISION,
    Point.AFTER_DECISION,
    Point.WHILE_PUBLISHING,
    Point.AFTER_WRITE,
    Point.AFTER_LEDGER,
]
OF_PARTS = [Point.WHILE_WRITING, Point.BEFORE_DECISION, Point.AFTER_DECISION, Point.WHILE_PUBLISHING]


@contextmanager
def started(
    address: str, topic: str, root: Path, fault: str, parallelism: int = 1, until: int = EPOCHS
) -> Iterator[subprocess.Popen[str]]:
    """The pipeline in a process of its own, armed."""
    given = [address, topic, str(root), str(parallelism), str(until)]
    command = [sys.executable, "-m", "tests.kafka.sink_pipeline", *given]
    environment = os.environ | {"ARROYO_FAULT": fault, "ARROYO_FAULTS_ALLOWED": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def paused(
    address: str, topic: str, root: Path, point: Point, epoch: int, until: int = EPOCHS
) -> Iterator[subprocess.Popen[str]]:
    """A process that stands still at a point of an epoch."""
    with started(address, topic, root, f"{point}:{epoch}:stop", until=until) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), process.communicate()[1]
        yield process


def woken(process: subprocess.Popen[str]) -> str:
    """Let it go on to its end; what it has complained about."""
    process.send_signal(signal.SIGCONT)
    return process.communicate(timeout=600)[1]


def replaced(root: Path, generation: int = 2) -> None:
    """Say that a newer run has taken over."""
    (root / "state" / "generation").write_text(str(generation))


@pytest.mark.parametrize(
    ("point", "parallelism"), [*((point, 1) for point in POINTS), *((point, 3) for point in OF_PARTS)]
)
@pytest.mark.parametrize("epoch", [1])
def test_a_crash_loses_and_doubles_nothing(
    point: Point, parallelism: int, epoch: int, broker: Broker, tmp_path: Path
) -> None:
    topic = make_topic(broker, partitions=2)
    with started(broker.address, topic, tmp_path, f"{point}:{epoch}", parallelism) as process:
        said = process.communicate(timeout=600)[1]
    assert process.returncode == -signal.SIGKILL, said

    run(target(broker.address, topic, sink__parallelism=parallelism), tmp_path, until=epoch + 2, generation=2)

    assert numbers(settled(broker, topic)) == expected(epoch + 2)


@pytest.mark.parametrize("point", [*POINTS[1:6], Point.AFTER_WRITE])
def test_a_run_that_wakes_up_after_it_was_replaced_stands_down(point: Point, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as zombie:
        replaced(tmp_path)
        run(target(broker.address, topic), tmp_path, generation=2)

        said = woken(zombie)

    assert SupersededError.__name__ in said
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


@pytest.mark.parametrize("point", [Point.AFTER_FENCE, Point.WHILE_WRITING, Point.BEFORE_DECISION])
def test_the_broker_alone_fences_off_a_run_that_nobody_has_told(point: Point, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as zombie:
        run(target(broker.address, topic), tmp_path, generation=2)

        said = woken(zombie)

    assert SupersededError.__name__ in said
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_a_zombie_that_fences_its_successor_off_costs_one_more_attempt(broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, Point.BEFORE_FENCE, epoch=1) as zombie:
        replaced(tmp_path)
        said = []
        with pytest.MonkeyPatch.context() as patch:
            # between our fence and our commit it wakes up, writes the epoch in our place, and ends
            awake = iter([True])

            def interrupted(point: Point, epoch: int | None = None) -> None:
                if point == Point.BEFORE_DECISION and epoch == 1 and next(awake, False):
                    said.append(woken(zombie))
                reach(point, epoch)

            patch.setattr(kafka_transaction, "reach", interrupted)
            run(target(broker.address, topic), tmp_path, generation=2)

    assert SupersededError.__name__ in said[0]
    assert numbers(settled(broker, topic)) == expected(EPOCHS)


def test_what_is_decided_is_written_though_the_query_gives_other_rows_now(broker: Broker, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("point", [Point.WHILE_WRITING, Point.BEFORE_DECISION])
def test_a_broker_that_is_killed_and_comes_back_has_everything_once(
    point: Point, broker: Broker, tmp_path: Path
) -> None:
    topic = make_topic(broker, partitions=2)
    with paused(broker.address, topic, tmp_path, point, epoch=1) as process:
        broker.kill()
        broker.restart()

        said = woken(process)
        if process.returncode:
            assert TargetUnavailableError.__name__ in said
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


def test_of_three_brokers_one_may_die_at_any_time(tmp_path: Path) -> None:
    with running(tmp_path / "brokers", nodes=3) as cluster:
        topic = make_topic(cluster, partitions=3, min_insync_replicas=2)
        root = tmp_path / "job"
        for number, node in enumerate(cluster.nodes):
            at = {"epoch": number, "until": number + 1}
            with paused(cluster.address, topic, root, Point.BEFORE_DECISION, **at) as process:
                node.kill()
                said = woken(process)
                if process.returncode:
                    assert TargetUnavailableError.__name__ in said
            cluster.restart()
            run(target(cluster.address, topic), root, until=number + 1)
        run(target(cluster.address, topic), root)

        assert numbers(settled(cluster, topic)) == expected(EPOCHS)
        assert directory(root).exists()
