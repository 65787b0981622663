"""A database that has no room left: requests say so, nothing is half done, and all goes on when there is room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from tests.api.conftest import Plane


@contextmanager
def no_room(plane: Plane) -> Iterator[None]:
    """The database file cannot grow."""
    engine = plane.context.database.engine

    def limit(connection: Any, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")

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
