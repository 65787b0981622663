from __future__ import annotations

from typing import Any

from engine.control.context import read_unread
from engine.store.migrations import MIGRATIONS
from engine.store.pipelines import versions
from tests.api.conftest import Plane

X, Y = "SELECT to file:///out/x", "SELECT to file:///out/y"


def put(plane: Plane, name: str, query: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = plane.http.put(f"/api/v1/pipelines/by-name/{name}", json={"query": query, **body})
    problem: dict[str, Any] = answer.json()
    return answer.status_code, problem


def test_a_second_writer_on_a_target_is_refused_with_the_name_of_the_first(plane: Plane) -> None:
    plane.run("a", query=X)

    status, problem = put(plane, "b", X)

    assert (status, problem["code"]) == (409, "pipeline.target_taken")
    assert problem["detail"] == "pipeline 'a' writes to file:///out/x"
    assert [pipeline["name"] for pipeline in plane.get("/pipelines")["data"]] == ["a"]


def test_a_directory_within_that_of_another_pipeline_is_refused(plane: Plane) -> None:
    plane.run("a", query=X)

    assert put(plane, "b", "SELECT to file:///out/x/2026")[1]["code"] == "pipeline.target_taken"
    assert put(plane, "b", "SELECT to file:///out")[1]["code"] == "pipeline.target_taken"
    assert put(plane, "b", "SELECT to file:///out/x-2026")[0] == 201


def test_a_new_version_cannot_move_to_the_target_of_another_pipeline(plane: Plane) -> None:
    plane.run("a", query=X)
    plane.run("b", query=Y)

    status, problem = put(plane, "b", X, force=True)

    assert (status, problem["code"]) == (409, "pipeline.target_taken")
    assert plane.get("/pipelines/b")["version"] == 1


def test_a_stopped_pipeline_keeps_its_target_and_a_deleted_one_does_not(plane: Plane) -> None:
    plane.run("a", query=X)
    plane.http.patch("/api/v1/pipelines/a", json={"stop": "checkpoint"})
    plane.settle()
    plane.end()
    assert put(plane, "b", X)[0] == 409

    plane.http.delete("/api/v1/pipelines/a")

    assert put(plane, "b", X)[0] == 201


def test_a_target_that_a_new_version_leaves_is_free_once_the_old_run_has_ended(plane: Plane) -> None:
    plane.run("a", query=X)

    plane.deploy("a", query=Y, force=True)

    assert plane.state("a") == "CheckpointStopping"
    assert put(plane, "b", X)[0] == 409
    plane.end()
    assert put(plane, "b", X)[0] == 201


def test_a_run_learns_who_has_written_its_targets_before(plane: Plane) -> None:
    former = plane.run("a", query=X)
    plane.deploy("a", query=Y, force=True)
    plane.end()

    plane.deploy("b", query=X)

    assert plane.runner.launched[-1].predecessors == (former["id"],)
    assert plane.runner.launched[0].predecessors == ()


def test_the_targets_of_pipelines_from_before_the_registry_are_read_at_the_start(plane: Plane) -> None:
    old = plane.run("a", query=X)
    with plane.context.database.writing() as connection:
        versions.write(connection, old["id"], 1, [versions.UNREAD])

    read_unread(plane.context)

    assert put(plane, "b", X)[0] == 409


def test_the_migration_marks_every_pipeline_as_one_to_be_read(plane: Plane) -> None:
    plane.run("a", query="SELECT 1")
    plane.run("b", query="SELECT 1")
    migration = next(step for step in MIGRATIONS if any("CREATE TABLE targets" in text for text in step))
    with plane.context.database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE targets")
        for statement in migration:
            connection.exec_driver_sql(statement)
        unread = versions.unread(connection)

    assert sorted(unread) == sorted((pipeline["id"], 1) for pipeline in plane.get("/pipelines")["data"])
