"""A control plane is told which task of which run asks for a change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_arroyo import conditions, requests
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.control_plane import name_of
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger

from .tasks import Run

TASKS: dict[str, Callable[[], Any]] = {
    "deploy": lambda: StreamingSqlOperator(task_id="t", pipeline="clicks", sql="SELECT 2"),
    "rescale": lambda: RescaleOperator(task_id="t", pipeline="clicks", parallelism=2),
    "savepoint": lambda: SavepointOperator(task_id="t", pipeline="clicks"),
    "stop": lambda: StopStreamingJobOperator(task_id="t", pipeline="clicks"),
    "delete": lambda: DeletePipelineOperator(task_id="t", pipeline="clicks"),
}


@pytest.mark.parametrize("kind", TASKS)
def test_every_request_for_a_change_names_the_task_that_asks(
    plane: FakeControlPlane, airflow_run: Run, kind: str
) -> None:
    plane.add("clicks", body={"query": "SELECT 1"})

    airflow_run.execute(TASKS[kind]())

    changes = [request for request in plane.requests if request.method != "GET"]
    assert {request.requested_by for request in changes} == {"a_dag/t/a_run"}
    assert {request.requested_by for request in plane.requests if request.method == "GET"} == {None}


def test_a_stop_for_a_task_that_was_killed_in_the_triggerer_names_it(plane: FakeControlPlane) -> None:
    plane.add("clicks")
    trigger = PipelineTrigger("arroyo_default", conditions.to_json(UntilState("clicks", "running")), on_kill="stop")
    task: Any = SimpleNamespace(dag_id="shop", task_id="deploy", run_id="manual__2026", task=None)
    trigger.task_instance = task

    asyncio.run(trigger.on_kill())

    assert plane.matching_requests("PATCH")[0].requested_by == "shop/deploy/manual__2026"


def test_outside_of_tasks_nobody_is_named(plane: FakeControlPlane) -> None:
    plane.add("clicks")

    ArroyoHook().send(requests.stop_pipeline("clicks", "checkpoint"))

    assert plane.matching_requests("PATCH")[0].requested_by is None


@pytest.mark.parametrize(
    ("dag", "task", "run", "name"),
    [
        ("d", "t", "scheduled__2026-01-01T05:00:00+00:00", "d/t/scheduled__2026-01-01T05:00:00+00:00"),
        ("bestellungen_täglich", "größe", "a\nb", "bestellungen_t%C3%A4glich/gr%C3%B6%C3%9Fe/a%0Ab"),
        ("d" * 250, "t" * 250, "r", "d" * 250 + "/" + "t" * 46 + "..."),
    ],
)
def test_a_name_is_printable_ascii_of_at_most_300_characters(dag: str, task: str, run: str, name: str) -> None:
    assert name_of(SimpleNamespace(dag_id=dag, task_id=task, run_id=run)) == name
    assert len(name) <= 300
