"""What a control plane refuses while a pipeline is on its way to another one, or from one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Plane

DEPARTURE = "/api/v1/pipelines/orders/departure"
MOVING = (409, "pipeline.moving")
BUSY = (409, "pipeline.busy")


@pytest.fixture
def leaving(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A pipeline that has stopped, since it is to go; its departure."""
    plane.run()
    body = {"to": "http://other:5115", "place": (tmp_path_factory.mktemp("handover") / "orders").as_uri()}
    answer = plane.http.post(DEPARTURE, json=body)
    assert answer.status_code == 200, answer.text
    plane.settle()
    plane.call("goodbye", {"outcome": "stopped"})
    plane.runner.processes.clear()
    plane.settle()
    assert plane.state() == "Stopped"
    departure: dict[str, Any] = answer.json()
    return departure


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_pipeline_during_its_export_cannot_be_started_changed_or_deleted(plane: Plane, leaving: dict[str, Any]) -> None:
    base = "/api/v1/pipelines/orders"
    assert code(plane.http.patch(base, json={"stop": "none"})) == MOVING
    assert code(plane.http.post(f"{base}/restart")) == MOVING
    assert code(plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2"})) == MOVING
    assert code(plane.http.delete(base)) == MOVING
    assert code(plane.http.post(DEPARTURE, json={"to": "http://third", "place": leaving["place"]})) == MOVING
    assert code(plane.http.post(f"{DEPARTURE}/release")) == MOVING
    assert code(plane.http.post(f"{DEPARTURE}/over")) == MOVING
    plane.settle()
    assert (plane.state(), len(plane.runner.launched)) == ("Stopped", 1)


def test_cancelled_export_resumes_and_a_released_one_needs_confirmation(plane: Plane, leaving: dict[str, Any]) -> None:
    assert leaving["key"] is None
    exported = plane.http.post(f"{DEPARTURE}/export").json()
    assert (exported["step"], exported["key"], exported["task"]["state"]) == ("exported", None, "done")
    released = plane.http.post(f"{DEPARTURE}/release").json()
    assert (released["step"], len(released["key"])) == ("released", 32)
    assert plane.http.post(f"{DEPARTURE}/release").json() == released
    assert code(plane.http.delete(DEPARTURE)) == MOVING
    assert code(plane.http.delete("/api/v1/pipelines/orders")) == MOVING

    assert plane.http.delete(f"{DEPARTURE}?removed_there=true").status_code == 204

    plane.settle()
    assert (plane.state(), len(plane.runner.launched)) == ("Scheduling", 2)


def test_imported_pipeline_starts_only_with_its_key_and_is_deletable_only_before_its_first_epoch(
    plane: Plane, leaving: dict[str, Any]
) -> None:
    plane.http.post(f"{DEPARTURE}/export")
    key = plane.http.post(f"{DEPARTURE}/release").json()["key"]
    assert plane.http.post(f"{DEPARTURE}/over").json()["step"] == "over"
    pipeline_id = plane.get("/pipelines/orders")["id"]
    request = {"passport": leaving["passport"], "place": leaving["place"], "origin": "http://here"}
    assert code(plane.http.post("/api/v1/arrivals/check", json=request)) == (409, "pipeline.exists")
    assert plane.http.delete("/api/v1/pipelines/orders").status_code == 204
    arrival = f"/api/v1/arrivals/{pipeline_id}"

    assert plane.http.post("/api/v1/arrivals/check", json=request).status_code == 200
    come = plane.http.post("/api/v1/arrivals", json=request).json()

    assert (come["step"], come["state"], come["is_up"]) == ("arrived", "Stopped", False)
    assert plane.http.post("/api/v1/arrivals", json=request).json()["step"] == "arrived"
    assert code(plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})) == MOVING
    assert code(plane.http.post(f"{arrival}/start", json={"key": "guessed"})) == MOVING
    assert plane.http.post(f"{arrival}/start", json={"key": key}).json()["step"] == "started"
    plane.settle()
    assert [run.generation for run in plane.runner.launched] == [1, 2]
    assert code(plane.http.delete(arrival)) == BUSY
    assert not plane.get(f"/arrivals/{pipeline_id}")["is_up"]
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()
    shown = plane.get(f"/arrivals/{pipeline_id}")
    assert (shown["state"], shown["is_up"]) == ("Stopped", True), "who has stopped it there is not waited for"
    planned = Path(plane.get("/pipelines/orders")["state_dir"]) / "checkpoint" / "offsets" / "99"
    planned.parent.mkdir(parents=True, exist_ok=True)
    planned.touch()
    assert code(plane.http.delete(arrival)) == MOVING
    planned.unlink()
    assert plane.http.delete(arrival).status_code == 204
    assert plane.get("/pipelines")["data"] == []
    assert plane.http.delete(arrival).status_code == 204


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"pipeline_id": "../pl"}, (422, "request.invalid")),
        ({"secrets": ["password"]}, (422, "request.invalid")),
        ({"fingerprint": "another"}, (409, "pipeline.incompatible")),
    ],
)
def test_refused_import_is_reported_before_anything_stops(
    plane: Plane, leaving: dict[str, Any], change: dict[str, Any], problem: tuple[int, str]
) -> None:
    request = {"passport": {**leaving["passport"], **change}, "place": leaving["place"], "origin": "http://here"}
    answer = plane.http.post("/api/v1/arrivals/check", json=request)
    assert code(answer) == problem, answer.text


def test_a_place_that_holds_something_else_stops_nothing(
    plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plane.run()
    place = tmp_path_factory.mktemp("taken")
    (place / "manifest.json").write_text("{}")
    body = {"to": "http://other:5115", "place": place.as_uri()}
    assert code(plane.http.post(DEPARTURE, json=body)) == (409, "savepoint.place")
    inside = {**body, "place": plane.context.directory.root.as_uri()}
    assert code(plane.http.post(f"{DEPARTURE}?dry_run=true", json=inside)) == (409, "savepoint.place")
    assert plane.state() == "Running"
