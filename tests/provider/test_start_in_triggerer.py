"""Sensors that no worker runs: they start in the triggerer and end there; what that cannot do falls to a worker."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections import deque
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock
from uuid import uuid4

import pytest
from airflow.executors.workloads.task import TaskInstanceDTO
from airflow.jobs.triggerer_job_runner import TriggerRunner
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import DAG, Asset, BaseOperator
from airflow.serialization.decoders import smart_decode_trigger_kwargs
from airflow.triggers.base import TaskSuccessEvent, TriggerEvent
from airflow.utils.state import TaskInstanceState

from airflow_provider_arroyo.conditions import (
    LagBounds,
    UntilCheckpoint,
    UntilFresh,
    UntilLag,
    UntilState,
    UntilWatermark,
    UntilWatermarks,
    Wait,
)
from airflow_provider_arroyo.errors import JobEndedError, NoDataIntervalError
from airflow_provider_arroyo.events import ON_WORKER, Event, TimedOut
from airflow_provider_arroyo.links import URL_KEY
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.responses import to_micros
from airflow_provider_arroyo.sensors.base import PipelineSensor
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from airflow_provider_arroyo.triggers import sensor as sensor_trigger
from airflow_provider_arroyo.triggers.sensor import SensorTrigger
from airflow_provider_arroyo.views import LINK_KEY, view_of

from .tasks import DagSerialization, Run

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def watermark(**changes: Any) -> WatermarkSensor:
    return WatermarkSensor(task_id="gate", **{"pipeline": "clicks", "past": FIVE, "deferrable": True, **changes})


def decoded(stored: Any) -> dict[str, Any]:
    """What Airflow makes the trigger of a stored task with."""
    arguments = smart_decode_trigger_kwargs(stored.start_trigger_args.trigger_kwargs)
    return {name: smart_decode_trigger_kwargs(value) for name, value in arguments.items()}


class Triggerer:
    """Makes triggers of tasks as Airflow does: out of the DAG as it is stored, and with its fields rendered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context: dict[str, Any] = {"run_id": "a_run"}
        self.listens = False
        self.can_push = True
        self.try_number = 1
        self.pushed: dict[str, Any] = {}
        monkeypatch.setattr(sensor_trigger, "_somebody_listens", lambda: self.listens)
        monkeypatch.setattr(sensor_trigger, "_push", self._push)

    async def _push(self, task: Any, key: str, value: Any) -> None:
        if not self.can_push:
            raise RuntimeError("no way to the database")
        self.pushed[key] = value

    def run(self, sensor: PipelineSensor) -> Any:
        """The event by which a task ends that has started in the triggerer."""
        dag = DAG("a_dag", schedule=None)
        dag.add_task(sensor)
        stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag)))).get_task("gate")
        assert stored.start_from_trigger
        trigger = SensorTrigger(**decoded(stored))
        trigger.task_instance = cast(
            "Any",
            SimpleNamespace(dag_id="a_dag", run_id="a_run", task_id="gate", task=stored, try_number=self.try_number),
        )
        trigger.render_template_fields(context=cast("Any", dict(self.context)))
        assert SensorTrigger(**json.loads(json.dumps(trigger.serialize()[1]))).serialize() == trigger.serialize()

        async def first() -> TriggerEvent:
            async for event in trigger.run():
                return event
            raise AssertionError("no event")

        return asyncio.run(first())


@pytest.fixture
def triggerer(monkeypatch: pytest.MonkeyPatch) -> Triggerer:
    return Triggerer(monkeypatch)


def test_a_gate_opens_without_a_worker_and_leaves_what_a_worker_would_have_left(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer
) -> None:
    plane.add("clicks", watermarks=deque([None, FIVE]), certifies=True)

    event = triggerer.run(watermark())

    assert isinstance(event, TaskSuccessEvent)
    assert event.xcoms is None
    assert triggerer.pushed[URL_KEY] == f"{plane.url}/#/pipelines/clicks"
    assert triggerer.pushed[LINK_KEY] == "/plugin/arroyo/arroyo/arroyo_default/pipelines/clicks"
    returned = triggerer.pushed["return_value"]
    assert (returned["watermark"], returned["epoch"]) == (FIVE.isoformat(), 7)
    asked = plane.matching_requests("GET", "/watermark$")
    assert {(request.query["dag_id"], request.query["run_id"]) for request in asked} == {("a_dag", "a_run")}
    json.dumps(triggerer.pushed)


def test_a_gate_that_waits_keeps_no_dag(plane: FakeControlPlane) -> None:
    dag = DAG("a_dag", schedule=None)
    dag.add_task(watermark(past="{{ run_id }}"))
    instance = TaskInstanceDTO(
        id=uuid4(),
        dag_version_id=uuid4(),
        task_id="gate",
        dag_id="a_dag",
        run_id="a_run",
        try_number=1,
        pool_slots=1,
        queue="default",
        priority_weight=1,
    )
    instants = dict.fromkeys(("logical_date", "run_after", "start_date"), FIVE)
    nothing = dict.fromkeys(("data_interval_start", "data_interval_end", "end_date", "partition_key"))
    run = {"dag_id": "a_dag", "run_id": "a_run", "run_type": "manual", "state": "running", "consumed_asset_events": []}
    made = TriggerRunner.create_runtime_ti(instance, DagSerialization.to_dict(dag), run | instants | nothing)
    context = made.get_template_context()
    held = weakref.ref(context["dag"])
    trigger = SensorTrigger(**decoded(made.task))
    trigger.task_instance = cast("Any", made)

    trigger.render_template_fields(context)
    gc.collect()

    assert held() is None
    assert trigger.wait["past"] == "a_run"
    assert cast("Any", trigger.task_instance).run_id == "a_run"


def test_the_link_works_while_the_gate_waits(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    seen: list[set[str]] = []
    watch = SensorTrigger._watch

    async def look_later(trigger: SensorTrigger, wait: Wait) -> Event:
        async with asyncio.timeout(60):
            while not {URL_KEY, LINK_KEY} <= set(triggerer.pushed):
                await asyncio.sleep(0)
        seen.append(set(triggerer.pushed))
        return await watch(trigger, wait)

    monkeypatch.setattr(SensorTrigger, "_watch", look_later)

    triggerer.run(watermark())

    assert seen == [{URL_KEY, LINK_KEY}]
    assert list(triggerer.pushed) == [URL_KEY, LINK_KEY, "return_value"]


def test_a_link_that_cannot_be_stored_at_first_is_stored_with_the_result(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    triggerer.can_push = False
    watch = SensorTrigger._watch

    async def recover(trigger: SensorTrigger, wait: Wait) -> Event:
        event = await watch(trigger, wait)
        triggerer.can_push = True
        return event

    monkeypatch.setattr(SensorTrigger, "_watch", recover)

    assert isinstance(triggerer.run(watermark()), TaskSuccessEvent)
    assert list(triggerer.pushed) == [URL_KEY, LINK_KEY, "return_value"]


@pytest.mark.parametrize("past", ["{{ data_interval_end }}", "{{ data_interval_start + macros }}", None])
def test_the_instant_of_the_run_is_worked_out_where_it_starts(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer, past: str | None
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    triggerer.context["data_interval_end"] = FIVE
    sensor = watermark(past=past)
    if past and "macros" in past:
        assert not sensor.start_from_trigger
        return

    assert isinstance(triggerer.run(sensor), TaskSuccessEvent)
    assert plane.matching_requests("GET", "/watermark$")[0].query["past"] == str(to_micros(FIVE))


def test_a_run_without_a_data_interval_goes_to_a_worker_which_says_so(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer
) -> None:
    sensor = watermark(past=None)

    event = triggerer.run(sensor)

    assert event.payload == ON_WORKER
    with pytest.raises(NoDataIntervalError):
        sensor.execute_complete(airflow_run.context(sensor), event.payload)


@pytest.mark.parametrize(
    "make",
    [
        lambda more: CheckpointSensor(task_id="gate", pipeline="clicks", epoch="{{ 2 + 1 }}", **more),
        lambda more: CheckpointSensor(task_id="gate", pipeline="clicks", newer_than=FIVE, **more),
        lambda more: StreamingJobSensor(task_id="gate", pipeline="clicks", state="running", **more),
        lambda more: FreshnessSensor(task_id="gate", pipeline="clicks", at_most=HOUR, **more),
        lambda more: LagSensor(task_id="gate", pipeline="clicks", at_most=HOUR, **more),
    ],
    ids=["epoch", "age", "state", "fresh", "lag"],
)
def test_every_sensor_starts_and_ends_there(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer, make: Any
) -> None:
    now = datetime.now(UTC)
    epoch = {"epoch": 3, "finish_time": to_micros(now), "watermark": to_micros(now)}
    plane.add("clicks", watermarks=deque([now]), checkpoints=[epoch])

    assert isinstance(triggerer.run(make({"deferrable": True})), TaskSuccessEvent)


def test_a_failed_wait_is_raised_by_a_worker(plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer) -> None:
    plane.add("clicks", failure=("data.bad", "line 3")).become("Failed")
    sensor = watermark()

    event = triggerer.run(sensor)

    assert not isinstance(event, TaskSuccessEvent)
    with pytest.raises(JobEndedError, match="line 3"):
        sensor.execute_complete(airflow_run.context(sensor), event.payload)
    assert airflow_run.pushed[LINK_KEY] == "/plugin/arroyo/arroyo/arroyo_default/pipelines/clicks"


@pytest.mark.parametrize("why", ["a listener", "an asset", "a result that is not stored"])
def test_an_end_that_others_are_to_hear_of_is_a_workers(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer, why: str
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    triggerer.listens, triggerer.can_push = why == "a listener", why != "a result that is not stored"
    sensor = watermark(outlets=[Asset("hour")] if why == "an asset" else [])

    event = triggerer.run(sensor)

    assert not isinstance(event, TaskSuccessEvent)
    assert sensor.execute_complete(airflow_run.context(sensor), event.payload)["watermark"] == FIVE.isoformat()


def test_a_gate_that_is_tried_again_ends_on_a_worker_so_that_its_duration_is_not_negative(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    triggerer.try_number = 2

    event = triggerer.run(watermark())

    assert not isinstance(event, TaskSuccessEvent)
    assert watermark().execute_complete(airflow_run.context(watermark()), event.payload)["state"] == "Running"


def test_airflow_keeps_the_end_of_the_try_before_where_a_triggerer_ends_a_task() -> None:
    """The reason for the test above; if it fails, a gate may end in the triggerer on each try."""
    ends = MagicMock(state="deferred", start_date=FIVE + HOUR, end_date=FIVE)

    TaskInstance.set_state(ends, TaskInstanceState.SUCCESS, session=MagicMock())

    assert ends.duration == -HOUR.total_seconds()


def test_without_xcom_only_the_link_is_stored_at_the_end(
    plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))

    event = triggerer.run(watermark(do_xcom_push=False))

    assert isinstance(event, TaskSuccessEvent)
    assert event.xcoms == {LINK_KEY: view_of("arroyo_default", "clicks")}
    assert triggerer.pushed == {}


STORED_BY_0_1 = [
    (
        {"sensor": "watermark", "past": FIVE.isoformat(), "table": None, "by": "input", "need": "all"},
        UntilWatermark("clicks", FIVE, dag_id="a_dag", run_id="a_run"),
    ),
    (
        {
            "sensor": "watermark",
            "pipeline": ["clicks/hours", "orders"],
            "past": "{{ data_interval_end if data_interval_end is defined else '' }}",
            "table": None,
            "by": "input",
            "need": "any",
        },
        UntilWatermarks(
            (
                UntilWatermark("clicks", FIVE, "hours", dag_id="a_dag", run_id="a_run"),
                UntilWatermark("orders", FIVE, dag_id="a_dag", run_id="a_run"),
            ),
            "any",
        ),
    ),
    (
        {"sensor": "checkpoint", "epoch": "{{ 2 + 1 }}", "newer_than": FIVE.isoformat()},
        UntilCheckpoint("clicks", 3, FIVE),
    ),
    ({"sensor": "state", "state": "stopped"}, UntilState("clicks", "stopped")),
    (
        {"sensor": "fresh", "at_most": 3600.0, "table": "hours", "by": "output"},
        UntilFresh("clicks", HOUR, "hours", "output"),
    ),
    (
        {"sensor": "lag", "at_most": 300.0, "at_least": None, "steady": 600.0, "slack": 0.0},
        UntilLag("clicks", LagBounds(timedelta(minutes=5), None, timedelta(minutes=10))),
    ),
]
"""Arguments of triggers as version 0.1 of the provider stored them, and their conditions."""


@pytest.mark.parametrize(("stored", "condition"), STORED_BY_0_1, ids=[stored["sensor"] for stored, _ in STORED_BY_0_1])
def test_trigger_stored_by_version_0_1_waits_for_the_same_condition(
    monkeypatch: pytest.MonkeyPatch, stored: dict[str, Any], condition: Wait
) -> None:
    seen: list[Wait] = []

    async def watch(trigger: SensorTrigger, wait: Wait) -> Event:
        seen.append(wait)
        return TimedOut("clicks", FIVE, "enough")

    monkeypatch.setattr(SensorTrigger, "_watch", watch)
    task = BaseOperator(task_id="gate")
    common = {"poll_seconds": 5.0, "pushes": False, "ends_here": True, "arroyo_conn_id": "arroyo_default"}
    trigger = SensorTrigger(**json.loads(json.dumps({"pipeline": "clicks", **common, **stored})))
    trigger.task_instance = cast(
        "Any", SimpleNamespace(dag_id="a_dag", run_id="a_run", task_id="gate", task=task, try_number=1)
    )
    trigger.render_template_fields(context=cast("Any", {"data_interval_end": FIVE}))

    async def run() -> None:
        async for _ in trigger.run():
            return

    asyncio.run(run())

    assert seen == [condition]


class Gate(WatermarkSensor):
    """A sensor of a user's own."""


@pytest.mark.parametrize(
    "sensor",
    [
        lambda: watermark(deferrable=False),
        lambda: watermark(pipeline="{{ ti.xcom_pull(task_ids='deploy')['pipeline'] }}"),
        lambda: watermark(past="{{ var.value.since }}"),
        lambda: watermark(past="{{ past('five') }}"),
        lambda: watermark(past="{{ ds | of_mine }}"),
        lambda: watermark(pipeline=StopStreamingJobOperator(task_id="stop", pipeline="clicks").output),
        lambda: watermark(on_execute_callback=print),
        lambda: CheckpointSensor(task_id="gate", pipeline="clicks", new=2, deferrable=True),
        lambda: Gate(task_id="gate", pipeline="clicks", deferrable=True),
    ],
    ids=["not deferrable", "xcom", "variable", "macro", "filter", "output", "callback", "count", "subclass"],
)
def test_arguments_that_the_triggerer_cannot_render_start_on_a_worker(sensor: Any) -> None:
    with DAG("a_dag", schedule=None):
        assert sensor().start_from_trigger is False


def test_mapped_sensors_start_on_workers() -> None:
    with DAG("a_dag", schedule=None):
        mapped = WatermarkSensor.partial(task_id="gate", past=FIVE, deferrable=True).expand(pipeline=["a", "b"])

    assert mapped.start_from_trigger is False


def test_the_time_limit_is_stored_with_the_task_and_does_not_restart() -> None:
    args = watermark(timeout=90).start_trigger_args

    assert args is not None
    assert args.timeout == timedelta(seconds=90)
    assert isinstance(watermark(), BaseOperator)
