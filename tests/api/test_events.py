"""Events: of one pipeline or of all, who is behind them, and the verb that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from engine.cli.base import Client
from engine.cli.main import main
from engine.cli.pipelines.logs import events_after
from engine.cli.pipelines.logs import readable_event as readable
from engine.cli.waiting import Follower
from engine.errors import UnreachableError
from tests.api.conftest import T0, Plane
from tests.api.stand_in_server import StandInServer


def messages(plane: Plane, query: str = "", pipeline: str | None = "orders") -> list[str]:
    path = "/events" if pipeline is None else f"/pipelines/{pipeline}/events"
    return [event["message"] for event in plane.get(f"{path}?{query}")["data"]]


def token(plane: Plane, name: str) -> dict[str, str]:
    value = plane.http.post("/api/v1/tokens", json={"name": name}).json()["token"]
    return {"Authorization": f"Bearer {value}"}


def test_a_step_of_the_control_plane_names_the_one_whose_wish_it_is(plane: Plane) -> None:
    ann, bob = token(plane, "ann"), token(plane, "bob")
    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 1"}, headers=ann)
    plane.settle()
    plane.come_up()
    plane.end(None)
    plane.now += timedelta(seconds=1)
    plane.settle()
    plane.come_up()
    plane.http.post("/api/v1/pipelines/orders/savepoints", json={"stop": "checkpoint"}, headers=bob)
    plane.settle()
    plane.end()

    events = plane.get("/pipelines/orders/events")["data"]

    assert [(event["who"], event["message"]) for event in reversed(events)][:8] == [
        ("ann", "version 1 was deployed"),
        ("ann", "Created to Scheduling"),
        ("ann", "Scheduling to Running"),
        ("control plane", "the driver ended without saying why"),
        ("control plane", "Recovering to Scheduling"),
        ("control plane", "Scheduling to Running"),
        ("bob", events[-7]["message"]),
        ("bob", "stop requested (checkpoint)"),
    ]
    assert [(event["who"], event["message"]) for event in events[:2]] == [
        ("bob", "CheckpointStopping to Stopped"),
        ("bob", "Running to CheckpointStopping"),
    ]


def test_events_name_the_task_on_whose_behalf_a_token_asks(plane: Plane) -> None:
    airflow = {**token(plane, "airflow"), "X-Requested-By": "hourly/stop_orders/manual__2026-01-01"}
    plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers=airflow)

    stopped = plane.get("/pipelines/orders/events?limit=1")["data"][0]
    assert (stopped["message"], stopped["who"]) == ("stop requested (checkpoint)", "airflow")
    assert stopped["requested_by"] == "hourly/stop_orders/manual__2026-01-01"
    assert readable(stopped).endswith("(airflow, for hourly/stop_orders/manual__2026-01-01)")
    pipeline = plane.get("/pipelines/orders")
    assert pipeline["stopped_by"] == "airflow, hourly/stop_orders/manual__2026-01-01 at testclient"


def test_event_of_a_request_that_names_nobody_has_the_name_of_its_token(plane: Plane) -> None:
    plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers=token(plane, "ann"))

    stopped = plane.get("/pipelines/orders/events?limit=1")["data"][0]
    assert (stopped["who"], stopped["requested_by"]) == ("ann", None)
    assert readable(stopped).endswith("(ann)")


@pytest.mark.parametrize("name", ["x" * 301, "a\x85b"])
def test_name_that_is_too_long_or_not_printable_is_refused(plane: Plane, name: str) -> None:
    plane.run()
    headers = {"X-Requested-By": name.encode("latin-1")}

    refused = plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers=headers)

    assert refused.json()["code"] == "request.invalid"
    assert "X-Requested-By" in refused.json()["detail"]
    assert plane.get("/pipelines/orders")["stop"] == "none"


def test_another_token_that_changes_nothing_is_not_behind_what_follows(plane: Plane) -> None:
    bob = token(plane, "bob")
    plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers=bob)
    plane.settle()
    plane.end()

    assert plane.get("/pipelines/orders/events?limit=1")["data"][0]["who"] == "admin"


def test_events_are_chosen_by_severity_and_time(plane: Plane) -> None:
    plane.run()
    plane.now += timedelta(hours=1)
    plane.end(None)
    later = int((T0 + timedelta(minutes=30)).timestamp() * 1_000_000)

    assert messages(plane, "severity=error") == ["the driver ended without saying why"]
    assert messages(plane, "severity=warn") == messages(plane, f"since={later}") == messages(plane, "severity=error")
    assert messages(plane, "since=2026-01-01T00:30:00Z") == messages(plane, "severity=error")
    assert len(messages(plane)) == 4
    assert plane.http.get("/api/v1/events?since=late").json()["code"] == "request.invalid"
    assert plane.http.get("/api/v1/events?severity=fatal").status_code == 422


def test_an_event_is_a_cursor_forwards_and_backwards(plane: Plane) -> None:
    plane.run()
    ids = [event["id"] for event in plane.get("/pipelines/orders/events")["data"]]
    assert ids == sorted(ids, reverse=True)

    first = plane.get(f"/pipelines/orders/events?after={ids[-1]}&limit=1")
    second = plane.get(f"/pipelines/orders/events?after={first['data'][0]['id']}&limit=1")

    assert (first["data"][0]["id"], first["has_more"], second["data"][0]["id"]) == (ids[1], True, ids[0])
    assert second["has_more"] is False
    assert messages(plane, f"before={ids[0]}") == messages(plane)[1:]


def test_all_pipelines_have_one_list_in_which_each_is_named(plane: Plane) -> None:
    plane.run("orders")
    plane.deploy("clicks")

    named = [(event["pipeline"], event["message"]) for event in plane.get("/events")["data"]]

    assert named[:3] == [
        ("clicks", "Created to Scheduling"),
        ("clicks", "version 1 was deployed"),
        ("orders", "Scheduling to Running"),
    ]
    assert set(messages(plane, pipeline="clicks")) == {"Created to Scheduling", "version 1 was deployed"}


EVENT: dict[str, Any] = {
    "id": 7,
    "created_at": 1_767_225_600_000_000,
    "level": "info",
    "message": "Created to Scheduling",
    "code": None,
    "details": None,
    "run_id": 1,
    "who": "ann",
    "pipeline": "orders",
}


def test_an_event_is_a_line() -> None:
    assert readable(EVENT) == "2026-01-01T00:00:00.000Z INFO  orders run 1  Created to Scheduling  (ann)"
    assert readable({**EVENT, "level": "error", "code": "run.died", "details": "look", "run_id": None}) == (
        "2026-01-01T00:00:00.000Z ERROR orders  run.died: Created to Scheduling  (ann)\n  hint: look"
    )


def test_the_verb_shows_the_oldest_first(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = json.dumps({"data": [{**EVENT, "id": 8, "message": "later"}, EVENT]}).encode()
    connection = ["--url", server.url, "--token", "t"]

    assert main(["events", "--severity", "warn", "--since", "2026-01-01", *connection]) == 0
    assert main(["events", "orders", "--json", "--limit", "5", *connection]) == 0

    assert [path for _, path, _, _ in server.requests] == [
        "/api/v1/events?severity=warn&since=2026-01-01&limit=100",
        "/api/v1/pipelines/orders/events?severity=info&limit=5",
    ]
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith(("Created to Scheduling  (ann)", "later  (ann)")) for line in lines[:2]] == [True, True]
    assert [json.loads(line)["id"] for line in lines[2:]] == [7, 8]


def test_whoever_follows_sees_each_event_once_over_a_restart_of_the_control_plane() -> None:
    asked: list[int] = []
    now = [0.0]
    away = UnreachableError("no control plane answers")
    coming: Iterator[Any] = iter(
        [{"data": []}, {"data": [{"id": 3}, {"id": 5}], "has_more": True}, {"data": [{"id": 6}]}, *[away] * 40]
    )

    def look(after: int) -> Any:
        asked.append(after)
        answer = next(coming)
        if isinstance(answer, UnreachableError):
            raise answer
        return answer

    def pause(seconds: float) -> None:
        now[0] += seconds

    seen: list[object] = []

    def follow() -> None:
        for event in events_after(2, Follower(look, lambda: now[0], pause)):
            seen.append(event["id"])  # noqa: PERF401 - what was seen before the error counts

    with pytest.raises(UnreachableError):
        follow()
    assert (seen, asked[:4], set(asked[4:])) == ([3, 5, 6], [2, 2, 5, 6], {6})


def test_whoever_follows_misses_nothing_that_happens_while_the_first_events_are_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    happened: list[int] = []

    def send(self: Client, method: str, path: str, **_: Any) -> dict[str, Any]:
        """What an answer says; then something happens that is asked for."""
        if len(happened) == 5:
            raise KeyboardInterrupt
        query = {name: int(text) for name, text in parse_qsl(urlsplit(path).query) if text.isdigit()}
        newer = [{**EVENT, "id": number} for number in happened if number > query.get("after", 0)]
        happened.append(len(happened) + 1)
        return {"data": newer if "after" in query else newer[::-1][: query["limit"]]}

    monkeypatch.setattr(Client, "_send", send)
    monkeypatch.setattr("engine.cli.pipelines.logs.Follower", partial(Follower, pause=lambda _: None))

    assert main(["events", "-f", "--severity", "error", "--json", "--url", "http://x", "--token", "t"]) == 130
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [1, 2, 3, 4]


def test_a_time_before_all_times_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--since", "999999 days", "--url", "http://x", "--token", "t"]) == 2
    assert "is too long ago" in capsys.readouterr().err
