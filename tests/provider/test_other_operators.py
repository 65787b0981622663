"""Savepoints, rescaling, stopping."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from airflow_provider_arroyo.errors import JobEndedError, RefusedError
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.testing.control_plane import Answer, FakeControlPlane, problem

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


@both
def test_a_savepoint_is_waited_for_and_published(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks")
    task = SavepointOperator(task_id="keep", pipeline="clicks", savepoint_label="before", deferrable=deferrable)

    result = airflow_run.execute(task)

    assert result == {
        "savepoint_id": "sp_1",
        "path": "/savepoints/sp_1",
        "epoch": 4,
        "watermark": "1970-01-01T00:00:00+00:00",
        "bytes": 12,
    }
    assert airflow_run.pushed["savepoint_id"] == "sp_1"
    assert airflow_run.pushed["savepoint_path"] == "/savepoints/sp_1"


def test_each_mapped_task_resumes_with_its_own_savepoint(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    airflow_run.map_index = 1
    task = SavepointOperator(task_id="keep", pipeline="clicks", deferrable=True)

    assert airflow_run.execute(task)["savepoint_id"] == "sp_1"


def test_two_tries_take_one_savepoint(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    task = SavepointOperator(task_id="keep", pipeline="clicks")

    assert airflow_run.execute(task)["savepoint_id"] == airflow_run.execute(task)["savepoint_id"]


@both
def test_a_savepoint_that_fails_fails_the_task(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    pipeline = plane.add("clicks")

    def fail() -> None:
        pipeline.savepoints["sp_1"].clear()
        pipeline.savepoints["sp_1"].append({"id": "sp_1", "state": "failed", "failure_message": "the disk is full"})

    airflow_run.at_pause[1] = fail
    with pytest.raises(JobEndedError, match="the disk is full"):
        airflow_run.execute(SavepointOperator(task_id="keep", pipeline="clicks", deferrable=deferrable))


@pytest.mark.parametrize("state", ["Failed", "Stopped"])
@both
def test_a_savepoint_that_fails_tells_the_state_that_the_pipeline_is_in(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool, state: str
) -> None:
    pipeline = plane.add("clicks")
    pipeline.become(state)
    pipeline.savepoints["sp_1"] = deque(
        [{"id": "sp_1", "state": "failed", "failure_message": "there is no checkpoint"}]
    )

    with pytest.raises(JobEndedError, match=f"is {state}: there is no checkpoint") as raised:
        airflow_run.execute(SavepointOperator(task_id="keep", pipeline="clicks", deferrable=deferrable))

    assert raised.value.code == "savepoint.failed"


@both
def test_a_retry_after_a_failed_savepoint_takes_another_one(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    pipeline = plane.add("clicks")
    task = SavepointOperator(task_id="keep", pipeline="clicks", deferrable=deferrable)
    pipeline.savepoints["sp_1"] = deque([{"id": "sp_1", "state": "failed", "failure_message": "the disk is full"}])
    with pytest.raises(JobEndedError):
        airflow_run.execute(task)

    assert airflow_run.execute(task)["savepoint_id"] == "sp_2"


def test_a_cleared_rescaling_is_done_again(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks")
    task = RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2)
    airflow_run.execute(task)
    pipeline.parallelism = 1
    pipeline.run_id = 7

    airflow_run.execute(task)

    assert (pipeline.parallelism, pipeline.run_id) == (2, 8)


@both
def test_rescaling_waits_for_the_next_run(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    pipeline = plane.add("clicks", run_id=3)

    def later(target_pipeline: Any, body: Any) -> None:
        target_pipeline.parallelism = body["parallelism"]  # asked for, and the old run is still seen running

    def start() -> None:
        pipeline.run_id = 4

    plane.on_patch = later
    airflow_run.at_pause[2] = start

    result = airflow_run.execute(
        RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2, deferrable=deferrable)
    )

    assert result == {"pipeline_id": "pl_1", "parallelism": 2, "state": "Running"}
    assert len(airflow_run.pauses) == 2


def test_a_retry_of_a_rescaling_does_not_take_the_old_run_for_the_new_one(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    pipeline = plane.add("clicks", run_id=3)

    def taken(target_pipeline: Any, body: Any) -> None:
        target_pipeline.parallelism = body["parallelism"]

    def start() -> None:
        pipeline.run_id = 4

    plane.on_patch = taken
    task = RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2)
    airflow_run.at_pause[1] = _die
    with pytest.raises(SystemExit):
        airflow_run.execute(task)
    airflow_run.at_pause = {3: start}
    airflow_run.execute(task)

    assert len(airflow_run.pauses) == 3


def test_rescaling_to_what_it_is_asks_for_nothing(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", parallelism=2)

    airflow_run.execute(RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2))

    assert not plane.matching_requests("PATCH")


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [("Stopped", "pipeline.stopped", "is Stopped"), ("Failed", "run.out_of_memory", "no memory is left")],
)
@both
def test_rescaling_what_does_not_run_is_answered_at_once(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool, state: str, code: str, words: str
) -> None:
    plane.add("clicks", failure=("run.out_of_memory", "no memory is left"), stop="checkpoint").become(state)

    with pytest.raises(JobEndedError, match=words) as raised:
        airflow_run.execute(RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2, deferrable=deferrable))

    assert raised.value.code == code
    assert not plane.matching_requests("PATCH")
    assert not airflow_run.pauses


def test_rescaling_a_finished_pipeline_has_nothing_to_do(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks").become("Finished")

    result = airflow_run.execute(RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2))

    assert result == {"pipeline_id": "pl_1", "parallelism": 1, "state": "Finished"}
    assert not plane.matching_requests("PATCH")


def test_rescaling_a_stopped_pipeline_that_is_about_to_start_waits_for_it(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks").become("Stopped")

    assert airflow_run.execute(RescaleOperator(task_id="grow", pipeline="clicks", parallelism=2))["parallelism"] == 2


@both
def test_stopping_waits_until_the_pipeline_is_at_rest(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks")

    result = airflow_run.execute(
        StopStreamingJobOperator(task_id="stop", pipeline="clicks", mode="immediate", deferrable=deferrable)
    )

    assert result["state"] == "Stopped"
    assert plane.matching_requests("PATCH")[0].body == {"stop": "immediate"}


@pytest.mark.parametrize("state", ["Stopped", "Finished"])
def test_a_pipeline_at_rest_is_left_alone(plane: FakeControlPlane, airflow_run: Run, state: str) -> None:
    plane.add("clicks", stop="checkpoint").become(state)

    airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="clicks"))

    assert not plane.matching_requests("PATCH")


def test_stopping_a_failed_pipeline_ends_well_and_tells_why_it_failed(
    plane: FakeControlPlane, airflow_run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    plane.add("clicks", failure=("run.out_of_memory", "no memory is left")).become("Failed")

    result = airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="clicks"))

    assert result["state"] == "Failed"
    assert result["failure"] == "run.out_of_memory: no memory is left"
    assert not plane.matching_requests("PATCH")
    assert not airflow_run.pauses


@both
def test_a_pipeline_that_fails_while_it_stops_fails_the_task_and_a_retry_finds_it_at_rest(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", failure=("delivery.unavailable", "the bucket is gone"))
    plane.on_patch = lambda pipeline, body: pipeline.become("CheckpointStopping", "Failed")
    task = StopStreamingJobOperator(task_id="stop", pipeline="clicks", deferrable=deferrable)

    with pytest.raises(JobEndedError, match="the bucket is gone"):
        airflow_run.execute(task)

    assert airflow_run.execute(task)["state"] == "Failed"


def test_stopping_a_pipeline_that_does_not_exist_ends_well(plane: FakeControlPlane, airflow_run: Run) -> None:
    result = airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="nobody"))

    assert result == {"pipeline_id": None, "state": None, "epoch": None, "watermark": None, "failure": None}


@both
def test_a_pipeline_that_is_deleted_while_it_stops_is_stopped(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks")
    plane.on_patch = lambda pipeline, body: plane.pipelines.clear() or pipeline.become("Stopping")

    result = airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="clicks", deferrable=deferrable))

    assert result["state"] is None


def test_without_missing_ok_a_pipeline_that_does_not_exist_spends_no_retries(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    with pytest.raises(RefusedError, match=r"pipeline\.not_found"):
        airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="nobody", missing_ok=False))


@pytest.mark.parametrize("refusal", [problem(401, "auth.denied", "no valid token"), Answer(404, "no such page")])
def test_only_the_control_plane_itself_can_say_that_a_pipeline_is_missing(
    plane: FakeControlPlane, airflow_run: Run, refusal: Answer
) -> None:
    plane.refusals["GET", "clicks"] = refusal

    with pytest.raises(RefusedError):
        airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline="clicks"))


def _die() -> None:
    raise SystemExit(137)


@pytest.mark.parametrize("name", ["", ".", "..", "team/orders"])
def test_a_name_that_would_lead_elsewhere_is_refused_and_not_sent(
    plane: FakeControlPlane, airflow_run: Run, name: str
) -> None:
    with pytest.raises(RefusedError, match="is not a name"):
        airflow_run.execute(StopStreamingJobOperator(task_id="stop", pipeline=name))
