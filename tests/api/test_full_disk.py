"""A database that has no room left: requests say so, nothing is half done, and all goes on when there is room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

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


def beat(plane: Plane, **more: Any) -> int:
    """Call home as the newest driver; the status of the answer."""
    run = plane.runner.launched[-1]
    headers = {"Authorization": f"Bearer {run.key}"}
    path = f"/api/v1/runs/{run.job_id}/{run.generation}/heartbeat"
    return plane.http.post(path, json={"state": "running", **more}, headers=headers).status_code
