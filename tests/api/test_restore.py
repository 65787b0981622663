"""A restore is checked wholly before anything stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.checkpoints.lineage import Lineage, write_lineage
from engine.checkpoints.manifest import read_manifest, write_manifest
from engine.control.upgrades.plan_restore import RestorePlan, plan_restore
from engine.errors import ReplayError, StaleWriteError
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.jobs.records import read_record
from tests.api.conftest import Plane, report
from tests.api.test_savepoints import take


def restore(plane: Plane, savepoint: dict[str, Any], **body: Any) -> tuple[int, dict[str, Any]]:
    sent = {"savepoint_id": savepoint["id"], "allow_replay": True, **body}
    answer = plane.http.post("/api/v1/pipelines/orders/restore", json=sent)
    plane.settle()
    told: dict[str, Any] = answer.json()
    return answer.status_code, told


def test_a_savepoint_says_which_version_it_belongs_to_and_whose_it_is(plane: Plane) -> None:
    plane.run()

    answer = plane.http.post(
        "/api/v1/pipelines/orders/savepoints", json={"creator": "ann", "reason": "before the change"}
    )

    told = answer.json()
    assert (told["version"], told["creator"], told["reason"]) == (1, "ann", "before the change")


def second_version(plane: Plane, query: str = "SELECT 2", objects: str = "1") -> dict[str, Any]:
    """A savepoint of version 1, of a pipeline that runs as version 2."""
    plane.run(query="SELECT 1", udfs=["# objects 1"])
    savepoint = take(plane)
    plane.deploy(query=query, udfs=[f"# objects {objects}"], force=True)
    plane.end()
    plane.come_up()
    assert plane.state() == "Running"
    return savepoint


def test_a_savepoint_of_another_query_is_refused_before_anything_stops(plane: Plane) -> None:
    savepoint = second_version(plane)

    status, problem = restore(plane, savepoint)

    assert (status, problem["code"]) == (409, "savepoint.other_version")
    assert "version 1" in problem["detail"]
    assert "with_version" in problem["hint"]
    assert problem["allowed_by"] == "with_version"
    assert plane.state() == "Running"
    assert len(plane.runner.launched) == 2


def test_a_savepoint_with_objects_of_other_packages_is_one_of_another_query(plane: Plane) -> None:
    savepoint = second_version(plane, "SELECT 1", objects="2")

    assert restore(plane, savepoint)[1]["code"] == "savepoint.other_version"
    assert plane.state() == "Running"
    assert restore(plane, savepoint, with_version=True)[1]["version"] == 3


def test_a_savepoint_can_bring_its_query_back(plane: Plane) -> None:
    savepoint = second_version(plane)

    status, pipeline = restore(plane, savepoint, with_version=True)

    assert (status, pipeline["version"], pipeline["query"]) == (202, 3, "SELECT 1")
    assert plane.state() == "CheckpointStopping"
    plane.end()
    assert (plane.runner.launched[-1].query, plane.runner.launched[-1].force) == ("SELECT 1", False)


def test_a_savepoint_of_the_same_query_makes_no_version(plane: Plane) -> None:
    plane.run()
    savepoint = take(plane)

    assert restore(plane, savepoint, with_version=True)[1]["version"] == 1


def test_a_query_that_comes_back_must_find_its_target_free(plane: Plane) -> None:
    plane.run(query="SELECT to file:///out/x")
    savepoint = take(plane)
    plane.deploy(query="SELECT 2", force=True)
    plane.end()
    plane.come_up()
    plane.run("other", query="SELECT to file:///out/x")

    status, problem = restore(plane, savepoint, with_version=True)

    assert (status, problem["code"]) == (409, "pipeline.target_taken")
    assert (plane.state(), plane.get("/pipelines/orders")["version"]) == ("Running", 2)


def test_a_savepoint_whose_files_are_gone_is_refused_before_anything_stops(plane: Plane) -> None:
    pipeline = plane.run()
    savepoint = take(plane)
    folder = DataDirectory(plane.context.directory.root).savepoint(pipeline["id"], savepoint["id"])
    (folder / "manifest.json").unlink()

    assert restore(plane, savepoint)[1]["code"] == "savepoint.not_found"
    assert plane.state() == "Running"


def test_a_running_job_commits_epochs_until_it_stops_and_so_cannot_go_back_without_replay(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    savepoint = take(plane)

    problem = restore(plane, savepoint, allow_replay=False)[1]

    assert (problem["code"], problem["allowed_by"]) == ("savepoint.replay", "allow_replay")
    assert plane.state() == "Running"


def test_another_history_is_a_replay_before_anything_stops(plane: Plane) -> None:
    pipeline = plane.run()
    savepoint = take(plane)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()
    state = plane.context.directory.state(pipeline["id"])
    (state / "checkpoint" / "commits").mkdir(parents=True)
    (state / "checkpoint" / "commits" / "0").touch()
    write_lineage(state / "lineage.json", Lineage("two"))

    status, problem = restore(plane, savepoint, allow_replay=False)

    assert (status, problem["code"], problem["allowed_by"]) == (409, "savepoint.replay", "allow_replay")
    assert "another history" in problem["detail"]


def leave(plane: Plane, savepoint: dict[str, Any]) -> None:
    """The state is of another history by now, that parts from the savepoint's at epoch 4 and has gone on."""
    state = plane.context.directory.state(savepoint["pipeline_id"])
    for log in ("commits", "offsets"):
        (state / "checkpoint" / log).mkdir(parents=True)
        (state / "checkpoint" / log / "5").touch()
    manifest = plane.context.directory.savepoint(savepoint["pipeline_id"], savepoint["id"])
    write_manifest(manifest, replace(read_manifest(manifest), parents=(("zero", 4),)))
    write_lineage(state / "lineage.json", Lineage("two", (("zero", 4),)))


def test_a_savepoint_whose_rows_were_taken_back_is_refused_before_anything_stops(plane: Plane) -> None:
    plane.run(query="SELECT 1 INTO file:///out/x")
    savepoint = take(plane)
    leave(plane, savepoint)
    sent = {"savepoint_id": savepoint["id"], "allow_replay": True}
    rehearsed = plane.http.post("/api/v1/pipelines/orders/restore?dry_run=true", json=sent).json()

    status, problem = restore(plane, savepoint)

    assert rehearsed == problem
    assert (status, problem["code"]) == (409, "savepoint.gap")
    assert "file:///out/x takes back what a restore leaves" in problem["detail"]
    assert "the rows of epochs 5 to 7" in problem["detail"]
    assert "a savepoint of epoch 4 or before" in problem["hint"]
    assert plane.state() == "Running"


def test_the_sinks_of_the_version_that_comes_back_are_asked(plane: Plane) -> None:
    plane.run(query="SELECT 1 INTO file:///out/x")
    savepoint = take(plane)
    plane.deploy(query="SELECT 2 kafka:orders", force=True)
    plane.end()
    plane.come_up()
    leave(plane, savepoint)

    assert restore(plane, savepoint, with_version=True)[1]["code"] == "savepoint.gap"


def test_sinks_that_keep_what_they_have_leave_no_gap(plane: Plane) -> None:
    plane.run(query="SELECT 1 kafka:orders")
    savepoint = take(plane)
    leave(plane, savepoint)

    assert restore(plane, savepoint)[0] == 202


def checked(plane: Plane, savepoint: dict[str, Any], *, allow_replay: bool) -> RestorePlan:
    """A restore that has passed its checks and is not written down yet."""
    with plane.context.database.reading() as connection:
        record = read_record(connection, "orders")
        stored = savepoints.get(connection, record.pipeline.id, savepoint["id"])
    return plan_restore(plane.context, record, stored, with_version=False, allow_replay=allow_replay)


def ask(plane: Plane, plan: RestorePlan) -> None:
    with plane.context.database.rehearsing() as connection:
        plan.ask(connection, read_record(connection, "orders"))


def test_another_query_that_is_deployed_after_the_checks_ends_a_restore(plane: Plane) -> None:
    plane.run()
    plan = checked(plane, take(plane), allow_replay=True)
    ask(plane, plan)

    plane.deploy(query="SELECT 2", force=True)

    with pytest.raises(StaleWriteError, match="has changed in between"):
        ask(plane, plan)


def test_a_job_that_is_started_after_the_checks_is_not_taken_back(plane: Plane) -> None:
    plane.run()
    savepoint = take(plane)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()
    plan = checked(plane, savepoint, allow_replay=False)
    ask(plane, plan)

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    plane.settle()

    with pytest.raises(ReplayError, match="commits epochs"):
        ask(plane, plan)
