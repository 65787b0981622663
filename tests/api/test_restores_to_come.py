"""Until a restore that was asked for is done, nothing is decided by the state that it replaces."""

from __future__ import annotations

from typing import Any

import pytest

from engine.checkpoints.lineage import Lineage, write_lineage
from engine.jobs.decisions.states import State
from tests.api.conftest import Plane
from tests.api.test_restore import restore
from tests.api.test_savepoints import take
from tests.api.test_upgrades import KEPT, redeploy, running

__all__ = ("running",)


@pytest.fixture
def going_back(running: Plane) -> Plane:
    """A pipeline that is told to go back, whose job has not stopped yet."""
    running.upgrade = KEPT
    assert restore(running, take(running))[0] == 202
    assert running.state() == State.CHECKPOINT_STOPPING.value
    return running


def ask(plane: Plane, path: str, method: str = "POST", **body: object) -> tuple[int, dict[str, Any]]:
    answer = plane.http.request(method, f"/api/v1/pipelines/{path}", json=body)
    told: dict[str, Any] = answer.json()
    return answer.status_code, told


@pytest.mark.parametrize(
    ("path", "method", "body"),
    [
        ("by-name/orders", "PUT", {"query": "SELECT 2"}),
        ("by-name/orders", "PUT", {"query": "SELECT 2", "upgrade": "never"}),
        ("by-name/orders", "PUT", {"query": "SELECT 2", "force": True}),
        ("by-name/orders?dry_run=true", "PUT", {"query": "SELECT 2"}),
        ("orders/plan", "POST", {"query": "SELECT 2"}),
        ("orders/rollback", "POST", {}),
        ("orders/rollback?dry_run=true", "POST", {"to": 1}),
    ],
)
def test_requests_that_depend_on_the_state_wait_for_the_restore(
    going_back: Plane, path: str, method: str, body: dict[str, object]
) -> None:
    status, problem = ask(going_back, path, method, **body)

    assert (status, problem["code"]) == (409, "pipeline.busy")
    assert "is to go back to savepoint sp_" in problem["detail"]
    assert going_back.get("/pipelines/orders")["version"] == 1
    assert [stored["label"] for stored in going_back.get("/pipelines/orders/savepoints")["data"]] == [None]


def test_another_restore_waits_whatever_its_own_checks_would_say_of_the_state(going_back: Plane) -> None:
    [savepoint] = going_back.get("/pipelines/orders/savepoints")["data"]

    assert restore(going_back, savepoint, allow_replay=False)[1]["code"] == "pipeline.busy"


def test_once_it_is_done_another_query_is_planned_for_the_state_that_it_has_brought(going_back: Plane) -> None:
    going_back.end()
    going_back.come_up()

    assert redeploy(going_back)[0] == 200
    assert going_back.get("/pipelines/orders")["version"] == 2


def test_requests_that_do_not_change_the_state_do_not_wait_for_a_restore(going_back: Plane) -> None:
    assert redeploy(going_back, query="SELECT 1", settings={"memory": "4g"})[0] == 200
    assert ask(going_back, "orders", "PATCH", stop="checkpoint")[0] == 200
    going_back.settle()
    going_back.end()

    assert going_back.state() == State.STOPPED.value
    assert len(going_back.runner.restored) == 1


def test_a_fork_that_has_not_its_state_yet_does_not_begin_empty_with_another_query(plane: Plane) -> None:
    plane.run()
    plane.http.post(f"/api/v1/savepoints/{take(plane)['id']}/fork", json={"name": "copies", "query": "SELECT 1 INTO x"})

    status, problem = ask(plane, "by-name/copies", "PUT", query="SELECT 2 INTO x")

    assert (status, problem["code"]) == (409, "pipeline.busy")
    plane.settle()
    assert plane.runner.launched[-1].query == "SELECT 1 INTO x"


def test_a_state_that_is_replaced_while_it_is_looked_at_was_not_planned_for(running: Plane) -> None:
    state = running.context.directory.state(running.get("/pipelines/orders")["id"])
    running.upgrade = KEPT
    running.while_planning = lambda: write_lineage(state / "lineage.json", Lineage("two", (("one", 7),)))

    status, problem = ask(running, "by-name/orders", "PUT", query="SELECT 2")

    assert (status, problem["code"]) == (409, "pipeline.stale")
    running.while_planning = lambda: None
    assert redeploy(running)[0] == 200


def test_a_rescale_to_come_changes_no_meaning_and_so_no_plan(running: Plane) -> None:
    running.upgrade = KEPT
    ask(running, "orders", "PATCH", parallelism=4)
    running.settle()
    assert running.state() == State.RESCALING.value

    assert ask(running, "orders/plan", query="SELECT 2")[1]["id"] == "3f0c"
    assert redeploy(running)[0] == 200
    running.settle()
    running.end()

    launched = running.runner.launched[-1]
    assert (launched.query, launched.parallelism) == ("SELECT 2", 4)
