"""A database that has no room left: requests say so, nothing is half done, and all goes on when there is room."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from engine.control.caretaker import Caretaker
from engine.jobs.decisions.observe import Process
from engine.jobs.decisions.status import Run
from tests.api.conftest import Plane, report


@contextmanager
def no_room(plane: Plane, pragma: str = "max_page_count = 1") -> Iterator[None]:
    """The database file cannot grow."""
    engine = plane.context.database.engine

    def limit(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "connect", limit)
    engine.dispose()
    yield
    event.remove(engine, "connect", limit)
    engine.dispose()


def test_a_full_disk_is_an_outage_that_is_said_and_ends(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    plane.deploy()
    body = {"query": "SELECT 2 " + "x" * 100_000}

    with no_room(plane), caplog.at_level(logging.ERROR):
        refused = plane.http.put("/api/v1/pipelines/by-name/large", json=body)

        assert (refused.status_code, refused.json()["code"]) == (503, "server.store_unavailable")
        assert "database or disk is full" in refused.json()["detail"]
        assert plane.http.get("/api/v1/pipelines/orders").is_success
        assert plane.http.get("/api/v1/pipelines/large").status_code == 404

    assert plane.http.put("/api/v1/pipelines/by-name/large", json=body).status_code == 201
    assert "Traceback" not in caplog.text


def test_a_run_whose_epochs_cannot_be_written_down_is_neither_silent_nor_stuck(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)], "signs": 1})
    with no_room(plane, "query_only = ON"):  # for nothing, however small
        for number in range(2, 20):
            assert beat(plane, reports=[report(number, number)], signs=number) == 503
            plane.let_pass(10)
    plane.settle()
    assert (plane.state(), plane.runner.killed, plane.job()["epoch"]) == ("Running", [], 1)

    assert beat(plane, reports=[report(19, 19)], signs=20) == 200

    assert (plane.job()["epoch"], plane.job()["restarts_total"]) == (19, 0)


def test_status_names_full_database_disk_until_a_later_write_succeeds(plane: Plane) -> None:
    plane.run("resting")
    plane.http.patch("/api/v1/pipelines/resting", json={"stop": "checkpoint"})
    plane.settle()
    plane.end()
    assert plane.state("resting") == "Stopped"
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)], "signs": 1})

    with no_room(plane):
        body = {"query": "SELECT 2 " + "x" * 100_000}
        assert plane.http.put("/api/v1/pipelines/by-name/large", json=body).status_code == 503

        job, jobs = plane.job(), {job["pipeline_id"]: job for job in plane.get("/jobs")["data"]}
        rows = {row["name"]: row for row in plane.get("/pipelines")["data"]}
        database = plane.context.directory.database
        assert (job["state"], job["failure_code"], job["failure_cause"]) == ("Running", "data.disk_full", "outage")
        assert job["failure_message"] == f"the database {database} cannot be written: database or disk is full"
        assert job["failure_hint"].startswith("free space on its disk; the jobs go on")
        assert (job["blocked"], job["step"]) == (True, None)
        assert (rows["orders"]["failure_code"], rows["orders"]["blocked"]) == ("data.disk_full", True)
        assert (rows["resting"]["failure_code"], rows["resting"]["blocked"]) == (None, False)
        assert jobs[rows["orders"]["id"]] == job
        assert not jobs[rows["resting"]["id"]]["blocked"]

    assert beat(plane, reports=[report(2, 2)], signs=2) == 200
    assert (plane.job()["failure_code"], plane.job()["blocked"]) == (None, False)


def test_caretaker_ends_trouble_of_jobs_that_have_nothing_to_store(plane: Plane) -> None:
    plane.run()
    with no_room(plane, "query_only = ON"):
        assert beat(plane, reports=[report(1, 1)]) == 503
        assert plane.job()["failure_code"] == "server.store_unavailable"
        with pytest.raises(OperationalError):
            Caretaker(plane.context).look()
        assert plane.job()["blocked"]

    Caretaker(plane.context).look()

    assert (plane.job()["failure_code"], plane.job()["blocked"]) == (None, False)


def test_job_that_cannot_be_stored_as_recovering_names_full_disk_and_step(plane: Plane) -> None:
    plane.run(parallelism=1)
    assert plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 2}).is_success
    plane.settle()
    assert (plane.state(), plane.job()["step"]) == ("Rescaling", "finishing the epoch")

    with no_room(plane, "query_only = ON"):
        plane.runner.processes[1] = Process.GONE
        plane.context.database.troubles.store = None
        plane.settle()
        job = plane.job()
        assert (job["state"], job["blocked"], job["step"]) == ("Rescaling", True, "waiting for the control plane")
        assert job["failure_code"] == "server.store_unavailable"

    plane.settle()
    assert (plane.state(), plane.job()["blocked"]) == ("Scheduling", False)


def test_rescale_without_room_for_its_log_names_the_path_and_is_tried_again(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run(parallelism=1)

    def begin(pipeline_id: str, task: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/data/maintenance.log")

    with monkeypatch.context() as patch:
        patch.setattr(plane.runner, "begin_maintenance", begin)
        assert plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 2}).is_success
        plane.settle()
        plane.end()
        plane.let_pass(5)
        job = plane.job()
        assert (job["state"], job["failure_code"]) == ("Recovering", "data.disk_full")
        assert job["failure_message"] == "/data/maintenance.log cannot be written: No space left on device"

    plane.let_pass(120)
    assert (plane.state(), plane.runner.launched[-1].parallelism) == ("Scheduling", 2)


def test_round_that_meets_a_full_disk_blocks_its_pipeline_alone(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.run()
    plane.run("clicks")
    orders = plane.runner.launched[0].pipeline_id

    def look(run: Run) -> Process:
        if run.pipeline_id == orders:
            raise OSError(errno.ENOSPC, "No space left on device", "/data/mark")
        return Process.ALIVE

    with monkeypatch.context() as patch:
        patch.setattr(plane.runner, "look", look)
        plane.settle()
        assert (plane.job()["failure_code"], plane.job("clicks")["failure_code"]) == ("data.disk_full", None)

    plane.settle()
    assert plane.job()["failure_code"] is None


def beat(plane: Plane, **more: Any) -> int:
    """Call home as the newest driver; the status of the answer."""
    run = plane.runner.launched[-1]
    headers = {"Authorization": f"Bearer {run.key}"}
    path = f"/api/v1/runs/{run.job_id}/{run.generation}/heartbeat"
    return plane.http.post(path, json={"state": "running", **more}, headers=headers).status_code
