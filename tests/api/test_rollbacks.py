"""A pipeline goes back to an earlier version, with the state that this version was left in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from engine.checkpoints.lineage import Lineage, write_lineage
from engine.checkpoints.manifest import NAME, read_manifest, write_manifest
from engine.jobs.decisions.states import State
from tests.api.conftest import Plane, report
from tests.api.test_upgrades import KEPT, LOSES, let_savepoints_settle, redeploy, running, savepoints_of

__all__ = ("running",)


@pytest.fixture
def upgraded(running: Plane) -> Plane:
    """Version 2 runs, on the state that version 1 was left in at epoch 7."""
    running.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()
    running.come_up()
    let_savepoints_settle(running)
    return running


def roll_back(plane: Plane, *, key: str | None = None, dry_run: bool = False, **body: object) -> tuple[int, Any]:
    headers = {} if key is None else {"Idempotency-Key": key}
    path = "/api/v1/pipelines/orders/rollback" + ("?dry_run=true" if dry_run else "")
    answer = plane.http.post(path, json=body, headers=headers)
    plane.settle()
    return answer.status_code, answer.json()


def test_the_version_before_comes_back_with_its_state_and_the_newer_one_is_saved_first(upgraded: Plane) -> None:
    before = savepoints_of(upgraded)["before version 2"]["id"]

    status, answer = roll_back(upgraded)
    upgraded.end()
    upgraded.come_up()
    let_savepoints_settle(upgraded)

    assert (status, answer["version"], answer["query"]) == (202, 3, "SELECT 1")
    assert answer["rollback"] == {"version": 1, "savepoint_id": before, "redone": False, "epoch": 7, "ahead": []}
    assert upgraded.runner.launched[-1].query == "SELECT 1"
    assert upgraded.runner.launched[-1].upgrade is None
    assert upgraded.runner.restored[-1].savepoint_id == before
    saved = savepoints_of(upgraded)["before version 3"]
    assert (saved["state"], saved["version"], saved["reason"]) == ("completed", 2, "rollback to version 1")
    events = [event["message"] for event in upgraded.get("/pipelines/orders/events")["data"]]
    assert any(
        f"rolled back to version 1: version 3 was deployed, restore of savepoint {before} requested" in event
        for event in events
    )


def test_a_rollback_can_be_rolled_back(upgraded: Plane) -> None:
    roll_back(upgraded)
    upgraded.end()
    upgraded.come_up()
    let_savepoints_settle(upgraded)

    _, answer = roll_back(upgraded)
    upgraded.end()

    assert (answer["version"], answer["query"], answer["rollback"]["version"]) == (4, "SELECT 2", 2)
    assert answer["rollback"]["savepoint_id"] == savepoints_of(upgraded)["before version 3"]["id"]
    assert upgraded.runner.launched[-1].query == "SELECT 2"


def test_rollback_sent_twice_with_its_key_is_executed_once(upgraded: Plane) -> None:
    first = roll_back(upgraded, key="k")
    second = roll_back(upgraded, key="k")

    assert first == second
    assert upgraded.get("/pipelines/orders")["version"] == 3


def test_only_one_of_two_simultaneous_rollbacks_is_executed(upgraded: Plane) -> None:
    def send(_: int) -> int:
        return upgraded.http.post("/api/v1/pipelines/orders/rollback", json={"to": 1}).status_code

    with ThreadPoolExecutor(2) as both:
        statuses = sorted(both.map(send, range(2)))
    upgraded.settle()

    # who comes so late that the first is done already has nothing to do
    assert statuses in ([202, 409], [202, 202])
    assert upgraded.get("/pipelines/orders")["version"] == 3
    assert set(savepoints_of(upgraded)) == {"before version 3", "before version 2"}


def test_a_rollback_to_the_query_that_is_there_does_nothing(upgraded: Plane) -> None:
    roll_back(upgraded, to=1)
    upgraded.end()
    upgraded.come_up()
    let_savepoints_settle(upgraded)

    status, answer = roll_back(upgraded, to=1)

    assert (status, answer["version"], answer["rollback"]["savepoint_id"]) == (202, 3, None)
    assert upgraded.state() == State.RUNNING.value


def test_settings_go_back_and_the_state_goes_on(running: Plane) -> None:
    redeploy(running, query="SELECT 1", settings={"memory": "4g"})
    running.settle()
    running.end()
    running.come_up()

    status, answer = roll_back(running)

    assert (status, answer["version"], answer["settings"]) == (202, 3, {})
    assert answer["rollback"]["savepoint_id"] is None
    running.end()
    assert running.runner.restored == []


@pytest.fixture
def with_objects(plane: Plane) -> Plane:
    """A pipeline with a state that has objects."""
    plane.run(query="SELECT 1", udfs=["# objects 1"])
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    return plane


def deploy_other_objects(plane: Plane, **body: object) -> None:
    redeploy(plane, query="SELECT 1", udfs=["# objects 2"], **body)
    plane.settle()
    plane.end()
    plane.come_up()
    let_savepoints_settle(plane)


def test_an_equal_query_comes_back_with_the_objects_that_its_packages_can_read(with_objects: Plane) -> None:
    with_objects.upgrade = replace(LOSES, keeps_other_objects=True)
    deploy_other_objects(with_objects, accept_loss=LOSES.id)
    before = savepoints_of(with_objects)["before version 2"]["id"]

    rehearsed = roll_back(with_objects, dry_run=True)[1]["rollback"]
    answer = roll_back(with_objects)[1]
    with_objects.end()

    assert (rehearsed["savepoint_id"], answer["rollback"]["savepoint_id"]) == (before, before)
    assert with_objects.runner.restored[-1].savepoint_id == before
    assert not with_objects.runner.launched[-1].force


def test_an_equal_query_has_no_way_back_to_objects_that_were_given_up(with_objects: Plane) -> None:
    deploy_other_objects(with_objects, force=True)

    status, problem = roll_back(with_objects)

    assert (status, problem["code"]) == (409, "pipeline.no_way_back")
    assert with_objects.state() == State.RUNNING.value


def test_a_version_that_has_left_no_savepoint_is_refused_by_name(running: Plane) -> None:
    redeploy(running, force=True)
    running.settle()
    running.end()
    running.come_up()

    status, problem = roll_back(running)

    assert (status, problem["code"]) == (409, "pipeline.no_way_back")
    assert "version 1 has left no savepoint" in problem["detail"]
    assert running.state() == State.RUNNING.value


def test_a_savepoint_whose_files_are_gone_is_refused_before_anything_stops(upgraded: Plane) -> None:
    pipeline, stored = upgraded.get("/pipelines/orders"), savepoints_of(upgraded)["before version 2"]
    (upgraded.context.directory.savepoint(pipeline["id"], str(stored["id"])) / NAME).unlink()

    assert roll_back(upgraded)[1]["code"] == "savepoint.not_found"
    assert upgraded.state() == State.RUNNING.value
    assert upgraded.get("/pipelines/orders")["version"] == 2


def test_a_sink_that_cannot_go_back_says_by_how_much_it_is_ahead_and_nothing_is_done(running: Plane) -> None:
    running.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    running.upgrade = KEPT
    redeploy(running, query="SELECT 2 kafka:orders")
    running.settle()
    running.end()
    running.come_up()
    let_savepoints_settle(running)
    written = {"tables": {"orders": {"rows_out": 5}}}
    running.call("heartbeat", {"state": "running", "reports": [report(8, 6) | written, report(9, 7) | written]})
    state = running.context.directory.state(running.get("/pipelines/orders")["id"])
    write_lineage(state / "lineage.json", Lineage("one"))

    status, effects = roll_back(running, dry_run=True)

    assert (status, effects["stops"], effects["starts"]) == (200, True, True)
    assert effects["rollback"]["ahead"] == [{"table": "orders", "connector": "kafka", "epochs": 2, "rows": 10}]
    assert running.get("/pipelines/orders")["version"] == 2
    assert len(savepoints_of(running)) == 1


def test_a_version_that_fails_again_and_again_can_be_rolled_back_at_once(running: Plane) -> None:
    running.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()
    running.save_before(running.runner.launched[-1])
    running.end("failed", {"code": "x.y", "message": "oh", "hint": "", "cause": "unknown"})
    assert running.state() == State.RECOVERING.value

    status, answer = roll_back(running)

    assert (status, answer["rollback"]["version"]) == (202, 1)
    running.let_pass(5)
    assert running.runner.launched[-1].query == "SELECT 1"


def test_a_stopped_pipeline_goes_back_and_stays_stopped(upgraded: Plane) -> None:
    upgraded.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    upgraded.settle()
    upgraded.end()

    roll_back(upgraded)
    let_savepoints_settle(upgraded)

    assert upgraded.state() == State.STOPPED.value
    assert [restore.savepoint_id for restore in upgraded.runner.restored] == [
        savepoints_of(upgraded)["before version 2"]["id"]
    ]
    assert savepoints_of(upgraded)["before version 3"]["state"] == "completed"


def test_a_rollback_of_a_rollback_begins_where_the_histories_part(upgraded: Plane) -> None:
    roll_back(upgraded)
    upgraded.end()
    upgraded.come_up()
    let_savepoints_settle(upgraded)
    saved = savepoints_of(upgraded)
    pipeline = upgraded.get("/pipelines/orders")["id"]
    for label, lineage in (("before version 2", "one"), ("before version 3", "two")):
        folder = upgraded.context.directory.savepoint(pipeline, str(saved[label]["id"]))
        write_manifest(folder, replace(read_manifest(folder), lineage=lineage, epoch=7))
    state = upgraded.context.directory.state(pipeline)
    write_lineage(state / "lineage.json", Lineage("three", (("one", 7),)))

    upgraded.refuses_sinks = True
    assert roll_back(upgraded)[1]["detail"] == "SELECT 2 cannot go on from one at 7"
    upgraded.refuses_sinks = False
    _, answer = roll_back(upgraded)
    upgraded.end()

    assert (answer["query"], answer["rollback"]["redone"]) == ("SELECT 2", True)
    place = upgraded.context.directory.savepoint(pipeline, str(saved["before version 2"]["id"]))
    assert upgraded.asked_redone[-1][:2] == (place, "SELECT 2")
    assert answer["rollback"]["savepoint_id"] == saved["before version 2"]["id"]
    upgrade = upgraded.runner.launched[-1].upgrade
    assert upgrade is not None
    assert (upgrade.accept_loss, upgrade.savepoint_id) == ("3f0c", None)


def test_while_a_version_takes_the_place_of_another_nothing_is_rolled_back(upgraded: Plane) -> None:
    redeploy(upgraded, query="SELECT 3")

    status, problem = roll_back(upgraded)

    assert (status, problem["code"]) == (409, "pipeline.busy")
    assert "version 3 of pipeline 'orders' is still taking the place" in problem["detail"]
    assert upgraded.get("/pipelines/orders")["version"] == 3
