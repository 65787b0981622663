"""Tries of a task without Airflow's processes: what a task sees of Airflow is two small objects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pendulum
import pytest
from airflow.sdk.exceptions import ErrorType
from airflow.sdk.execution_time.comms import AssetResult, ErrorResponse, GetAssetByUri
from airflow.sdk.execution_time.context import set_current_context
from airflow.serialization import serialized_objects
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_provider_arroyo.airflow_versions import TaskDeferred
from airflow_provider_arroyo.operators import base as operators
from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger

_KNOWN = vars(serialized_objects)
DagSerialization: Any = _KNOWN.get("DagSerialization") or _KNOWN["SerializedDAG"]
"""Airflow has the first from 3.2 on, and the second before."""


def put_to_sleep(monkeypatch: pytest.MonkeyPatch, sleep: Callable[[float], object]) -> None:
    """Let sensors pause with `sleep`. Only the sensors' own view of the clock is replaced: other threads of the process
    sleep too, and must go on doing so."""
    monkeypatch.setattr("airflow.sdk.bases.sensor.time", SimpleNamespace(**{**vars(time), "sleep": sleep}))


@dataclass
class Store:
    """The part of Airflow's task state store that is used."""

    values: dict[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def set(self, key: str, value: Any, *, retention: timedelta | None = None) -> None:
        self.values[key] = value


@dataclass
class KnownAssets:
    """What Airflow answers a task that asks for an asset by its URI."""

    names: dict[str, str] = field(default_factory=dict)
    failure: ErrorType = ErrorType.ASSET_NOT_FOUND

    def send(self, msg: GetAssetByUri) -> AssetResult | ErrorResponse:
        if msg.uri in self.names:
            return AssetResult(name=self.names[msg.uri], uri=msg.uri, group="asset")
        return ErrorResponse(error=self.failure)


@dataclass
class TaskInstance:
    """The part of a task instance that is used."""

    task_id: str
    dag_id: str = "a_dag"
    run_id: str = "a_run"
    map_index: int = -1
    max_tries: int = 0
    id: str = "01"
    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, task_ids: str, key: str, map_indexes: int | None = None) -> Any:
        """Airflow gives what all of a mapped task have pushed, unless it is told which of them is meant."""
        value = self.pushed.get(key)
        return value if self.map_index in (-1, map_indexes) else ["what another one has pushed", value]


class Run:
    """A task instance through its tries: what it pushes and stores stays from one to the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store: Store | None = Store()
        self.pauses: list[float] = []
        self.pushed: dict[str, Any] = {}
        self.data_interval_start: datetime | None = None
        self.data_interval_end: datetime | None = None

        def pause(task: operators.PipelineOperator, length: timedelta) -> None:
            self._note(length)
            task._raise_if_killed()

        monkeypatch.setattr(operators.PipelineOperator, "_pause", pause)
        put_to_sleep(monkeypatch, self.pauses.append)
        monkeypatch.setattr("airflow_provider_arroyo.hooks.arroyo._asleep", self._apause)
        self.at_pause: dict[int, Any] = {}
        self.max_tries = 3
        self.map_index = -1

    def execute(self, task: Any) -> Any:
        """Try the task once; a deferred one goes through its trigger, made again from what the database would hold."""
        context = self.context(task)
        with set_current_context(context):
            return self._execute(task, context)

    def _execute(self, task: Any, context: Any) -> Any:
        try:
            return task.execute(context)
        except TaskDeferred as deferred:
            return self._resume(task, context, deferred)

    def _resume(self, task: Any, context: Any, deferred: TaskDeferred) -> Any:
        event = asyncio.run(first_event(stored(deferred.trigger)))
        stored_event = BaseSerialization.deserialize(BaseSerialization.serialize(event))
        try:
            return getattr(task, deferred.method_name)(context, event=stored_event, **(deferred.kwargs or {}))
        except TaskDeferred as again:
            return self._resume(task, context, again)

    def clear(self) -> None:
        """A person clears the task: the scheduler then lets it be tried as often again."""
        self.max_tries += 4

    def context(self, task: Any) -> Any:
        instance = TaskInstance(task.task_id, map_index=self.map_index, max_tries=self.max_tries, pushed=self.pushed)
        edges = {"data_interval_start": self.data_interval_start, "data_interval_end": self.data_interval_end}
        interval = {name: pendulum.instance(edge) for name, edge in edges.items() if edge}  # as Airflow gives them
        return {"ti": instance} | interval | ({"task_state_store": self.store} if self.store is not None else {})

    async def _apause(self, length: timedelta) -> None:
        self._note(length)

    def _note(self, length: timedelta) -> None:
        self.pauses.append(length.total_seconds())
        assert len(self.pauses) < 100, "what the task waits for does not come"
        if happens := self.at_pause.get(len(self.pauses)):
            happens()


def stored(trigger: PipelineTrigger) -> PipelineTrigger:
    """The trigger as a triggerer makes it from the database."""
    path, arguments = trigger.serialize()
    assert path == "airflow_provider_arroyo.triggers.pipeline.PipelineTrigger"
    return PipelineTrigger(**BaseSerialization.deserialize(BaseSerialization.serialize(arguments)))


async def first_event(trigger: PipelineTrigger) -> Any:
    async for event in trigger.run():
        return event.payload
    raise AssertionError("the trigger has ended without an event")
