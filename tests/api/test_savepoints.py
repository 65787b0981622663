from __future__ import annotations

import json
import sqlite3
import zlib
from concurrent.futures import wait
from typing import Any

import pytest
from sqlalchemy import Connection, update
from sqlalchemy.exc import OperationalError

from engine.api.answers import Savepoint
from engine.control.savepoints import take_savepoints
from engine.store import savepoints as stored_savepoints
from engine.store.access.keys import KEYS
from engine.store.savepoints import Savepoint as Stored
from engine.store.savepoints import add
from tests.api.conftest import T0, Plane, report
from tests.system.conftest import until

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


def test_result_of_a_savepoint_is_stored_once_there_is_disk_space(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, tries = stored_savepoints.settle, iter(range(3))

    def settle(connection: Connection, settled: Stored) -> None:
        if next(tries) < 2:
            raise OperationalError("UPDATE", {}, sqlite3.OperationalError("database or disk is full"))
        write(connection, settled)

    monkeypatch.setattr(take_savepoints, "_PAUSE", 0.0)
    monkeypatch.setattr(stored_savepoints, "settle", settle)
    plane.run()

    asked = plane.http.post(f"/api/v1{PATH}", json={}).json()

    until(lambda: plane.get(f"{PATH}/{asked['id']}")["state"], lambda state: state == "completed")
    assert plane.context.in_hand == {}


def test_a_savepoint_asked_for_twice_is_taken_once(plane: Plane) -> None:
    plane.run()

    assert take(plane, key="k")["id"] == take(plane, key="k")["id"]
    assert len(plane.get(PATH)["data"]) == 1


def test_an_answer_that_an_earlier_version_has_kept_names_its_savepoint(plane: Plane) -> None:
    pipeline = plane.run()
    savepoint = take(plane, key="k")
    kept = json.dumps({"id": savepoint["id"], "pipeline_id": pipeline["id"], "state": "pending"}).encode()
    with plane.context.database.writing() as connection:
        connection.execute(update(KEYS).where(KEYS.c.key == "k").values(body=zlib.compress(kept)))

    assert take(plane, key="k") == savepoint


def test_a_savepoint_that_was_cut_short_is_taken_again_by_the_next_control_plane(plane: Plane) -> None:
    pipeline = plane.run()
    with plane.context.database.writing() as connection:
        add(connection, Stored("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0))

    take_savepoints.resume(plane.context)
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


def stop_with_savepoint(plane: Plane, **body: Any) -> dict[str, Any]:
    answer = plane.http.post(f"/api/v1{PATH}", json={"stop": "checkpoint", **body})
    plane.settle()
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


def settled(plane: Plane, savepoint: dict[str, Any]) -> dict[str, Any]:
    """What the savepoint has come to, once all that is being taken is taken."""
    wait([plane.context.workers.submit(lambda: None) for _ in range(4)])
    while plane.context.in_hand:
        wait([plane.context.workers.submit(lambda: None)])
    return plane.get(f"{PATH}/{savepoint['id']}")


def test_a_stop_with_a_savepoint_is_one_order_and_the_savepoint_comes_last(plane: Plane) -> None:
    plane.run()

    asked = stop_with_savepoint(plane, label="the end")

    assert (asked["state"], plane.state()) == ("pending", "CheckpointStopping")
    plane.call("heartbeat", {"state": "stopping", "reports": [report(9, 9)]})
    assert plane.get(f"{PATH}/{asked['id']}")["state"] == "pending"
    plane.end()
    assert plane.state() == "Stopped"
    assert (settled(plane, asked)["state"], settled(plane, asked)["label"]) == ("completed", "the end")


def test_a_pipeline_that_rests_has_its_savepoint_at_once(plane: Plane) -> None:
    plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert stop_with_savepoint(plane)["state"] == "completed"


def test_job_restarts_only_after_the_savepoint_of_its_last_epoch(plane: Plane) -> None:
    pipeline = plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()
    with plane.context.database.writing() as connection:
        add(connection, Stored("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0, after_stop=True))

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    plane.settle()

    assert (plane.state(), len(plane.runner.launched)) == ("Stopped", 1)
    take_savepoints.resume(plane.context)
    assert settled(plane, {"id": "sp_aaaaaaaaaaaaaaaa"})["state"] == "completed"
    plane.settle()
    assert (plane.state(), len(plane.runner.launched)) == ("Scheduling", 2)


def test_a_stop_that_is_taken_back_leaves_a_savepoint_of_the_newest_epoch(plane: Plane) -> None:
    plane.run()
    asked = stop_with_savepoint(plane)

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    plane.end()

    assert settled(plane, asked)["state"] == "completed"
    assert plane.state() == "Scheduling"


def test_a_savepoint_that_waits_for_a_stop_is_taken_by_the_next_control_plane(plane: Plane) -> None:
    pipeline = plane.run()
    with plane.context.database.writing() as connection:
        add(connection, Stored("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0, after_stop=True))
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})

    take_savepoints.resume(plane.context)

    assert settled(plane, {"id": "sp_aaaaaaaaaaaaaaaa"})["state"] == "pending"
