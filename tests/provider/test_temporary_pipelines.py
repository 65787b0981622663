"""A pipeline is there for as long as some tasks need it, and is deleted whatever becomes of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, task
from airflow.sdk.execution_time.context import MacrosAccessor

from airflow_provider_arroyo import events
from airflow_provider_arroyo.errors import DeadlineError, RefusedError
from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.responses import JobState
from airflow_provider_arroyo.temporary_pipeline import OF_RUN, temporary_pipeline
from airflow_provider_arroyo.testing import FakeControlPlane
from airflow_provider_arroyo.testing.control_plane import problem

from .tasks import Run

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def context(dag_id: str = "trial", run_id: str = "scheduled__1") -> Any:
    """What templates of a run at noon see."""
    return {"dag_run": SimpleNamespace(dag_id=dag_id, run_id=run_id, run_after=NOON), "macros": MacrosAccessor()}


def delete(**arguments: Any) -> DeletePipelineOperator:
    return DeletePipelineOperator(task_id="delete", pipeline="clicks", **arguments)


@pytest.fixture
def trial() -> DAG:
    with DAG("trial", schedule=None) as dag:

        @task
        def check(deployed: object) -> None:
            """Look at what was written."""

        with temporary_pipeline("orders", sql="SELECT 1", deferrable=True) as orders:
            check(orders.output)
    return dag


@pytest.mark.parametrize("deferrable", [False, True])
def test_running_temporary_pipeline_is_stopped_and_deleted(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks")

    assert airflow_run.execute(delete(deferrable=deferrable)) == {"pipeline_id": "pl_1", "deleted": True}
    assert plane.pipelines == {}
    assert [request.method for request in plane.requests if request.method != "GET"] == ["PATCH", "DELETE"]


@pytest.mark.parametrize("deferrable", [False, True])
def test_temporary_pipeline_that_fails_while_stopping_is_deleted(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", failure=("data.bad_record", "no number"), failure_cause="mistake")
    plane.on_patch = lambda pipeline, _: pipeline.become("CheckpointStopping", "Failed")

    assert airflow_run.execute(delete(deferrable=deferrable))["deleted"]


def test_cleanup_of_a_missing_temporary_pipeline_succeeds_and_so_does_its_retry(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks").become("Stopped")
    plane.fail("DELETE", "clicks|pl_1", "lost answer")

    assert airflow_run.execute(delete())["deleted"]
    assert airflow_run.execute(delete()) == {"pipeline_id": None, "deleted": False}


def test_another_one_that_has_its_name_by_now_is_not_deleted(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Stopped")
    task = delete(deferrable=True)
    stopped = events.to_json(events.Reached("pl_1", JobState.STOPPED))
    del plane.pipelines["pl_1"]
    plane.add("clicks").become("Stopped")

    assert task.execute_complete(airflow_run.context(task), event=stopped) == {"pipeline_id": None, "deleted": False}
    assert set(plane.pipelines) == {"pl_2"}


def test_a_savepoint_that_is_being_taken_is_waited_for(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Stopped")
    plane.refusals["DELETE", ""] = problem(409, "pipeline.busy", "a savepoint is being taken")
    airflow_run.at_pause[2] = plane.refusals.clear

    assert airflow_run.execute(delete())["deleted"]
    assert len(airflow_run.pauses) == 2


def test_savepoints_are_not_deleted_unless_they_may_go(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Stopped")
    airflow_run.execute(delete(with_savepoints=True))
    plane.add("clicks").become("Stopped")
    plane.refusals["DELETE", ""] = problem(409, "savepoint.kept", "it has a savepoint")

    with pytest.raises(RefusedError, match=r"savepoint\.kept"):
        airflow_run.execute(delete())

    assert [request.query for request in plane.matching_requests("DELETE")] == [{"with_savepoints": "true"}, {}]


def test_temporary_pipeline_that_does_not_stop_is_not_deleted(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    plane.on_patch = lambda pipeline, _: pipeline.become("Stopping")

    with pytest.raises(DeadlineError):
        airflow_run.execute(delete(wait_timeout=timedelta(0)))

    assert not plane.matching_requests("DELETE")


def test_the_teardown_needs_no_deployment_that_has_succeeded(trial: DAG) -> None:
    begin, deploy, end = (trial.get_task(f"orders.{name}") for name in ("begin", "deploy", "delete"))

    assert (begin.is_setup, deploy.is_setup, end.is_teardown) == (True, True, True)
    assert end.upstream_task_ids == {"orders.begin", "orders.deploy", "check"}
    assert trial.get_task("check").upstream_task_ids == {"orders.begin", "orders.deploy"}
    assert isinstance(end, DeletePipelineOperator)
    assert end.deferrable


def test_each_run_has_a_pipeline_of_its_own_which_writes_elsewhere(
    trial: DAG, plane: FakeControlPlane, airflow_run: Run
) -> None:
    deploy, end = trial.get_task("orders.deploy"), trial.get_task("orders.delete")
    for each in (deploy, end):
        each.render_template_fields(context())

    assert isinstance(deploy, StreamingSqlOperator)
    airflow_run.execute(deploy)
    [request] = plane.matching_requests("PUT")
    assert request.path.endswith("/orders-20260131T120000000000-fef879e9")
    assert request.body["query"].endswith("SET sink_prefix = '20260131T120000000000-fef879e9';\n")
    assert airflow_run.execute(end)["deleted"]


def test_no_run_of_any_other_dag_at_the_same_instant_has_the_same_pipeline(trial: DAG) -> None:
    deploy = trial.get_task("orders.deploy")
    runs = [("trial", "scheduled__1"), ("trial", "manual__1"), ("other", "scheduled__1")]

    names = {deploy.render_template(OF_RUN, context(*run)) for run in runs}

    assert len(names) == len(runs)
    assert all(re.fullmatch(r"20260131T120000000000-[0-9a-f]{8}", name) for name in names)
