"""The operator that hands buckets on: each once, over tries that die before and after their event is stored."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_arroyo import emissions
from airflow_provider_arroyo.airflow_versions import TaskDeferred
from airflow_provider_arroyo.errors import ConsumerBehindError, DeadlineError, NoPartitionsError, RefusedError
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run, first_event, stored

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = Asset("hours")


@dataclass
class Outlet:
    """The part of an outlet's accessor that is used."""

    extra: dict[str, Any] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)

    def add_partitions(self, key: str) -> None:
        self.keys.append(key)


@dataclass
class StoredEvent:
    """An event of the asset as Airflow has it."""

    key: str
    extra: dict[str, Any]


class Feed:
    """Runs of the DAG. A try is either stored with its event, or dies and leaves nothing."""

    def __init__(self, airflow_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = airflow_run
        self.events: list[StoredEvent] = []
        self.outlets: dict[Asset, Outlet] = {}
        self.failures: list[Exception] = []
        whole = airflow_run.context
        monkeypatch.setattr(airflow_run, "context", lambda task: whole(task) | {"outlet_events": self.outlets})
        monkeypatch.setattr(emissions, "_newest_events", self.newest)

    def newest(self, _: Asset, count: int) -> list[StoredEvent]:
        if self.failures:
            raise self.failures.pop()
        return self.events[::-1][:count]

    def take(self, dies: bool = False, **changed: Any) -> dict[str, Any]:
        self.outlets[HOURS] = Outlet()
        result: dict[str, Any] = self.run.execute(task(**changed))
        if not dies:
            [key] = self.outlets[HOURS].keys
            assert self.outlets[HOURS].extra == result
            self.events.append(StoredEvent(key, result))
        return result

    @property
    def keys(self) -> list[int]:
        return list(map(self.hour, self.events))

    @staticmethod
    def hour(event: StoredEvent) -> int:
        return (datetime.fromisoformat(event.key).replace(tzinfo=UTC) - MIDNIGHT) // HOUR


@pytest.fixture
def feed(airflow_run: Run, monkeypatch: pytest.MonkeyPatch) -> Feed:
    return Feed(airflow_run, monkeypatch)


def task(**changed: Any) -> NextPartitionOperator:
    arguments = {"pipeline": "orders", "partitions": HOURS, "every": HOUR, "consumer": "hours", "start": MIDNIGHT}
    return NextPartitionOperator(task_id="next", **{**arguments, **changed})


def complete(plane: FakeControlPlane, hours: int) -> None:
    """Let the output of `orders` be complete up to so many hours after midnight; days have passed."""
    if not plane.pipelines:
        plane.add("orders")
        plane.clock.turn(timedelta(days=10))
    plane.pipelines["pl_1"].watermarks = deque([MIDNIGHT + hours * HOUR])


def test_each_run_hands_on_one_hour_with_its_certificate(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 3)

    for _ in range(3):
        feed.take()

    assert [event.key for event in feed.events] == [f"2026-01-01T0{hour}:00:00" for hour in range(3)]
    second = feed.events[1].extra
    assert (second["kind"], second["voided"], second["certificate"]["epoch"]) == ("closed", False, 7)
    assert (second["start"], second["end"]) == ("2026-01-01T01:00:00+00:00", "2026-01-01T02:00:00+00:00")
    assert feed.run.pushed["pipeline_id"] == "pl_1"


def test_a_try_that_dies_before_its_event_is_stored_is_done_again(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 2)

    lost = feed.take(dies=True)
    feed.take()
    feed.take(dies=True)
    feed.take()

    assert feed.keys == [0, 1]
    assert feed.events[0].extra["delivery"] == lost["delivery"]


def test_stored_delivery_is_acknowledged_by_the_next_run(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 3)

    feed.take()
    before = plane.consumers["hours"].acked
    feed.take(dies=True)

    assert (before, plane.consumers["hours"].acked) == (0, 1)


def test_operator_waits_for_an_incomplete_hour(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 0)
    feed.run.at_pause[3] = lambda: complete(plane, 1)

    feed.take(deferrable=True)
    feed.run.pauses.clear()
    feed.run.at_pause[3] = lambda: complete(plane, 2)
    feed.take(deferrable=False)

    assert feed.keys == [0, 1]


def test_a_control_plane_that_is_away_fails_nothing(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 2)
    plane.fail("PUT", "partitions", "unavailable", "lost answer")
    plane.fail("GET", "next", "lost answer", "crashed")

    feed.take()
    plane.fail("POST", "ack", "lost answer", "unavailable")
    feed.take()

    assert feed.keys == [0, 1]


def test_hours_that_a_restore_made_void_are_handed_on_again_and_marked(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 4)
    for _ in range(3):
        feed.take()
    feed.take(dies=True)
    complete(plane, 1)
    plane.consumers["hours"].void(MIDNIGHT + HOUR)
    complete(plane, 5)

    for _ in range(4):
        feed.take()

    assert feed.keys == [0, 1, 2, 1, 2, 3, 4]
    assert [event.extra["voided"] for event in feed.events] == [False, False, False, True, True, False, False]
    assert plane.consumers["hours"].acked == feed.events[-2].extra["sequence"]


def test_an_hour_that_rows_came_late_for_is_handed_on_again_where_that_is_wanted(
    plane: FakeControlPlane, feed: Feed
) -> None:
    complete(plane, 3)
    feed.take()
    plane.consumers["hours"].reopen(MIDNIGHT)
    feed.take(late="reopen")
    plane.consumers["hours"].reopen(MIDNIGHT)

    for _ in range(2):
        feed.take()

    assert [(feed.hour(event), event.extra["kind"]) for event in feed.events] == [
        (0, "closed"),
        (1, "closed"),
        (2, "closed"),
        (0, "reopened"),
    ]
    assert not any(event.extra["voided"] for event in feed.events)


def test_a_recreated_consumer_is_another_one(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 2)
    feed.take()
    feed.take()
    del plane.consumers["hours"]

    feed.take()

    assert feed.keys == [0, 1, 0]
    assert (feed.events[2].extra["consumer_id"], feed.events[2].extra["voided"]) == ("part_2", False)


def test_events_of_others_on_the_same_asset_are_passed_over(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 2)
    feed.take()
    feed.events += [StoredEvent("x", {}), StoredEvent("y", {"consumer_id": "part_9", "sequence": 40})]

    assert feed.take()["sequence"] == 2


def test_operator_waits_while_airflow_cannot_list_events(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 2)
    feed.take()
    failed = ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 500})
    feed.failures = [AirflowRuntimeError(failed), AirflowRuntimeError(failed)]

    feed.take()

    assert (feed.keys, feed.run.pauses) == ([0, 1], [5.0, 5.0])

    refused = ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 404})
    feed.failures = [AirflowRuntimeError(refused)]
    with pytest.raises(AirflowRuntimeError, match="404"):
        feed.take()


def test_a_wait_ends_when_its_time_is_over(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 0)

    with pytest.raises(DeadlineError, match="the next bucket of pipeline pl_1"):
        feed.take(wait_timeout=timedelta(0))


def test_the_deadline_of_a_wait_does_not_restart_with_each_wake(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 1)
    feed.take()
    waiting = task(deferrable=True, wait_timeout=HOUR)
    context = feed.run.context(waiting)
    with pytest.raises(TaskDeferred) as first:
        waiting.execute(context)
    plane.consumers["hours"].void(MIDNIGHT)
    complete(plane, 0)
    woken = asyncio.run(first_event(stored(first.value.trigger)))

    with pytest.raises(TaskDeferred) as second:
        getattr(waiting, first.value.method_name)(context, event=woken, **(first.value.kwargs or {}))

    assert first.value.trigger.serialize()[1]["deadline"] == second.value.trigger.serialize()[1]["deadline"]
    assert first.value.kwargs == second.value.kwargs == {"deadline": first.value.trigger.serialize()[1]["deadline"]}


def test_a_control_plane_restored_from_a_backup_is_told_from_where_to_go_on(
    plane: FakeControlPlane, feed: Feed
) -> None:
    complete(plane, 3)
    for _ in range(3):
        feed.take()
    backup = plane.consumers["hours"]
    backup.acked, backup.closed_until = 1, MIDNIGHT + HOUR
    del backup.deliveries[1:]

    with pytest.raises(ConsumerBehindError, match="made 1: it was restored from a backup") as behind:
        feed.take()
    assert (behind.value.code, "start='2026-01-01T03:00:00+00:00'" in str(behind.value)) == ("partition.behind", True)
    assert backup.acked == 1
    del plane.consumers["hours"]
    complete(plane, 4)
    feed.take(start="2026-01-01T03:00:00+00:00")

    assert feed.keys == [0, 1, 2, 3]


def test_a_name_that_follows_other_buckets_fails_the_task(plane: FakeControlPlane, feed: Feed) -> None:
    complete(plane, 1)
    feed.take()

    with pytest.raises(RefusedError) as refused:
        feed.take(every="2 hours")

    assert refused.value.code == "partition.differs"


def test_two_tries_are_never_at_work_at_once() -> None:
    made = task(outlets=[Asset("other")])

    assert made.max_active_tis_per_dag == 1
    assert made.outlets == [Asset("other"), HOURS]


@pytest.mark.parametrize("seed", range(3))
def test_over_any_deaths_and_restores_each_hour_is_handed_on_once_and_once_more_for_each_void(
    seed: int, plane: FakeControlPlane, feed: Feed
) -> None:
    chance = random.Random(seed)
    until, told, waiting, expected = 0, set[int](), set[int](), list[tuple[int, bool]]()
    for _ in range(20):
        if until and chance.random() < 0.2:
            back = chance.randrange(until)
            plane.consumers["hours"].void(MIDNIGHT + back * HOUR)
            waiting |= {hour for hour in told if hour >= back}
        if not waiting or chance.random() < 0.3:
            more = chance.randrange(1, 4)
            waiting |= set(range(until, until + more))
            until += more
        complete(plane, until)
        dies = chance.random() < 0.3
        feed.take(dies=dies)
        if not dies:
            hour = min(waiting)
            expected.append((hour, hour in told))
            waiting.remove(hour)
            told.add(hour)

    assert [(feed.hour(event), event.extra["voided"]) for event in feed.events] == expected


def test_an_airflow_without_partitions_is_named_before_anything_is_asked(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = airflow_run.context
    monkeypatch.setattr(airflow_run, "context", lambda task: whole(task) | {"outlet_events": {HOURS: object()}})
    plane.add("orders")

    with pytest.raises(NoPartitionsError, match=r"partition\.unsupported"):
        airflow_run.execute(task())
    assert plane.requests == []
