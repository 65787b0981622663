"""A new pipeline goes on from a savepoint of another one, which is not touched."""

from __future__ import annotations

from typing import Any

import pytest

from engine.checkpoints.manifest import NAME
from engine.jobs.decisions.spec import PlannedFork, ShownUpgrade
from engine.jobs.decisions.states import State
from tests.api.conftest import Plane
from tests.api.test_savepoints import take

LOSES = ShownUpgrade("88aa", "SELECT 1", False, False, "tumble-77 STATE_DROPPED\n", "", '{"verdicts": []}')


@pytest.fixture
def saved(plane: Plane) -> dict[str, Any]:
    """A savepoint of a pipeline that runs."""
    plane.run(query="SELECT 1 INTO file:///out/x", settings={"memory": "3g"}, secrets={"PASSWORD": "xyzzy"})
    return take(plane)


def fork(
    plane: Plane, savepoint: dict[str, Any], *, dry_run: bool = False, key: str | None = None, **body: object
) -> Any:
    path = f"/api/v1/savepoints/{savepoint['id']}/fork" + ("?dry_run=true" if dry_run else "")
    sent = {"name": "orders-2", "query": "SELECT 1 INTO file:///out/y", **body}
    answer = plane.http.post(path, json=sent, headers={} if key is None else {"Idempotency-Key": key})
    plane.settle()
    return answer


def test_a_fork_begins_with_the_savepoint_and_runs_beside_the_original(plane: Plane, saved: dict[str, Any]) -> None:
    answer = fork(plane, saved)

    told = answer.json()
    assert (answer.status_code, told["name"], told["version"], told["parallelism"]) == (201, "orders-2", 1, 2)
    assert told["settings"] == {"memory": "3g"}
    origin = told["forked_from"]
    assert (origin["pipeline"], origin["savepoint_id"], origin["epoch"]) == ("orders", saved["id"], 7)
    [restore] = plane.runner.restored
    assert (restore.savepoint_id, restore.of_pipeline) == (saved["id"], saved["pipeline_id"])
    run = plane.runner.launched[-1]
    assert (run.name, run.query, run.secrets) == ("orders-2", "SELECT 1 INTO file:///out/y", {"PASSWORD": "xyzzy"})
    assert run.upgrade is not None
    assert run.upgrade.is_fork
    assert plane.state("orders") == State.RUNNING.value
    assert plane.get("/pipelines/orders")["version"] == 1
    events = [event["message"] for event in plane.get("/pipelines/orders-2/events")["data"]]
    assert f"forked from savepoint {saved['id']} of pipeline 'orders'" in events


def test_a_fork_that_would_write_where_the_original_does_is_refused_by_name(
    plane: Plane, saved: dict[str, Any]
) -> None:
    answer = fork(plane, saved, query="SELECT 1 INTO file:///out/x")

    assert (answer.status_code, answer.json()["code"]) == (409, "pipeline.shared_with_original")
    assert "file:///out/x" in answer.json()["detail"]
    assert [pipeline["name"] for pipeline in plane.get("/pipelines")["data"]] == ["orders"]


def test_fork_is_refused_for_each_resource_that_it_would_share(plane: Plane, saved: dict[str, Any]) -> None:
    plane.fork = PlannedFork(plane.fork.upgrade, ("clicks commits to the consumer group 'g'",))

    assert "consumer group 'g'" in fork(plane, saved).json()["detail"]


def test_a_target_of_any_other_pipeline_is_taken(plane: Plane, saved: dict[str, Any]) -> None:
    plane.run("other", query="SELECT 5 INTO file:///out/y")

    assert fork(plane, saved).json()["code"] == "pipeline.target_taken"


def test_no_fork_is_there_when_its_name_is_taken(plane: Plane, saved: dict[str, Any]) -> None:
    answer = fork(plane, saved, name="orders")

    assert (answer.status_code, answer.json()["code"]) == (409, "pipeline.exists")
    assert plane.get("/pipelines/orders")["version"] == 1


def test_a_loss_must_be_accepted_by_the_id_of_the_very_plan(plane: Plane, saved: dict[str, Any]) -> None:
    plane.fork = PlannedFork(LOSES)

    assert "tumble-77 STATE_DROPPED" in fork(plane, saved).json()["detail"]
    assert fork(plane, saved, accept_loss="3f0c").status_code == 409
    assert fork(plane, saved, accept_loss="88aa", reset=["tumble-77"]).status_code == 201
    upgrade = plane.runner.launched[-1].upgrade
    assert upgrade is not None
    assert (upgrade.accept_loss, upgrade.reset) == ("88aa", ("tumble-77",))


def test_a_fork_that_is_asked_for_twice_with_its_key_is_there_once(plane: Plane, saved: dict[str, Any]) -> None:
    first, second = fork(plane, saved, key="k"), fork(plane, saved, key="k")

    assert first.json() == second.json()
    assert len(plane.get("/pipelines")["data"]) == 2


def test_a_rehearsed_fork_shows_the_plan_and_makes_nothing(plane: Plane, saved: dict[str, Any]) -> None:
    effects = fork(plane, saved, dry_run=True).json()

    assert (effects["starts"], effects["stops"], effects["upgrade"]["id"]) == (True, False, "f0")
    assert len(plane.get("/pipelines")["data"]) == 1


def test_a_savepoint_that_is_not_there_or_has_lost_its_files_cannot_be_forked(
    plane: Plane, saved: dict[str, Any]
) -> None:
    assert fork(plane, {"id": "sp_aaaaaaaaaaaaaaaa"}).json()["code"] == "savepoint.not_found"
    (plane.context.directory.savepoint(saved["pipeline_id"], saved["id"]) / NAME).unlink()
    assert fork(plane, saved).json()["code"] == "savepoint.not_found"


def test_until_a_fork_has_its_state_the_savepoint_and_the_original_stay(plane: Plane, saved: dict[str, Any]) -> None:
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()
    path = f"/api/v1/savepoints/{saved['id']}/fork"
    plane.http.post(path, json={"name": "orders-2", "query": "SELECT 1 INTO file:///out/y"})

    kept = plane.http.delete(f"/api/v1/pipelines/orders/savepoints/{saved['id']}")
    assert "orders-2" in kept.json()["detail"]
    assert plane.http.delete("/api/v1/pipelines/orders?with_savepoints=true").status_code == 409

    plane.settle()
    assert plane.http.delete("/api/v1/pipelines/orders?with_savepoints=true").status_code == 204
    assert plane.runner.launched[-1].name == "orders-2"
