"""A stopped pipeline is started, once, however often the task is tried."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_arroyo.errors import RefusedError, StoppedMeanwhileError
from airflow_provider_arroyo.operators.start import StartStreamingJobOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])
RUNNING = {"pipeline_id": "pl_1", "name": "clicks", "state": "Running", "version": 1}


def start(**arguments: Any) -> StartStreamingJobOperator:
    return StartStreamingJobOperator(task_id="start", **{"pipeline": "clicks", **arguments})


@pytest.mark.parametrize(("state", "stop"), [("Stopped", "checkpoint"), ("Failed", "none")])
@both
def test_a_pipeline_at_rest_is_started_and_waited_for(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool, state: str, stop: str
) -> None:
    pipeline = plane.add("clicks", run_id=3, stop=stop)
    pipeline.become(state)

    assert airflow_run.execute(start(deferrable=deferrable)) == RUNNING

    assert pipeline.run_id == 4
    assert [request.body for request in plane.matching_requests("PATCH")] == [{"stop": "none"}]
    assert airflow_run.pushed["pipeline_id"] == "pl_1"


@pytest.mark.parametrize("state", ["Running", "Finished"])
@both
def test_a_pipeline_that_has_nothing_to_start_is_left_alone(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool, state: str
) -> None:
    plane.add("clicks").become(state)

    assert airflow_run.execute(start(deferrable=deferrable)) == {**RUNNING, "state": state}
    assert not plane.matching_requests("PATCH")


def test_a_pipeline_that_is_on_its_way_is_waited_for(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Scheduling", "Scheduling", "Scheduling", "Running")

    assert airflow_run.execute(start()) == RUNNING
    assert airflow_run.pauses
    assert not plane.matching_requests("PATCH")


def test_a_pipeline_that_is_being_stopped_starts_again_behind_that(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("CheckpointStopping")

    def taken(target: Any, body: Any) -> None:
        target.stop = body["stop"]

    def starts() -> None:
        pipeline.run_id = 4
        pipeline.become("Running")

    plane.on_patch = taken
    airflow_run.at_pause[2] = starts

    assert airflow_run.execute(start()) == RUNNING
    assert len(airflow_run.pauses) == 2


def test_a_retry_starts_it_once(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("Stopped")
    task = start()

    def slowly(target: Any, body: Any) -> None:
        target.stop, target.run_id = body["stop"], 4
        target.become(*["Scheduling"] * 4, "Running")

    plane.on_patch = slowly
    airflow_run.at_pause[1] = _die
    with pytest.raises(SystemExit):
        airflow_run.execute(task)
    airflow_run.at_pause = {}

    assert airflow_run.execute(task) == RUNNING
    assert pipeline.run_id == 4
    assert len(plane.matching_requests("PATCH")) == 1


def test_an_answer_that_is_lost_is_asked_for_again(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("Stopped")
    plane.fail("PATCH", "clicks|pl_1", "lost answer")

    assert airflow_run.execute(start()) == RUNNING
    assert pipeline.run_id == 4
    assert len({request.key for request in plane.matching_requests("PATCH")}) == 1


def test_a_retry_starts_one_that_has_failed_meanwhile(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("Stopped")
    task = start()
    airflow_run.execute(task)
    pipeline.become("Failed")

    assert airflow_run.execute(task) == RUNNING
    assert pipeline.run_id == 5


def test_a_retry_leaves_alone_what_a_person_has_stopped_and_a_cleared_task_starts_it(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("Stopped")
    task = start()
    airflow_run.execute(task)
    pipeline.stop = "checkpoint"
    pipeline.become("Stopped")

    with pytest.raises(StoppedMeanwhileError, match=r"stopped by ann .* after this task had started it"):
        airflow_run.execute(task)
    airflow_run.clear()
    assert airflow_run.execute(task) == RUNNING
    assert pipeline.run_id == 5


def test_a_stop_before_the_run_began_counts_as_well(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", run_id=3, stop="checkpoint")
    pipeline.become("Stopped")
    task = start()
    plane.on_patch = lambda target, body: setattr(target, "stop", body["stop"])
    airflow_run.at_pause[1] = _die
    with pytest.raises(SystemExit):
        airflow_run.execute(task)
    pipeline.stop = "checkpoint"

    with pytest.raises(StoppedMeanwhileError):
        airflow_run.execute(task)


def test_without_a_task_store_it_is_started_all_the_same(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.store = None
    plane.add("clicks", stop="checkpoint").become("Stopped")

    assert airflow_run.execute(start()) == RUNNING


def test_a_pipeline_that_does_not_exist_fails_at_once(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(RefusedError, match=r"pipeline\.not_found"):
        airflow_run.execute(start(pipeline="nobody"))


def _die() -> None:
    raise SystemExit(137)
