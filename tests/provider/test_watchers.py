"""The trigger of watchers, in what a triggerer does with it: nothing that is delivered is lost, and each comes once as
long as nothing dies between the storing of an event and its acknowledgement."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import Asset, AssetWatcher
from airflow.serialization.encoders import encode_trigger
from airflow.serialization.serialized_objects import BaseSerialization
from airflow.triggers.base import BaseEventTrigger
from airflow.triggers.shared_stream import SharedStreamManager

from airflow_provider_arroyo.protocols import Backoff
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from airflow_provider_arroyo.triggers import partition
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def complete(plane: FakeControlPlane, hours: int) -> None:
    """Let the output of `orders` be complete up to so many hours after midnight; a day has passed."""
    if not plane.pipelines:
        plane.add("orders")
        plane.clock.turn(timedelta(days=10))
    plane.pipelines["pl_1"].watermarks = deque([MIDNIGHT + hours * HOUR])


def watch(**changed: Any) -> WatermarkEventTrigger:
    arguments = {"pipeline": "orders", "every": HOUR, "consumer": "hours", "start": MIDNIGHT, **changed}
    return WatermarkEventTrigger(**arguments)


def stored(trigger: WatermarkEventTrigger) -> WatermarkEventTrigger:
    """The trigger as a triggerer makes it from the database."""
    _, arguments = trigger.serialize()
    return WatermarkEventTrigger(**BaseSerialization.deserialize(BaseSerialization.serialize(arguments)))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a triggerer waits before it asks again takes no time here."""

    async def asleep(_: timedelta) -> None:
        await asyncio.sleep(0.01)

    monkeypatch.setattr("airflow_provider_arroyo.hooks.arroyo._asleep", asleep)
    monkeypatch.setattr(partition, "BACKOFF", Backoff(timedelta(milliseconds=1), timedelta(milliseconds=2)))


class Triggerer:
    """What a triggerer does with the trigger of a watcher, but its processes: events that it takes are stored when a
    test says so."""

    def __init__(self) -> None:
        self.manager = SharedStreamManager()
        self.taken: list[tuple[dict[str, Any], int | None]] = []
        self.events: list[dict[str, Any]] = []
        self.stores = True
        self.before_taking: Callable[[], Awaitable[None]] | None = None

    async def run(self, trigger: BaseEventTrigger) -> None:
        key = trigger.shared_stream_key()
        assert key is not None
        shared = self.manager.subscribe(trigger_id=1, trigger=trigger, key=key)
        try:
            async for event in trigger.filter_shared_stream(shared):
                if self.before_taking is not None:
                    await self.before_taking()
                self.taken.append((event.payload, self.manager.bind_pending_event(trigger_id=1, key=key)))
                if self.stores:
                    asyncio.get_running_loop().call_soon(self.store)
        finally:
            await self.manager.unsubscribe(1, key)
            polls = [task for task in asyncio.all_tasks() if task.get_name().startswith("shared-stream")]
            await asyncio.gather(*polls, return_exceptions=True)

    def store(self) -> None:
        """The database has what was taken."""
        taken, self.taken = self.taken, []
        self.events += [json.loads(json.dumps(payload)) for payload, _ in taken]
        self.manager.confirm_persisted([number for _, number in taken if number is not None])

    @property
    def keys(self) -> list[str]:
        return [f"{event['kind']} {event['key'][11:13]}" for event in self.events]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


async def play(trigger: WatermarkEventTrigger, triggerer: Triggerer, story: Callable[[], Awaitable[None]]) -> None:
    """Run a trigger for as long as the story lasts; then it is ended as a triggerer ends it."""
    running = asyncio.create_task(triggerer.run(stored(trigger)))
    telling = asyncio.ensure_future(story())
    await asyncio.wait([running, telling], return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await telling


def test_each_hour_becomes_one_event_in_order_and_is_acknowledged(plane: FakeControlPlane) -> None:
    complete(plane, 0)
    triggerer = Triggerer()

    async def story() -> None:
        for hour in range(3):
            complete(plane, hour + 1)
            await until(lambda hour=hour: len(triggerer.events) > hour)  # type: ignore[misc]  # bound by its default
        await until(lambda: plane.consumers["hours"].acked == 3)

    asyncio.run(play(watch(), triggerer, story))

    assert triggerer.keys == ["closed 00", "closed 01", "closed 02"]
    assert triggerer.events[1] == {
        "delivery": "part_1-2",
        "consumer": "hours",
        "consumer_id": "part_1",
        "sequence": 2,
        "kind": "closed",
        "key": "2026-01-01T01:00:00",
        "pipeline": "orders",
        "start": "2026-01-01T01:00:00+00:00",
        "end": "2026-01-01T02:00:00+00:00",
        "certificate": {
            "id": "gate_part_1_2",
            "pipeline": "pl_1",
            "version": 1,
            "lineage": "1f",
            "epoch": 7,
            "complete_until": "2026-01-01T02:00:00+00:00",
            "offsets": {"events": {"0": 12}},
        },
        "openlineage": None,
    }


def test_hours_that_closed_while_nobody_watched_come_one_by_one(plane: FakeControlPlane) -> None:
    complete(plane, 0)
    plane.consume("hours", "orders", every="1 hour", start=MIDNIGHT.isoformat())
    complete(plane, 120)
    triggerer = Triggerer()

    async def story() -> None:
        await until(lambda: plane.consumers["hours"].acked == 120)

    asyncio.run(play(watch(), triggerer, story))

    starts = [datetime.fromisoformat(event["start"]) for event in triggerer.events]
    assert starts == [MIDNIGHT + number * HOUR for number in range(120)]


def test_an_event_that_was_not_stored_when_the_triggerer_died_is_repeated_with_its_id(plane: FakeControlPlane) -> None:
    complete(plane, 2)
    died, restarted = Triggerer(), Triggerer()
    died.stores = False

    async def until_taken() -> None:
        await until(lambda: len(died.taken) == 2)

    async def until_acked() -> None:
        await until(lambda: plane.consumers["hours"].acked == 2)

    asyncio.run(play(watch(), died, until_taken))
    assert (died.events, plane.consumers["hours"].acked) == ([], 0)
    asyncio.run(play(watch(), restarted, until_acked))

    assert [event["delivery"] for event in restarted.events] == ["part_1-1", "part_1-2"]
    assert [payload["delivery"] for payload, _ in died.taken] == ["part_1-1", "part_1-2"]


def test_a_trigger_that_is_ended_while_its_event_is_on_the_way_loses_nothing(plane: FakeControlPlane) -> None:
    complete(plane, 1)
    triggerer, on_the_way = Triggerer(), asyncio.Event()

    async def log_for_long() -> None:
        on_the_way.set()
        await asyncio.Event().wait()

    async def story() -> None:
        await on_the_way.wait()

    triggerer.before_taking = log_for_long
    asyncio.run(play(watch(), triggerer, story))

    assert (triggerer.events, plane.consumers["hours"].acked) == ([], 0)


def test_a_restore_voids_a_bucket_that_is_then_closed_again(plane: FakeControlPlane) -> None:
    complete(plane, 3)
    triggerer = Triggerer()

    async def story() -> None:
        await until(lambda: len(triggerer.events) == 3)
        await until(lambda: plane.consumers["hours"].acked == 3)
        complete(plane, 1)
        with plane.lock:
            plane.consumers["hours"].void(MIDNIGHT + HOUR)
        await until(lambda: len(triggerer.events) == 5)
        complete(plane, 3)
        await until(lambda: plane.consumers["hours"].acked == 7)

    asyncio.run(play(watch(), triggerer, story))

    assert triggerer.keys[3:] == ["voided 01", "voided 02", "closed 01", "closed 02"]
    assert len({event["delivery"] for event in triggerer.events}) == 7


def test_a_control_plane_that_goes_away_and_a_pipeline_that_is_not_there_yet_are_waited_for(
    plane: FakeControlPlane,
) -> None:
    triggerer = Triggerer()

    async def story() -> None:
        await until(lambda: len(plane.matching_requests("PUT", "partitions")) > 2)
        complete(plane, 1)
        await until(lambda: len(triggerer.events) == 1)
        plane.go_away()
        complete(plane, 2)
        plane.come_back()
        plane.fail("GET", "next", "unavailable", "crashed", "lost answer")
        plane.fail("POST", "ack", "unavailable", "lost answer")
        await until(lambda: plane.consumers["hours"].acked == 2)

    asyncio.run(play(watch(), triggerer, story))

    assert triggerer.keys == ["closed 00", "closed 01"]


def test_an_event_that_airflow_does_not_store_in_time_is_not_acknowledged(plane: FakeControlPlane) -> None:
    complete(plane, 1)
    triggerer = Triggerer()
    triggerer.manager = SharedStreamManager(ack_timeout=0.05)
    triggerer.stores = False

    async def play_until_it_fails() -> None:
        with pytest.raises(Exception, match="did not finish processing"):
            await asyncio.wait_for(triggerer.run(watch()), 30)

    asyncio.run(play_until_it_fails())

    assert plane.consumers["hours"].acked == 0


def test_alone_it_acknowledges_an_event_once_the_next_is_asked_for(plane: FakeControlPlane) -> None:
    complete(plane, 2)

    async def take() -> list[int]:
        seen = []
        async with aclosing(watch().run()) as events:
            for _ in range(2):
                await anext(events)
                seen.append(plane.consumers["hours"].acked)
        return seen

    assert asyncio.run(take()) == [0, 1]


def test_two_ways_to_say_the_same_are_one_trigger() -> None:
    texts = watch(every="3600 seconds", start="2026-01-01T00:00:00+00:00")

    assert watch().serialize() == texts.serialize()
    assert BaseEventTrigger.hash(*watch().serialize()) == BaseEventTrigger.hash(*stored(watch()).serialize())
    assert json.dumps(watch().serialize()[1])
    assert stored(watch(table="t", by="output", offset=timedelta(minutes=5), until=MIDNIGHT)).serialize()[1] == {
        "arroyo_conn_id": "arroyo_default",
        "consumer": "hours",
        "pipeline": "orders",
        "every": "3600 seconds",
        "table": "t",
        "by": "output",
        "time_zone": "UTC",
        "offset": "300 seconds",
        "start": "2026-01-01T00:00:00+00:00",
        "until": "2026-01-01T00:00:00+00:00",
    }


def test_a_watcher_takes_it() -> None:
    asset = Asset("hours", watchers=[AssetWatcher(name="hours", trigger=watch())])

    [watcher] = asset.watchers
    assert encode_trigger(watcher.trigger)["classpath"].endswith("WatermarkEventTrigger")


def test_a_bucket_of_parts_of_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        watch(every=timedelta(milliseconds=1500))
