"""Tasks that take a pipeline back, and that fork one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_arroyo.errors import RefusedError
from airflow_provider_arroyo.operators.fork import ForkOperator
from airflow_provider_arroyo.operators.restore import RestoreOperator
from airflow_provider_arroyo.operators.rollback import RollbackOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, problem

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


def rolling_back(**options: Any) -> RollbackOperator:
    return RollbackOperator(task_id="back", pipeline="clicks", **options)


def restoring(**options: Any) -> RestoreOperator:
    return RestoreOperator(task_id="back", pipeline="clicks", savepoint="sp_1", **options)


def forking(**options: Any) -> ForkOperator:
    return ForkOperator(task_id="fork", pipeline="clicks-2", savepoint="sp_1", sql="SELECT 2", **options)


@both
def test_a_rollback_is_waited_for_and_says_what_stays_ahead(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks").version = 2

    result = airflow_run.execute(rolling_back(to="1", deferrable=deferrable))

    assert (result["version"], result["state"]) == (3, "Running")
    assert (result["rollback"]["version"], result["rollback"]["savepoint_id"]) == (1, "sp_1")
    assert result["rollback"]["ahead"] == [{"table": "topic", "connector": "kafka", "epochs": 2, "rows": 9}]


@both
def test_each_mapped_task_reports_its_own_rollback(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks").version = 2
    airflow_run.map_index = 1

    assert airflow_run.execute(rolling_back(to="1", deferrable=deferrable))["rollback"]["savepoint_id"] == "sp_1"


@both
def test_a_restore_is_waited_for(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks")

    result = airflow_run.execute(restoring(allow_replay=True, with_version=True, deferrable=deferrable))

    assert (result["savepoint_id"], result["state"]) == ("sp_1", "Running")
    (request,) = plane.matching_requests("POST", "restore")
    assert request.body == {"savepoint_id": "sp_1", "allow_replay": True, "with_version": True}


@pytest.mark.parametrize("make", [rolling_back, restoring])
def test_two_tries_go_back_once(plane: FakeControlPlane, airflow_run: Run, make: Callable[[], Any]) -> None:
    pipeline = plane.add("clicks")

    assert airflow_run.execute(make()) == airflow_run.execute(make())
    assert (pipeline.version, pipeline.run_id) == (2, 2)


@pytest.mark.parametrize("make", [rolling_back, restoring])
def test_a_cleared_task_rolls_back_again(plane: FakeControlPlane, airflow_run: Run, make: Callable[[], Any]) -> None:
    pipeline = plane.add("clicks")
    airflow_run.execute(make())
    airflow_run.clear()
    airflow_run.execute(make())

    assert pipeline.version == 3


@pytest.mark.parametrize("make", [rolling_back, restoring])
def test_a_stopped_pipeline_goes_back_and_is_not_waited_for(
    plane: FakeControlPlane, airflow_run: Run, make: Callable[[], Any]
) -> None:
    pipeline = plane.add("clicks")
    pipeline.stop = "checkpoint"
    pipeline.become("Stopped")

    airflow_run.execute(make())

    assert pipeline.version == 2
    assert airflow_run.pauses == []


def test_without_a_way_back_the_task_fails_by_name(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    refusal = problem(409, "pipeline.no_way_back", "version 1 has left no savepoint")
    plane.refusals["POST", "rollback"] = refusal

    with pytest.raises(RefusedError, match="version 1 has left no savepoint"):
        airflow_run.execute(rolling_back())


@both
def test_a_fork_is_waited_for(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    original = plane.add("clicks")

    result = airflow_run.execute(forking(reset=["tumble"], accept_loss="3f0c", deferrable=deferrable))

    assert (result["name"], result["state"], result["savepoint_id"]) == ("clicks-2", "Running", "sp_1")
    (request,) = plane.matching_requests("POST", "savepoints/sp_1/fork")
    assert request.body == {"name": "clicks-2", "query": "SELECT 2", "reset": ["tumble"], "accept_loss": "3f0c"}
    assert original.version == 1


def test_two_tries_make_one_fork(plane: FakeControlPlane, airflow_run: Run) -> None:
    assert airflow_run.execute(forking())["pipeline_id"] == airflow_run.execute(forking())["pipeline_id"]
    assert len(plane.pipelines) == 1


def test_a_name_that_is_taken_fails_the_task(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks-2")

    with pytest.raises(RefusedError, match="of that name already"):
        airflow_run.execute(forking())
