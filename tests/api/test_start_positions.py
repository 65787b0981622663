"""Where tables are told to begin is looked at before anything stops."""

from __future__ import annotations

import pytest

from tests.api.conftest import Plane
from tests.api.test_forks import fork
from tests.api.test_restore import restore
from tests.api.test_savepoints import take
from tests.api.test_upgrades import KEPT, redeploy, running

__all__ = ("running",)
LATEST = {"start_from": "clicks=latest"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "by-name/orders", {"query": "SELECT 2"}),
        ("PUT", "by-name/orders", {"query": "SELECT 1"}),
        ("PUT", "by-name/orders", {"query": "SELECT 2", "force": True}),
        ("PUT", "by-name/orders?dry_run=true", {"query": "SELECT 2"}),
        ("PUT", "by-name/others", {"query": "SELECT 2"}),
        ("POST", "orders/plan", {"query": "SELECT 2"}),
    ],
)
def test_start_position_that_a_run_would_refuse_is_refused_without_changes(
    running: Plane, method: str, path: str, body: dict[str, object]
) -> None:
    running.upgrade, running.refuses_starts = KEPT, True

    answer = running.http.request(method, f"/api/v1/pipelines/{path}", json={**body, "settings": LATEST})
    running.settle()

    assert (answer.status_code, answer.json()["code"]) == (409, "state.start_position")
    assert running.state() == "Running"
    assert len(running.get("/pipelines")["data"]) == 1
    assert running.get("/pipelines/orders")["version"] == 1


def test_they_are_looked_at_for_the_state_that_the_run_will_find(running: Plane) -> None:
    state = running.context.directory.state(running.get("/pipelines/orders")["id"])
    running.upgrade = KEPT
    asked = running.requested_starts
    assert asked == [(None, "SELECT 1", ())]

    redeploy(running, query="SELECT 1", settings=LATEST)
    redeploy(running, settings=LATEST, reset=["clicks"])
    redeploy(running, query="SELECT 3", force=True)

    assert asked[1:] == [
        (state, "SELECT 1", ("clicks",)),
        (state, "SELECT 2", ("clicks", "clicks")),
        (None, "SELECT 3", ("clicks",)),
    ]


def test_a_plan_is_for_the_settings_that_the_pipeline_has_unless_others_are_given(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running, query="SELECT 1", settings=LATEST)

    for settings in (None, {"start_from": "orders=latest"}):
        body = {"query": "SELECT 2"} | ({} if settings is None else {"settings": settings})
        running.http.post("/api/v1/pipelines/orders/plan", json=body)

    assert [names for _, _, names in running.requested_starts[-2:]] == [("clicks",), ("orders",)]


def test_a_fork_is_looked_at_with_its_savepoint(running: Plane) -> None:
    savepoint = take(running)
    running.refuses_starts = True

    refused = fork(running, savepoint, settings=LATEST, dry_run=True)

    assert refused.json()["code"] == "state.start_position"
    folder = running.context.directory.savepoint(savepoint["pipeline_id"], savepoint["id"])
    assert running.requested_starts[-1] == (folder, "SELECT 1 INTO file:///out/y", ("clicks",))


def test_while_a_restore_is_to_come_nobody_knows(running: Plane) -> None:
    running.upgrade = KEPT
    restore(running, take(running))
    running.requested_starts.clear()

    assert redeploy(running, query="SELECT 1", settings=LATEST)[0] == 200
    assert running.requested_starts == []
