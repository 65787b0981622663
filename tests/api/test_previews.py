"""A preview is there for those who look at it, and goes when nobody does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engine.control.caretaker import Caretaker
from engine.values.sink_prefix import only_shown
from tests.api.conftest import Plane
from tests.api.test_stored_tables import use


def ask_for_preview(plane: Plane, headers: dict[str, str] | None = None) -> Any:
    return plane.http.post("/api/v1/pipelines/preview", json={"query": "SELECT 1"}, headers=headers)


def made(plane: Plane) -> dict[str, Any]:
    answer = ask_for_preview(plane)
    assert answer.status_code == 200, answer.text
    plane.settle()
    pipeline: dict[str, Any] = answer.json()
    return pipeline


def care(plane: Plane, seconds: int = 0) -> None:
    """Let time pass, and have done what is done without being asked."""
    plane.now += timedelta(seconds=seconds)
    Caretaker(plane.context).look()
    plane.settle()


def is_there(plane: Plane, pipeline: dict[str, Any]) -> bool:
    return plane.http.get(f"/api/v1/pipelines/{pipeline['id']}").is_success


def test_a_preview_writes_nowhere_and_lists_do_not_show_it(plane: Plane) -> None:
    plane.deploy("orders")

    preview = made(plane)

    assert (preview["preview"], preview["query"]) == (True, only_shown("SELECT 1"))
    assert plane.get(f"/pipelines/{preview['id']}")["preview"] is True
    assert plane.get("/pipelines/orders")["preview"] is False
    assert [pipeline["name"] for pipeline in plane.get("/pipelines")["data"]] == ["orders"]
    assert len(plane.get("/jobs")["data"]) == 1


def test_neither_changes_nor_events_of_all_pipelines_tell_of_it(plane: Plane) -> None:
    plane.run("orders")
    before = plane.get("/changes")["cursor"]
    preview = made(plane)
    plane.come_up()
    plane.end("failed", {"code": "sink.failed", "message": "broken"})

    def told(after: str = "") -> set[str]:
        return {change["pipeline"] for change in plane.get(f"/changes{after}")["data"]}

    assert plane.get(f"/pipelines/{preview['id']}/events")["data"]
    assert {event["pipeline"] for event in plane.get("/events")["data"]} == {"orders"}
    assert told() == {"orders"}
    care(plane, 60)
    care(plane)
    assert not is_there(plane, preview)
    plane.deploy("clicks")
    assert told() == {"orders", "clicks"}
    assert preview["name"] not in told(f"?after={before}")


def test_preview_without_readers_is_stopped_and_deleted(plane: Plane) -> None:
    preview = made(plane)
    plane.come_up()
    state = plane.context.directory.state(preview["id"])
    state.mkdir(parents=True, exist_ok=True)

    care(plane, 59)
    assert plane.state(preview["name"]) == "Running"
    care(plane, 1)
    assert plane.state(preview["name"]) == "Stopping"
    plane.end("stopped")
    care(plane)

    assert not is_there(plane, preview)
    assert not state.exists()


def test_whoever_looks_keeps_it(plane: Plane) -> None:
    preview = made(plane)
    plane.come_up()
    ways = ["output", f"jobs/{plane.job(preview['name'])['id']}/output?timeout_seconds=0"]

    for way in ways * 3:
        plane.now += timedelta(seconds=50)
        assert plane.http.get(f"/api/v1/pipelines/{preview['id']}/{way}").is_success
        care(plane)
        assert plane.state(preview["name"]) == "Running"

    care(plane, 60)
    assert plane.state(preview["name"]) == "Stopping"


def test_a_preview_that_has_ended_can_be_read_for_a_while(plane: Plane) -> None:
    preview = made(plane)
    plane.come_up()
    plane.end("finished")

    care(plane, 30)
    assert plane.state(preview["name"]) == "Finished"
    care(plane, 30)
    assert not is_there(plane, preview)


def test_a_run_that_takes_long_to_start_has_its_minute_once_it_is_up(plane: Plane) -> None:
    preview = made(plane)

    care(plane, 70)
    assert plane.state(preview["name"]) == "Scheduling"
    plane.come_up()
    care(plane, 59)
    assert plane.state(preview["name"]) == "Running"
    care(plane, 1)
    assert plane.state(preview["name"]) == "Stopping"


def test_no_pipeline_that_is_no_preview_is_ended(plane: Plane) -> None:
    plane.run("orders")

    care(plane, 100_000)

    assert plane.state() != "Stopping"


def test_no_more_run_at_once_than_the_setting_says(plane: Plane) -> None:
    use(plane, previews_at_once=1)
    first = made(plane)

    answer = ask_for_preview(plane)

    assert (answer.status_code, answer.json()["code"]) == (409, "pipeline.too_many_previews")
    assert "preview.at_once" in answer.json()["hint"]
    plane.come_up()
    plane.http.patch(f"/api/v1/pipelines/{first['id']}", json={"stop": "immediate"})
    plane.settle()
    plane.end("stopped")
    assert is_there(plane, first)  # it is at rest, and can still be read
    plane.deploy("orders")  # others are not counted
    assert ask_for_preview(plane).status_code == 200


def test_a_preview_that_was_made_is_answered_again_however_many_run(plane: Plane) -> None:
    use(plane, previews_at_once=1)

    answers = [ask_for_preview(plane, {"Idempotency-Key": "one"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["id"] == answers[1].json()["id"]


def put_to_rest(plane: Plane, preview: dict[str, Any]) -> None:
    plane.come_up()
    plane.http.patch(f"/api/v1/pipelines/{preview['id']}", json={"stop": "immediate"})
    plane.settle()
    plane.end("stopped")


AGAIN = {
    "patch": lambda plane, preview: plane.http.patch(f"/api/v1/pipelines/{preview['id']}", json={"stop": "none"}),
    "restart": lambda plane, preview: plane.http.post(f"/api/v1/pipelines/{preview['id']}/restart"),
    "deploy": lambda plane, preview: plane.http.put(
        f"/api/v1/pipelines/by-name/{preview['name']}", json={"query": preview["query"]}
    ),
}


@pytest.mark.parametrize("way", AGAIN)
def test_a_preview_at_rest_that_is_to_run_again_needs_room(plane: Plane, way: str) -> None:
    use(plane, previews_at_once=1)
    first = made(plane)
    put_to_rest(plane, first)
    second = made(plane)

    refused = AGAIN[way](plane, first)

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.too_many_previews")
    put_to_rest(plane, second)
    again = AGAIN[way](plane, first)
    assert again.is_success, again.text
    assert ask_for_preview(plane).status_code == 409  # it counts before its run has begun


def test_change_of_a_running_or_stopped_preview_needs_no_free_slot(plane: Plane) -> None:
    use(plane, previews_at_once=1)
    first = made(plane)
    put_to_rest(plane, first)
    second = made(plane)

    at_rest = plane.http.patch(f"/api/v1/pipelines/{first['id']}", json={"parallelism": 2})
    running = plane.http.patch(f"/api/v1/pipelines/{second['id']}", json={"parallelism": 2})

    assert [at_rest.status_code, running.status_code] == [200, 200]
