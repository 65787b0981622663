from __future__ import annotations

from typing import Any

from engine.api import savepoints
from engine.api.answers import Savepoint
from engine.store.savepoints import Savepoint as Stored
from engine.store.savepoints import add
from tests.api.conftest import T0, Plane, report

PATH = "/pipelines/orders/savepoints"


def take(plane: Plane, label: str | None = None, key: str | None = None) -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    answer = plane.http.post(f"/api/v1{PATH}", json={"label": label}, headers=headers)
    assert answer.status_code == 201, answer.text
    savepoint: dict[str, Any] = answer.json()
    return savepoint


def test_a_savepoint_is_taken_while_the_job_runs(plane: Plane) -> None:
    pipeline = plane.run()

    savepoint = take(plane, "before the change")

    assert set(savepoint) == set(Savepoint.model_fields)
    assert (savepoint["state"], savepoint["epoch"], savepoint["label"], savepoint["bytes"]) == (
        "completed",
        7,
        "before the change",
        100,
    )
    assert savepoint["path"] == f"{pipeline['state_dir']}/savepoints/{savepoint['id']}"
    assert plane.get(f"{PATH}/{savepoint['id']}") == savepoint
    assert plane.get(PATH)["data"] == [savepoint]
    assert plane.state() == "Running"


def test_a_savepoint_that_cannot_be_taken_says_why(plane: Plane) -> None:
    plane.run()

    savepoint = take(plane, "broken")

    assert (savepoint["state"], savepoint["failure_message"]) == ("failed", "cannot be saved")


def test_a_savepoint_asked_for_twice_is_taken_once(plane: Plane) -> None:
    plane.run()

    assert take(plane, key="k")["id"] == take(plane, key="k")["id"]
    assert len(plane.get(PATH)["data"]) == 1


def test_a_savepoint_that_was_cut_short_is_taken_again_by_the_next_control_plane(plane: Plane) -> None:
    pipeline = plane.run()
    with plane.context.database.writing() as connection:
        add(connection, Stored("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0))

    savepoints.resume(plane.context)
    plane.context.workers.shutdown()

    assert plane.get(f"{PATH}/sp_aaaaaaaaaaaaaaaa")["state"] == "completed"


def test_a_running_job_is_stopped_restored_and_started(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    savepoint = take(plane)
    plane.call("heartbeat", {"state": "running", "reports": [report(9, 9)]})

    answer = plane.http.post(
        "/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"], "allow_replay": True}
    )

    assert answer.status_code == 202
    plane.settle()
    assert plane.state() == "CheckpointStopping"
    plane.end()
    assert (plane.runner.launched[-1].generation, plane.runner.launched[-1].parallelism) == (2, 2)
    assert plane.job()["epoch"] is None
    assert plane.get(f"/pipelines/orders/jobs/{plane.job()['id']}/checkpoints")["data"] == []


def test_going_back_over_what_was_written_since_needs_to_be_said(plane: Plane) -> None:
    plane.run()
    savepoint = take(plane)
    plane.call("heartbeat", {"state": "running", "reports": [report(9, 9)]})

    refused = plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"]})

    assert (refused.status_code, refused.json()["code"]) == (409, "savepoint.replay")
    assert plane.state() == "Running"


def test_a_stopped_job_is_restored_and_rests(plane: Plane) -> None:
    plane.run()
    savepoint = take(plane)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"]})
    plane.settle()

    assert (plane.state(), len(plane.runner.launched)) == ("Stopped", 1)


def test_only_a_completed_savepoint_of_the_pipeline_can_be_restored(plane: Plane) -> None:
    plane.run()
    broken = take(plane, "broken")

    refused = plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": broken["id"]})
    foreign = plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": "../../etc"})

    assert (refused.status_code, refused.json()["code"]) == (409, "savepoint.error")
    assert (foreign.status_code, foreign.json()["code"]) == (404, "savepoint.not_found")
