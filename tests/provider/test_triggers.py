"""What crosses between worker, database and triggerer, and how a trigger behaves in its loop."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_arroyo import conditions, events
from airflow_provider_arroyo.conditions import (
    LagBounds,
    UntilCheckpoint,
    UntilFresh,
    UntilHandedOver,
    UntilLag,
    UntilPartition,
    UntilProven,
    UntilRehearsed,
    UntilSavepoint,
    UntilState,
    UntilWatermark,
    UntilWatermarks,
    Wait,
)
from airflow_provider_arroyo.errors import BadEventError, DeadlineError, JobEndedError, RefusedError, UnreachableError
from airflow_provider_arroyo.events import Broken, Ended, Event, Reached, TimedOut, settle
from airflow_provider_arroyo.protocols import Backoff
from airflow_provider_arroyo.responses import JobState
from airflow_provider_arroyo.testing.control_plane import TOKEN, FakeControlPlane
from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger

from .tasks import Run, first_event, stored

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

EVENTS: list[Event] = [
    Reached("pl_1", JobState.RUNNING, 7, NOON),
    Ended("pl_1", JobState.FAILED, "data.bad_json", "line 3"),
    TimedOut("pl_1", NOON, "too late"),
    Broken("pl_1", "pipeline.not_found", "no such pipeline", None, 404),
]
WAITS: list[Wait] = [
    UntilState("pl_1", "running", after_run=3),
    UntilWatermark("pl_1", NOON),
    UntilCheckpoint("pl_1", 4, NOON),
    UntilSavepoint("pl_1", "sp_1"),
    UntilProven("pl_1", "sp_1"),
    UntilHandedOver("pl_1"),
]


GATE = UntilWatermark("pl_1", NOON, "hours", "output", "a_dag", "a_run")
STORED_BY_0_1: list[tuple[dict[str, Any], Wait]] = [
    (
        {
            "pipeline": "pl_1",
            "goal": "stopped",
            "after_run": 3,
            "before": "Running",
            "title": "clicks",
            "kind": "state",
        },
        UntilState("pl_1", "stopped", 3, JobState.RUNNING, "clicks"),
    ),
    (
        {
            "pipeline": "pl_1",
            "past": "2026-01-31T12:00:00Z",
            "table": "hours",
            "by": "output",
            "dag_id": "a_dag",
            "run_id": "a_run",
            "kind": "watermark",
        },
        GATE,
    ),
    (
        {
            "gates": [
                {
                    "pipeline": "pl_1",
                    "past": "2026-01-31T12:00:00Z",
                    "table": "hours",
                    "by": "output",
                    "dag_id": "a_dag",
                    "run_id": "a_run",
                    "kind": "watermark",
                },
                {
                    "pipeline": "pl_2",
                    "past": "2026-01-31T12:00:00Z",
                    "table": None,
                    "by": "input",
                    "dag_id": None,
                    "run_id": None,
                    "kind": "watermark",
                },
            ],
            "need": "any",
            "kind": "watermarks",
        },
        UntilWatermarks((GATE, UntilWatermark("pl_2", NOON)), "any"),
    ),
    (
        {"pipeline": "pl_1", "epoch": 4, "newer_than": "2026-01-31T12:00:00Z", "kind": "checkpoint"},
        UntilCheckpoint("pl_1", 4, NOON),
    ),
    (
        {"pipeline": "pl_1", "at_most": "PT5M", "table": "hours", "by": "input", "kind": "fresh"},
        UntilFresh("pl_1", timedelta(minutes=5), "hours"),
    ),
    (
        {
            "pipeline": "pl_1",
            "bounds": {"at_most": "PT5M", "at_least": None, "steady": "PT10M", "slack": "PT0S"},
            "kind": "lag",
        },
        UntilLag("pl_1", LagBounds(timedelta(minutes=5), None, timedelta(minutes=10))),
    ),
    ({"pipeline": "pl_1", "consumer": "daily", "kind": "partition"}, UntilPartition("pl_1", "daily")),
    ({"pipeline": "pl_1", "rehearsal": "rh_1", "kind": "rehearsed"}, UntilRehearsed("pl_1", "rh_1")),
]
"""Conditions as triggers of version 0.1 of the provider stored them."""


@pytest.mark.parametrize(("stored", "condition"), STORED_BY_0_1, ids=[stored["kind"] for stored, _ in STORED_BY_0_1])
def test_condition_stored_by_version_0_1_is_parsed_and_stored_alike(stored: dict[str, Any], condition: Wait) -> None:
    assert conditions.from_json(stored) == condition
    assert conditions.to_json(condition) == stored


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    assert events.from_json(json.loads(json.dumps(events.to_json(event)))) == event


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.kind)
def test_a_wait_comes_back_as_it_went(wait: Wait) -> None:
    assert conditions.from_json(json.loads(json.dumps(conditions.to_json(wait)))) == wait
    assert "pl_1" in conditions.describe(wait)


@pytest.mark.parametrize(
    "lost", [None, "success", {}, {"kind": "reached"}, {"kind": "later"}, {"status": "success"}, 3]
)
def test_a_lost_or_foreign_event_is_refused(lost: object) -> None:
    with pytest.raises(BadEventError):
        events.from_json(lost)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (EVENTS[1], JobEndedError),
        (EVENTS[2], DeadlineError),
        (EVENTS[3], RefusedError),
        (Broken("pl_1", "http.unreachable", "nobody there"), UnreachableError),
    ],
)
def test_every_bad_event_is_raised_as_its_error(event: Event, error: type[Exception]) -> None:
    with pytest.raises(error):
        settle(event)


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.kind)
def test_a_trigger_is_made_again_from_plain_json_without_secrets(plane: FakeControlPlane, wait: Wait) -> None:
    trigger = PipelineTrigger("arroyo_default", conditions.to_json(wait), NOON.isoformat(), 2.0, "stop")
    _, arguments = trigger.serialize()

    assert json.loads(json.dumps(arguments)) == arguments
    assert TOKEN not in json.dumps(arguments)
    assert stored(trigger).serialize() == trigger.serialize()


def test_a_trigger_that_begins_anew_still_knows_which_pipeline_was_awaited(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    wait = conditions.to_json(UntilState("clicks", "running"))
    trigger = PipelineTrigger("arroyo_default", wait, awaited={"clicks": "pl_0"})

    event = asyncio.run(first_event(stored(trigger)))

    assert (event["kind"], event["code"]) == ("broken", "pipeline.deleted")


def test_a_trigger_with_a_deadline_in_the_past_ends_at_once(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Scheduling")
    trigger = PipelineTrigger(
        "arroyo_default", conditions.to_json(UntilState("clicks", "running")), "2020-01-01T00:00:00Z"
    )

    event = events.from_json(asyncio.run(first_event(trigger)))

    assert isinstance(event, TimedOut)
    assert not airflow_run.pauses


def test_a_result_counts_even_after_the_deadline(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    trigger = PipelineTrigger(
        "arroyo_default", conditions.to_json(UntilState("clicks", "running")), "2020-01-01T00:00:00Z"
    )

    assert isinstance(events.from_json(asyncio.run(first_event(trigger))), Reached)


@pytest.mark.parametrize(("choice", "methods"), [("detach", []), ("stop", ["PATCH"]), ("savepoint_and_stop", ["POST"])])
def test_a_user_who_ends_a_deferred_task_gets_what_its_author_chose(
    plane: FakeControlPlane, choice: Any, methods: list[str]
) -> None:
    plane.add("clicks")
    wait = conditions.to_json(UntilState("clicks", "finished"))

    asyncio.run(PipelineTrigger("arroyo_default", wait, on_kill=choice).on_kill())

    assert [request.method for request in plane.requests] == methods


def test_a_triggerer_that_goes_away_stops_nothing(plane: FakeControlPlane) -> None:
    plane.add("clicks").become("Scheduling")
    trigger = PipelineTrigger("arroyo_default", conditions.to_json(UntilState("clicks", "running")), on_kill="stop")

    async def cancel() -> None:
        waiting = asyncio.ensure_future(first_event(trigger))
        while not plane.requests:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await trigger.cleanup()

    asyncio.run(cancel())
    assert not plane.matching_requests("PATCH")


def test_a_waiting_trigger_leaves_the_loop_to_others(plane: FakeControlPlane) -> None:
    plane.add("clicks")
    plane.gate = gate = threading.Event()
    trigger = PipelineTrigger("arroyo_default", conditions.to_json(UntilState("clicks", "running")))

    async def opened_by_another() -> bool:
        waiting = asyncio.ensure_future(first_event(trigger))
        while not plane.waiting.is_set():
            await asyncio.sleep(0.001)
        is_open = waiting.done()
        gate.set()
        return (await waiting)["kind"] == "reached" and not is_open

    assert asyncio.run(opened_by_another())


def test_pauses_grow_and_are_never_the_same_for_all() -> None:
    backoff = Backoff(timedelta(seconds=1), timedelta(seconds=8))

    assert [backoff.pause(n, lambda: 0.0).length.total_seconds() for n in (1, 2, 3, 4, 9)] == [0.5, 1, 2, 4, 4]
    assert [backoff.pause(n, lambda: 1.0).length.total_seconds() for n in (1, 2, 3, 4, 9)] == [1, 2, 4, 8, 8]
